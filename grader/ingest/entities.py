"""Text copied from a web page: `#include &lt;cuda.h&gt;`, `<pre><code>` around the code."""

from __future__ import annotations

import html
import re

_ESCAPED = re.compile(r"&lt;&lt;&lt;|#[ \t]*include[ \t]*&lt;")
_PLAIN = re.compile(r"<<<|#[ \t]*include[ \t]*<")
_OPENING = re.compile(r"^[ \t]*(?:<(?:pre|code|div|p)\b[^<>\n]*>)+", re.MULTILINE)
_CLOSING = re.compile(r"(?:</(?:pre|code|div|p)>)+[ \t]*$", re.MULTILINE)


def without_entities(text: str) -> str | None:
    """Return the text as the page showed it, line for line; None where its code isn't from a web page."""
    if not _ESCAPED.search(text) or _PLAIN.search(text):
        return None
    return html.unescape(_CLOSING.sub("", _OPENING.sub("", text)))

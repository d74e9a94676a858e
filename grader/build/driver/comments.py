"""C++ without its comments."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def without_comments(text: str) -> str:
    """Return the text with a blank for each comment; comment marks inside strings are treated as comments too."""
    return _COMMENT.sub(" ", text)

"""The templates of the pages, and their content security policy: only a page's own style and script may load.

Style and script stand in each page, and the content security policy names them by hash: no other
script can run, even if a sample's text became markup, and a page can be mailed as one file.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from grader.report.escape import clean, end_sentence, one_line

FOLDER = Path(__file__).parent.parent / "templates" / "html"


@cache
def environment() -> Environment:
    """Return the environment: everything is escaped that isn't made here as markup."""
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"line": one_line, "clean": clean, "ended": end_sentence, "prose": prose}
    made.globals |= {"script": _asset("report.js"), "style": _asset("report.css"), "csp": policy()}
    return made


def policy() -> str:
    """Return the content security policy of every page."""
    script, style = (_hash(str(_asset(name))) for name in ("report.js", "report.css"))
    return (
        f"default-src 'none'; script-src {script}; style-src {style}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def prose(text: str, limit: int = 900) -> Markup:
    """Return a sentence of ours with code spans kept."""
    parts = one_line(text, limit).split("`")
    if len(parts) % 2 == 0:
        return escape("'".join(parts))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else part
        for index, part in enumerate(parts)
    )


@cache
def _asset(name: str) -> Markup:
    return Markup((FOLDER / name).read_text("utf-8"))  # noqa: S704 - our own file


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"

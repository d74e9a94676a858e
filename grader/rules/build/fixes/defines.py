"""A fix: `#define` with a semicolon or an equals sign in its value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import cuda_code, text

if TYPE_CHECKING:
    from grader.records import Evidence, Fix
    from grader.source import Source

_SYNTAX = re.compile(r"expected (?:an? |')?\W?")
_ODD = re.compile(r"(=\s*)?(.*?)(\s*;)?(\s*//.*)?", re.DOTALL)


def plain_macro(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Take the sign of an assignment or of a statement out of a macro that stands for a number."""
    if not _SYNTAX.search(item.said):
        return ()
    edits = []
    for unit in source.cuda:
        for node in cuda_code(unit).of("preproc_def"):
            value = node.child_by_field_name("value")
            found = _ODD.fullmatch(text(value).strip()) if value is not None else None
            if (
                value is not None
                and found
                and (found[1] or found[3])
                and re.fullmatch(r"[\w.()+*/ -]+", found[2])
            ):
                edits.append(replace_node(unit, value, found[2]))
    return fix("let the macro stand for the number alone", edits)

"""Fixes of the call that builds: a language standard that torch refuses, an argument that is missing."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from grader.records import Edit
from grader.source.code_edits import delete_item, fix

if TYPE_CHECKING:
    from grader.records import Evidence, Fix
    from grader.source import Source

_TOO_OLD = re.compile(
    r"or later compatible compiler is required|requires C\+\+\d\d|not supported by this compiler.*std"
)
_MISSING = re.compile(r"missing \d+ required positional arguments?: (.*)")
FLAGS = ("extra_cflags", "extra_cuda_cflags")


def too_old(text: str) -> bool:
    """Whether headers refuse the standard of C++ that the build asks for."""
    return _TOO_OLD.search(text) is not None


def without_standard(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Leave the language standard to torch, which asks for the one that its headers need."""
    if not too_old(item.said):
        return ()
    edits = []
    for extension in source.extensions:
        for name in FLAGS:
            value = extension.keywords.get(name)
            if not isinstance(value, ast.List):
                continue
            for flag in value.elts:
                said = flag.value if isinstance(flag, ast.Constant) else None
                if isinstance(said, str) and said.startswith(("-std=", "--std=")):
                    edits.append(delete_item(source, flag, source.span(value)[1]))
    return fix("leave the language standard to torch", edits)


def with_argument(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Pass the name that `load_inline` is called without."""
    found = _MISSING.search(item.said) if "load_inline" in item.said else None
    if not found or len(source.extensions) != 1:
        return ()
    extension = source.extensions[0]
    if "'name'" not in found[1] or not extension.node.keywords:
        return ()
    at = source.span(extension.node.keywords[0])[0]
    name = f'name="{(extension.functions or ("custom",))[0]}_extension"'
    return fix("pass name", [Edit(start=at, end=at, text=f"{name}, ")])

"""What the nodes of the concrete tree say: texts, numbers, types, names of what is called."""

import re
from collections.abc import Iterator

from grader.source.flow.tree import Node

_FLOAT = re.compile(r"^[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?[fFlL]?$")
SKIPPED = frozenset(
    {
        "comment",
        "preproc_call",
        "preproc_include",
        "preproc_def",
        "using_declaration",
        "alias_declaration",
        "type_definition",
        "static_assert_declaration",
        "namespace_alias_definition",
        "preproc_function_def",
        "preproc_directive",
    }
)
"""Nodes among statements that are none."""


def parse_number(text: str) -> tuple[int | float, str] | None:
    """Return the value and type letter of a C++ numeric literal, or None."""
    text = text.replace("'", "")
    low = text.lower()
    try:
        if low.startswith(("0x", "0b")):
            return int(low.rstrip("ul"), 0), "l" if "l" in low else "i"
        digits = low.rstrip("ul")
        if digits.isdigit():
            return int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10), (
                "l" if "l" in low else "i"
            )
        if _FLOAT.match(text) and any(c.isdigit() for c in text):
            return float(low.rstrip("fl")), "f" if low.endswith("f") else "d"
    except ValueError:
        return None
    return None


def arguments_of(node: Node) -> Iterator[Node]:
    """Yield the parts of a list, without the comments."""
    return (c for c in node.named_children if c.type != "comment")

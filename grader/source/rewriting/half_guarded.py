"""Macros of several statements under an `if` without braces, which guards the first of them alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Fix, Place
from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import cuda_code, read_call, text, units

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.source import Source, Unit

EMPTY = "bad optional access"
"""What an optional without a value raises when it is asked for one."""


def half_guarded(source: Source, raised: str) -> Iterator[tuple[Place, str, tuple[Fix, ...]]]:
    """Yield the first such macro, what is to be said of it, and the fix of all of them.

    Only where a program raised that an optional has no value: `if (bias.has_value()) CHECK_INPUT(bias.value());`.
    """
    found = (
        [(unit, node) for unit in units(source) for node in _guarded(unit)]
        if EMPTY in raised
        else []
    )
    edits = [replace_node(unit, node, f"{{ {text(node)} }}") for unit, node in found]
    for unit, node in found[:1]:
        said = (
            f"`{text(node).strip(';')}` is a macro of several statements, and the `if` before it guards the first "
            "of them alone: the others ask for a value that is not there"
        )
        yield unit.place(node), said, fix("guard all of the macro", edits)


def _guarded(unit: Unit) -> Iterator[Node]:
    """Yield the uses of such macros that are all that stands under an `if`."""
    several = {
        text(node.child_by_field_name("name"))
        for node in cuda_code(unit).of("preproc_function_def")
        if ";" in text(node.child_by_field_name("value")).strip().rstrip(";")
        and not text(node.child_by_field_name("value")).strip().startswith(("do", "{"))
    }
    for branch in cuda_code(unit).of("if_statement"):
        inner = branch.child_by_field_name("consequence")
        if inner is None or inner.type != "expression_statement" or not inner.named_children:
            continue
        called = inner.named_children[0]
        if called.type == "call_expression" and read_call(called).name in several:
            yield inner


__all__ = ["half_guarded"]

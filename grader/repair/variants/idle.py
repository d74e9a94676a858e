"""Variables that a function computes or is given, and that nothing in it uses: what its author forgot."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from grader.repair.variants.sites import INTEGERS
from grader.source.cuda_code import descendants, text

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.repair.variants.sites import Scope

NEAR = 8
"""How many of a kernel's own integers may be the index of such an array."""
WORD = re.compile(r"[A-Za-z_]\w*")


@cache
def idle_names(scope: Scope) -> frozenset[str]:
    """Return the names of parameters and variables whose value is never read.

    Host code is left alone: sizes that it computes for checks and messages are many.
    """
    body = scope.function.body
    if body is None or scope.function.runs == "host":
        return frozenset()
    read = {text(node) for node in descendants(body, "identifier") if not _is_given_a_value(node)}
    known = {name for name, _, _, _ in scope.locals}
    return frozenset(known - read)


@cache
def idle_elements(scope: Scope, at: int) -> tuple[str, ...]:
    """Return `bias[c]` for each array that a kernel is given and never reads, with the indices known at a byte."""
    body = scope.function.body
    if body is None or scope.function.runs == "host":
        return ()
    used = {text(node) for node in descendants(body, "identifier")}
    arrays = [p.name for p in scope.function.parameters if p.is_pointer and p.is_const]
    given = {p.name for p in scope.function.parameters}
    known = [name for name in scope.names(INTEGERS, at) if name not in given][:NEAR]
    return tuple(f"{array}[{index}]" for array in arrays if array not in used for index in known)


def _is_given_a_value(node: Node) -> bool:
    """Whether a name is declared or assigned there, and not read."""
    parent = node.parent
    if parent is None or parent.type not in {
        "init_declarator",
        "declaration",
        "assignment_expression",
    }:
        return False
    if parent.type == "assignment_expression":
        return parent.child_by_field_name("left") == node
    return parent.type == "declaration" or parent.child_by_field_name("declarator") == node

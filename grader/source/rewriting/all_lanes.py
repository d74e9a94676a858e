"""The fix of an exchange in a divergent branch: all lanes run it."""

from __future__ import annotations

from tree_sitter import Node

from grader.records import Edit, Fix
from grader.source import Unit
from grader.source.code_edits import delete_lines_of, fix
from grader.source.nodes import around, text
from grader.source.statements import (
    LOOPS,
    enclosing_loops,
    indent_of,
    insert_before,
    simple_statement,
    statement,
)

OWN = "let every lane take part in the exchange"


def branch_of(where: Node, cause: Node | None) -> Node | None:
    """Return the `if` around the exchange whose condition excludes lanes."""
    nodes = around(cause) if cause is not None else ()
    branch = next((node for node in nodes if node.type == "if_statement"), None)
    inside = branch is not None and branch.start_byte < where.start_byte < branch.end_byte
    return branch if inside else None


def all_lanes(unit: Unit, where: Node, branch: Node) -> tuple[Fix, ...]:
    """Return the fix that runs an exchange before its branch, where excluded lanes contribute their own value."""
    loops = [loop for loop in enclosing_loops(where) if branch.start_byte < loop.start_byte]
    own, alone = loops[-1] if loops else simple_statement(where), only_statement(branch)
    if own == branch:  # the exchange is in a helper that the branch calls
        own = alone or own
    if own.type not in {"expression_statement", *LOOPS} or own.start_byte <= branch.start_byte:
        return ()
    moved = _outdent(unit, own, branch)
    if own == alone:
        return fix(OWN, [_replace_branch(unit, branch, moved)])
    return fix(OWN, [insert_before(unit, statement(branch), moved), _leave_branch(unit, own)])


def _leave_branch(unit: Unit, own: Node) -> Edit | None:
    """Move a statement out of a branch."""
    if own.parent is None or own.parent.type != "compound_statement":
        return unit.edit(own.start_byte, own.end_byte, ";")
    return delete_lines_of(unit, own)


def _replace_branch(unit: Unit, branch: Node, made: str) -> Edit | None:
    """Replace the branch by another statement."""
    whole = statement(branch)
    return unit.edit(whole.start_byte, whole.end_byte, made)


def _outdent(unit: Unit, own: Node, branch: Node) -> str:
    """Return a statement's text with the branch's indentation."""
    base = indent_of(unit, statement(branch))
    more = " " * max(len(indent_of(unit, own)) - len(base), 0)
    first, *rest = text(own).split("\n")
    return "\n".join((first, *(line.removeprefix(more).removeprefix(base) for line in rest)))


def only_statement(branch: Node) -> Node | None:
    """Return the one statement that an `if` without `else` guards."""
    inner = branch.child_by_field_name("consequence")
    if inner is None or branch.child_by_field_name("alternative") is not None:
        return None
    if inner.type == "compound_statement":
        return inner.named_children[0] if len(inner.named_children) == 1 else None
    return inner

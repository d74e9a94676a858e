"""Edits of device code by whole statements."""

from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Edit
from grader.source import Unit
from grader.source.nodes import around, text

LOOPS = ("for_statement", "while_statement", "do_statement")


def indent_of(unit: Unit, node: Node) -> str:
    """Return the white space at the beginning of a node's line."""
    line = unit.data.rfind(b"\n", 0, node.start_byte) + 1
    head = unit.data[line : node.start_byte].decode("utf-8", "replace")
    return head[: len(head) - len(head.lstrip())]


def statement(node: Node) -> Node:
    """Return the statement around a node that is directly in a block."""
    here = node
    while here.parent is not None and here.parent.type not in {
        "compound_statement",
        "translation_unit",
    }:
        here = here.parent
    return here


def simple_statement(node: Node) -> Node:
    """Return the innermost statement around a node."""
    here = node
    while here.parent is not None and not here.type.endswith(("statement", "declaration")):
        here = here.parent
    return here


def insert_before(unit: Unit, node: Node, new: str) -> Edit | None:
    """Return the edit that puts lines before a statement."""
    break_ = f"\n{indent_of(unit, node)}"
    return unit.edit(node.start_byte, node.start_byte, new.replace("\n", break_) + break_)


def insert_after(unit: Unit, node: Node, new: str) -> Edit | None:
    """Return the edit that puts lines after a statement."""
    break_ = f"\n{indent_of(unit, node)}"
    return unit.edit(node.end_byte, node.end_byte, break_ + new.replace("\n", break_))


def add_statement(unit: Unit, node: Node, new: str) -> Edit | None:
    """Return the edit that runs `new` after a simple statement, in braces if it has none."""
    if node.parent is not None and node.parent.type == "compound_statement":
        return insert_after(unit, node, new)
    return unit.edit(node.start_byte, node.end_byte, f"{{ {text(node)} {new} }}")


def enclosing_loops(node: Node) -> Iterator[Node]:
    """Yield the loops around a node, from the inside out."""
    return (outer for outer in around(node) if outer.type in LOOPS)


def common_block(first: Node, second: Node) -> Node | None:
    """Return the innermost block that holds both nodes."""
    blocks = {outer.id for outer in around(first) if outer.type == "compound_statement"}
    for outer in around(second):
        if outer.type == "compound_statement" and outer.id in blocks:
            return outer
    return None


def child_of(block: Node, node: Node) -> Node:
    """Return the statement of a block that holds a node."""
    here = node
    while here.parent is not None and here.parent.id != block.id:
        here = here.parent
    return here

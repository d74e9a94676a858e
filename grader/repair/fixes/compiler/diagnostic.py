"""One compiler message with its kind and names, and queries on its texts for fixes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

from grader.records import Evidence
from grader.source import Source, Unit
from grader.source.analysis.diagnostics import explain
from grader.source.cpp import Call

UNKNOWN = frozenset({"undefined-identifier", "undefined-in-device"})
"""Kinds of messages about a name that nothing declares."""


@dataclass(frozen=True)
class Diagnostic:
    """A message about a submission."""

    source: Source
    item: Evidence

    @cached_property
    def kind(self) -> str:
        """What is wrong (`grader.source.analysis.diagnostics`); empty where the wording is not known."""
        return self._explained[0]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names in the message."""
        return self._explained[1]

    @cached_property
    def _explained(self) -> tuple[str, tuple[str, ...]]:
        meaning = explain(self.item.said)
        return (meaning.kind, meaning.names) if meaning is not None else ("", ())

    @property
    def name(self) -> str:
        """The first of the names without its namespace and its parameters."""
        whole = self.names[0] if self.names else ""
        return whole.partition("(")[0].rpartition("::")[2].strip()

    @property
    def unknown(self) -> str:
        """The plain name that nothing declares; empty for other messages."""
        return self.name if self.kind in UNKNOWN and self.name.isidentifier() else ""

    @property
    def line(self) -> int:
        """The line of the submission that the message is about; 0 where it has none."""
        return self.item.place.line if self.item.place is not None else 0

    def uses(self, name: str) -> Iterator[tuple[Unit, Node]]:
        """Yield the unqualified uses of a name, not as a member, in every text."""
        for unit in self.source.units:
            for node in unit.names.get(name, ()):
                inside = node.parent is not None and node.parent.type == "qualified_identifier"
                if node.type in {"identifier", "type_identifier"} and not inside:
                    yield unit, node

    def users(self, name: str) -> Iterator[tuple[Unit, Node]]:
        """Yield each CUDA text that uses a name, with its first line of code."""
        for unit in self.source.cuda:
            first = first_code(unit)
            if first is not None and any(owner is unit for owner, _ in self.uses(name)):
                yield unit, first

    def calls(self) -> Iterator[tuple[Unit, Call]]:
        """Yield the calls on the line of the message."""
        for unit in self.source.units:
            for call in unit.calls:
                if self.is_at(unit, call.node):
                    yield unit, call

    def nodes(self, *kinds: str) -> Iterator[tuple[Unit, Node]]:
        """Yield the parts of the texts of these kinds that begin on the line of the message."""
        for unit in self.source.units:
            for node in unit.nodes(*kinds):
                if self.is_at(unit, node):
                    yield unit, node

    def is_at(self, unit: Unit, node: Node) -> bool:
        """Whether a node begins on the line of the message."""
        return self.line > 0 and unit.place(node).line == self.line

    def says(self, pattern: str) -> bool:
        """Whether the tool's message matches a pattern."""
        return re.search(pattern, self.item.said) is not None


def at_file_scope(node: Node) -> Node:
    """Return the ancestor of a node at file scope, including its template head."""
    here = node
    while here.parent is not None and here.parent.type != "translation_unit":
        here = here.parent
    return here


def first_code(unit: Unit) -> Node | None:
    """Return the first node of a text after includes, macros and comments."""
    for node in unit.tree.named_children:
        if not node.type.startswith("preproc") and node.type not in {
            "comment",
            "using_declaration",
        }:
            return node
    return None

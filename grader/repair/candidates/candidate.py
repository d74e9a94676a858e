"""What a candidate is: pieces of text at places of a CUDA text's syntax tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tree_sitter import Node

from grader.records import Edit, Fix
from grader.source import Unit
from grader.source.cuda_code import one_line
from grader.source.statements import indent_of

Touches = Literal[
    "bound", "guard", "index", "value", "factor", "shift", "degree", "literal", "sync", "store", "launch", "shape", "host", ""
]  # fmt: skip
"""What a candidate changes; evidence makes some of these likelier than others. Empty: an index, a factor or a value.

A factor scales a result, a shift adds to it, and what changes its degree makes another power of its input.
"""
ALONE = {"init_declarator", "assignment_expression", "return_statement", "argument_list"}
"""Where an expression stands for itself, and needs no parentheses."""


def is_wrapped(words: str) -> bool:
    """Whether one pair of parentheses is around a whole text."""
    if not (words.startswith("(") and words.endswith(")")):
        return False
    depth = 0
    for at, letter in enumerate(words):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return at == len(words) - 1
    return False


@dataclass(frozen=True, eq=False)
class Piece:
    """One change at one node."""

    unit: Unit
    node: Node
    kind: Literal["replace", "before", "guard"]
    """`replace`: another expression in the place of this one; `before`: a statement before this one;
    `guard`: this statement under a condition."""
    code: str

    @property
    def plain(self) -> str:
        """Return the text without parentheses around all of it, where it stands alone."""
        alone = self.node.parent is not None and self.node.parent.type in ALONE
        return self.code[1:-1] if alone and is_wrapped(self.code) else self.code

    def edit(self) -> Edit | None:
        """Return the change as an edit of the submission."""
        start = self.node.start_byte
        if self.kind == "replace":
            return self.unit.edit(start, self.node.end_byte, self.plain)
        if self.kind == "guard":
            return self.unit.edit(start, start, f"if ({self.code}) ")
        return self.unit.edit(start, start, f"{self.code}\n{indent_of(self.unit, self.node)}")


@dataclass(frozen=True, eq=False)
class Candidate:
    """One small change of a program."""

    pieces: tuple[Piece, ...]
    cost: float
    """How unlikely it is to be what was meant; the smaller, the earlier it is tried."""
    touches: Touches

    @property
    def line(self) -> int:
        """Line of the submission where it begins."""
        return self.pieces[0].unit.place(self.pieces[0].node).line

    @property
    def label(self) -> str:
        """Return what it does, in the imperative."""
        piece = self.pieces[0]
        old = one_line(piece.node, 60)
        if piece.kind == "before":
            return f"add `{piece.code}` before line {self.line}"
        if piece.kind == "guard":
            return f"do line {self.line} only if `{piece.code}`"
        times = len({(one.kind, one.code) for one in self.pieces}) == 1 and len(self.pieces)
        often = f", all {times} times" if times > 1 else ""
        often = often or (", and what goes with it" if len(self.pieces) > 1 else "")
        return f"line {self.line}: `{' '.join(piece.plain.split())}` in the place of `{old}`{often}"

    def fix(self) -> Fix | None:
        """Return the change as a fix; None where the text can't be edited there."""
        edits = [piece.edit() for piece in self.pieces]
        known = tuple(edit for edit in edits if edit is not None)
        return Fix(label=self.label, edits=known) if len(known) == len(edits) else None


@dataclass(frozen=True, eq=False)
class Change(Candidate):
    """A change of a submission's Python."""

    change: Fix
    first_line: int

    @property
    def line(self) -> int:
        """Line of the submission where it begins."""
        return self.first_line

    @property
    def label(self) -> str:
        """Return what it does, in the imperative."""
        return self.change.label

    def fix(self) -> Fix | None:
        """Return the change as a fix."""
        return self.change

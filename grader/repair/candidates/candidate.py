"""The record of a candidate: one small change of a program, in pieces of its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from grader.records import Edit, Fix
from grader.source import Source, Unit
from grader.source.nodes import text
from grader.source.statements import indent_of

Touches = Literal[
    "bound", "guard", "index", "value", "factor", "shift", "degree", "literal", "sync", "store", "launch", "shape", "order", "host", ""
]  # fmt: skip
"""What a candidate changes; evidence makes some of these likelier than others. Empty: an index, a factor or a value.

A factor scales a result, a shift adds to it, and what changes its degree makes another power of its input.
"""
Kind = Literal["replace", "before", "after", "guard"]
"""`replace`: other words in place of these; `before` and `after`: a statement beside this one; `guard`: this statement
under a condition."""
NEVER = "false"
"""The condition of a removed statement."""
ALONE = {"init_declarator", "assignment_expression", "return_statement", "argument_list"}
"""Parents of a C++ expression that needs no parentheses."""
SHOWN = 60
"""Letters of the old text that a label shows."""


@dataclass(frozen=True, eq=False)
class Piece:
    """One change at one node of a CUDA text's tree, or of the submission's Python."""

    text: Unit | Source
    node: Any
    code: str
    kind: Kind = "replace"

    @property
    def plain(self) -> str:
        """Return the new text without outer parentheses, where it stands alone."""
        parent = self.node.parent if isinstance(self.text, Unit) else None
        alone = parent is not None and parent.type in ALONE
        return self.code[1:-1] if alone and is_wrapped(self.code) else self.code

    @property
    def old(self) -> str:
        """The node's text."""
        return text(self.node) if isinstance(self.text, Unit) else self.text.text(self.node)

    @property
    def span(self) -> tuple[int, int]:
        """Start and end of the node in its text."""
        if isinstance(self.text, Source):
            return self.text.span(self.node)
        return self.node.start_byte, self.node.end_byte

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line of the node in the submission."""
        place = self.text.place(self.node)
        return place.line, place.end_line

    def edit(self) -> Edit | None:
        """Return the change as an edit of the submission; None where its text can't be edited."""
        start, end = self.span
        if isinstance(self.text, Source):
            start = end if self.kind == "after" else start
            beside = f"\n{' ' * self.node.col_offset}" if self.kind == "after" else ""
            return Edit(start=start, end=end, text=beside + self.code)
        if self.kind == "replace":
            return self.text.edit(start, end, self.plain)
        if self.kind == "guard" and self.code == NEVER:
            return self.text.edit(start, end, "")
        guarded = f"if ({self.code}) " if self.kind == "guard" else ""
        words = guarded or f"{self.code}\n{indent_of(self.text, self.node)}"
        return self.text.edit(start, start, words)


@dataclass(frozen=True, eq=False)
class Candidate:
    """One small change of a program."""

    pieces: tuple[Piece, ...]
    cost: float
    """Unlikelihood of the change; lower ones are tried earlier."""
    touches: Touches
    ways: tuple[str, ...] = ()
    """Keys shared with changes at other places."""
    unweighed: float = 0.0
    """Cost independent of evidence; 0 where it isn't weighed."""

    @property
    def line(self) -> int:
        """Line of the submission where it begins."""
        return self.pieces[0].lines[0]

    @property
    def lines(self) -> frozenset[int]:
        """Lines of the submission that it changes; for an insertion beside a statement, the statement's first line."""
        found = ((one.lines[0], one.lines[one.kind == "replace"]) for one in self.pieces)
        return frozenset(line for begin, end in found for line in range(begin, end + 1))

    @property
    def label(self) -> str:
        """Return its effect, in the imperative."""
        piece, (begin, end) = self.pieces[0], self.pieces[0].lines
        if piece.kind in {"before", "after"}:
            return f"add `{piece.code}` {piece.kind} line {end if piece.kind == 'after' else begin}"
        if piece.kind == "guard":
            return f"do line {begin} only if `{piece.code}`"
        words, old = (" ".join(one.split()) for one in (piece.plain, piece.old))
        old = old if len(old) <= SHOWN else f"{old[: SHOWN - 3]}..."
        return f"line {begin}: `{words}` in the place of `{old}`{self._count_places()}"

    def _count_places(self) -> str:
        several = len(self.pieces)
        if several > 1 and len({(one.kind, one.code) for one in self.pieces}) == 1:
            return f", all {several} times"
        return ", and what goes with it" if several > 1 else ""

    @property
    def as_a_slip(self) -> float:
        """Unlikelihood of the slip that it fixes: among several right changes, the likeliest is chosen."""
        return self.unweighed or self.cost

    def fix(self) -> Fix | None:
        """Return the change as a fix; None where the text can't be edited there."""
        edits = [piece.edit() for piece in self.pieces]
        known = tuple(edit for edit in edits if edit is not None)
        return Fix(label=self.label, edits=known) if len(known) == len(edits) else None


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

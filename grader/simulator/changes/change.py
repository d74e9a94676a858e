"""One change of a function's code, and a guest's request with many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.records import JsonValue
from grader.records.changes import Changed, Kind, OtherArgument
from grader.simulator.ptx.code import Code, Function, Instruction, Operand, Pool

SPARE = bytes((32, 32, 64, 64, 1))
"""Number of registers that changed code may use beside a function's own."""
Given = tuple[int, int, int, int, int | tuple[int, ...]]
"""Of a launch a parameter, the launch and the parameter whose value it gets, or the value itself: a number, or a known
tensor with the order of its dims."""
Edits = tuple[tuple[int, tuple[Instruction, ...]], ...]
"""Positions of instructions, in order, and their replacements."""


@dataclass(frozen=True)
class Edited:
    """Replaced text in a statement of the submission's module."""

    whole: tuple[int, str]
    """The statement with the number of its first line; `start` and `end` are offsets into its text."""
    start: int
    end: int
    after: str
    pieces: tuple[tuple[int, int, str], ...] = ()
    """Of several edits at once each: from `start` to `end` the text has all of them."""
    constructs: bool = False
    """Whether it is of a constructor, so that the model is made anew."""

    @property
    def edits(self) -> tuple[tuple[int, int, str], ...]:
        """Start, end and new text of each edit, in the order of the text."""
        return self.pieces or ((self.start, self.end, self.after),)


@dataclass(frozen=True)
class Change:
    """The same change of all instructions compiled from one place of the source."""

    file: str
    line: int
    changed: Changed
    program: int
    function: int
    edits: Edits
    prior: int = 0
    """Prior as the cause, from 0 (likely) to 3 (seldom)."""
    given: tuple[Given, ...] = ()
    """Of an argument: what launches get; `file` and `line` are then the kernel and the number of its launch."""
    also: tuple[int, ...] = ()
    """Further lines with the same change."""
    text: Edited | None = None
    """For a change of host code; `line` is then one of the submission's text."""

    @property
    def kind(self) -> Kind:
        """What is changed."""
        return self.changed.kind

    @property
    def on_host(self) -> bool:
        """Whether it changes host code, not a kernel."""
        return bool(self.given or self.text)

    @property
    def key(self) -> tuple[object, ...]:
        """Return a key in terms of the source, equal in another build of it."""
        return self.line, self.changed, self.also

    @property
    def parameters(self) -> tuple[int, ...]:
        """Return which parameters of a launch get something else."""
        return self.changed.before if isinstance(self.changed, OtherArgument) else ()

    @property
    def exchanged_dims(self) -> tuple[int, int] | None:
        """Return the two dims of a known tensor that are passed in exchanged order."""
        return self.changed.exchanged_dims if isinstance(self.changed, OtherArgument) else None


@dataclass(frozen=True)
class Request:
    """Changes of launched programs, with the data that a guest needs to apply them."""

    codes: tuple[Code | None, ...] = ()
    changes: tuple[Change, ...] = ()
    probes: tuple[tuple[str, int], ...] = ()
    """Settings of the simulator for runs of the unchanged program before the changes."""
    blocks: int = 0
    """Number of blocks of each launch that run, from the first and the last; 0: all."""
    clean: bool = False
    """Whether results are discarded where a run shows another defect, such as an access out of bounds."""

    def to_guest(self, sample: Sequence[Sequence[int] | None], seconds: float) -> JsonValue:
        """Return the request for `grader.guest.changes`; `sample` are the compared elements of each output."""
        pools = [Pool(code) if code else None for code in self.codes]
        functions = {
            (one.program, function.number): function
            for one in self.changes
            if not one.on_host and (code := self.codes[one.program])
            for function in (code.functions[one.function],)
        }
        words = {
            at: [_known_pool(pools[at[0]]).words(i) for i in function.instructions]
            for at, function in functions.items()
        }
        statements = list(dict.fromkeys(one.text.whole for one in self.changes if one.text))
        probes: list[JsonValue] = [
            {"settings": [[name, str(value)]]} for name, value in self.probes
        ]
        changes: list[JsonValue] = [
            {"given": _tell_given(one.given)}
            if one.given
            else _told_text(one.text, statements)
            if one.text
            else {
                "code": f"{one.program}.{one.function}",
                "edits": _tell_edits(one, _known_pool(pools[one.program])),
            }
            for one in self.changes
        ]
        return {
            "statements": [[*one] for one in statements],
            "code": {
                f"{program}.{number}": [
                    [w for part in words[program, number] for w in part],
                    list(function.registers + SPARE),
                ]
                for (program, number), function in functions.items()
            },
            "tables": [[list(p.strings), list(p.constants)] if p else [[], []] for p in pools],
            "changes": [*probes, *changes],
            "blocks": self.blocks,
            "clean": self.clean,
            "sample": [None if one is None else list(one) for one in sample],
            "seconds": seconds,
        }


def _tell_given(given: tuple[Given, ...]) -> list[JsonValue]:
    return [[list(part) if isinstance(part, tuple) else part for part in one] for one in given]


def _told_text(edited: Edited, statements: list[tuple[int, str]]) -> JsonValue:
    number = statements.index(edited.whole)
    at = {"start": edited.start, "end": edited.end, "after": edited.after}
    return {"text": {"statement": number, **at, "constructs": edited.constructs}}


def _known_pool(pool: Pool | None) -> Pool:
    if pool is None:
        raise ValueError("a change of a program that was not read")
    return pool


def _tell_edits(change: Change, pool: Pool) -> list[JsonValue]:
    """Return the replaced instructions of the function, with the new words."""
    return [[at, [w for i in new for w in pool.words(i)]] for at, new in change.edits]


def spare(function: Function, width: int, number: int = 0) -> Operand:
    """Return a register of a width that the function's own code doesn't use."""
    at = [n for n, bits in enumerate(SPARE) if bits == width][number]
    return Operand("reg", len(function.registers) + at)

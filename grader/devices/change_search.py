"""The search among changes of a wrong program for those that make its results right."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from grader.devices.leads import AT_ONCE, Concerns, Leads
from grader.devices.preference import Doubt, count_ways, doubt, is_unnamed, rank, step_of
from grader.devices.solved import solve_numbers
from grader.devices.trial import ALL, PROBES, Few, Trial, launched_codes
from grader.judge.inputs import Array
from grader.languages import compiles_when_launched, place_compiled_line
from grader.records import Place
from grader.records.changes import OtherArgument, PassedArgument
from grader.simulator.changes import Change, Request
from grader.simulator.changes.arguments import read_launches, read_tensors
from grader.simulator.changes.change import Edited
from grader.simulator.changes.host import proposed_changes
from grader.simulator.changes.loops import loop_depths
from grader.simulator.ptx.code import Code
from grader.source import Source
from grader.source.analysis.overwritten import place_overwritten
from grader.source.analysis.passed import Blame, blame
from grader.source.analysis.triton import kernels

BATCH = 300
"""Changes in the first guest, before the time of one is known."""
MOST_AT_ONCE = 4000
STRETCH = 1.5
"""Seconds of changed runs in one guest, about as long as its start."""
SMALLEST = 20
MOST_SHARED = 8
"""Number of programs that may share a core with a guest, as a bound on the CPU time that it reports."""
CLOSE = 4
"""Bonus of a line where a change made everything right on one workload but not on others."""
MOST_SOLVED = 60
"""Changes of one batch whose number is solved for."""
NEAR = 3
"""Number of lines around a suspect that are tried before others."""


@dataclass(frozen=True)
class Found:
    """A change that makes all results right, and the number of others that do."""

    change: Change
    place: Place | None
    alternatives: int
    before: float
    """Share of elements that are right without it."""
    given: Blame | None = None
    """Line of the host code concerned, for a change of a launch's arguments."""
    as_it_is: bool = False
    """Whether the launch gets a tensor in its memory order, for a change of that order."""


class Search:
    """The changes of a program, and the results of those tried."""

    def __init__(self, trial: Trial, source: Source, known: Leads, seconds: float) -> None:
        self._trial, self._source, self._known = trial, source, known
        self._suspects = known.lines
        self._seen = trial.run(Request(probes=PROBES), 1.0)
        self._codes = launched_codes(self._seen)
        shares = trial.right_shares(self._seen.outputs)
        self._few = trial.few_blocks(self._seen.outputs)
        self.before = shares[0] if shares else 1.0
        proposed = proposed_changes(trial.submission.code, known.proposed)
        every = chain(proposed, trial.all_changes(self._seen))
        self._all = list(every) if self.before < 1.0 else []
        launches = read_launches(self._seen.passed)
        self._kernels = [name_in_text(one.kernel) for one in launches]
        tensors = [one.name for one in read_tensors(self._seen.passed)]
        self._concerns = Concerns(known, self._codes, launches, tensors)
        self._lines: dict[tuple[str, int, tuple[int, ...]], int] = {}
        self._close: frozenset[int] = frozenset()
        self._left, self._spent, self._tried = seconds, 0.0, 0
        self._solved: list[Change] = []

    @property
    def codes(self) -> tuple[Code | None, ...]:
        """Return the programs, where all workloads launch the same: one that no call compiles anew."""
        own = compiles_when_launched(self._source) or len(self._codes) != 1
        return () if own else self._codes

    def batches(self) -> Iterator[list[Change]]:
        """Yield batches of changes, the likeliest first, each as large as one guest should try."""
        possible = [one for one in self._all if self._concerns.may(one)]
        if self._known.caused:
            lines = self._suspects | _made_for_stores(self._source, self._suspects)
            possible = [o for o in possible if self._line(o) in lines or _constructs(o)]
        while possible and self._left > 0:
            possible.sort(key=self.unlikely)
            some = self._as_many()
            yield [*self._take_solved(), *possible[:some]]
            possible = possible[some:]
        if self._solved:
            yield self._take_solved()

    def _take_solved(self) -> list[Change]:
        """Return the changes with numbers that were solved for since the last batch."""
        taken, self._solved = self._solved, []
        return taken

    def suspect(self, changes: Sequence[Change]) -> None:
        """Prioritise other changes at the lines of changes that make everything right on one workload only."""
        self._close |= {self._line(one) for one in changes}

    def _as_many(self) -> int:
        if not self._tried:
            return BATCH
        each = max(self._spent / self._tried, 1e-4)
        return max(BATCH, min(MOST_AT_ONCE, int(min(STRETCH, self._left) / each)))

    def right_under(self, changes: Sequence[Change]) -> list[Change]:
        """Return the changes under which everything is right, as far as the time allows.

        Changes that are equivalent here, because sizes are equal, run once.
        """
        alike: dict[object, list[Change]] = {}
        for change in changes:
            alike.setdefault(
                (change.program, change.function, change.edits, change.given, change.text), []
            ).append(change)
        found = [same[0] for same in alike.values()]
        for few in filter(None, (self._few, ALL)):
            found = self._try(found, few) if found and self._left > 0 else []
        right = set(map(id, found))
        return [one for same in alike.values() if id(same[0]) in right for one in same]

    def best(self, right: Sequence[Change]) -> Found:
        """Return the likeliest of these changes, at its place."""
        change = self._where_it_belongs(self._likeliest(right), right)
        given = self.blame(change)
        place = given.step.place if given else self._place(change)
        memory = self._memory(change) if change.exchanged_dims else -1
        return Found(change, place, count_ways(right), self.before, given, memory >= 0)

    def _likeliest(self, right: Sequence[Change]) -> Change:
        weights = {
            id(one): (self.doubt(one, right), is_unnamed(one), self.unlikely(one)) for one in right
        }
        least = min(weights.values())
        likely = [one for one in right if weights[id(one)] == least]
        return min(likely, key=lambda one: (self.is_elsewhere(one), *rank(one, likely)))

    def _where_it_belongs(self, change: Change, right: Sequence[Change]) -> Change:
        """Return the change with the same step where it runs least often, and last, since its result is complete there."""
        step = step_of(change)
        if step is None:
            return change
        code = self._codes[change.program]
        depths = loop_depths(code.functions[change.function].instructions) if code else ()
        same = [one for one in right if step_of(one) == step]
        return min(same, key=lambda one: (depths[one.edits[0][0]], -one.edits[0][0]))

    def same_steps(self, changes: Sequence[Change]) -> list[Change]:
        """Return the changes that do the same as one of these at another place."""
        known, steps = set(map(id, changes)), {step_of(one) for one in changes} - {None}
        every = self._all if steps else []
        return [one for one in every if id(one) not in known and step_of(one) in steps]

    def doubt(self, change: Change, found: Sequence[Change]) -> Doubt:
        """Return the doubt about a change as the cause, where all of `found` are right."""
        turned = any(one.given for one in found)
        return doubt(change, self.blame(change), turned=turned)

    def blame(self, change: Change) -> Blame | None:
        """Return the line of the host code for a change of arguments."""
        other = change.changed
        if not isinstance(other, OtherArgument) or not change.line < len(self._kernels):
            return None
        nth = self._kernels[: change.line].count(name_in_text(change.file))
        made = not isinstance(other.after, PassedArgument) and not self._is_known(change)
        return blame(self._source, change.file, nth, change.parameters, made)

    def _is_known(self, change: Change) -> bool:
        """Whether it passes an input unchanged in place of another unchanged one."""
        as_it_is = isinstance(change.given[0][-1], tuple) and not change.exchanged_dims
        return as_it_is and self._memory(change) >= 0

    def _memory(self, change: Change) -> int:
        """Return the known tensor that a launch passes for the changed parameter; negative: none."""
        return read_launches(self._seen.passed)[change.line].memory[change.parameters[0]]

    def unlikely(self, change: Change) -> int:
        """Return the unlikelihood of a change as the cause: by its kind, and its distance to a suspect."""
        if change.given:
            return change.prior - 2 if change.prior <= AT_ONCE else 4 * change.prior
        far = min((abs(self._line(change) - line) for line in self._suspects), default=0)
        beside = self._concerns.beside(change) - CLOSE * (self._line(change) in self._close)
        return 4 * (change.prior + beside) + (1 if far <= NEAR else 2 if far <= 4 * NEAR else 3)

    def is_elsewhere(self, change: Change) -> bool:
        """Whether it changes another line than the suspects."""
        return all(abs(self._line(change) - line) >= NEAR for line in self._suspects)

    def _line(self, change: Change) -> int:
        at = (change.file, change.line, change.parameters)
        if at not in self._lines:
            given = self.blame(change)
            place = given.step.place if given else self._place(change)
            self._lines[at] = place.line if place else 0
        return self._lines[at]

    def _place(self, change: Change) -> Place | None:
        """Return the line of the text for a change of code; for a value assigned in a loop, the line of the assignment."""
        if change.text:
            return self._place_of_text(change.text)
        place = place_compiled_line(self._source, change.file, change.line)
        anew = change.kind == "carried"
        return (anew and place_overwritten(self._source, [place])) or place

    def _place_of_text(self, edited: Edited) -> Place:
        begin = self._source.positions.offset(edited.whole[0], 0)
        start, end, _ = edited.edits[0]
        return self._source.place((begin + start, begin + end))

    def _try(self, changes: Sequence[Change], few: Few) -> list[Change]:
        """Return the changes that make everything right; if the guest ends, retry each half in a new one."""
        begun = time.monotonic()
        request = Request(self._codes, tuple(changes), blocks=few.blocks)
        changed = self._trial.run(request, self._left)
        wall = time.monotonic() - begun
        self._count(min(wall, max(changed.seconds, wall / MOST_SHARED)), changed.outputs)
        if changed.outputs:
            if few is (self._few or ALL):
                self._solved += islice(self._solve(changes, changed.outputs, few), MOST_SOLVED)
            kept = self._which_stay(changed.outputs, few)[1:]
            return [one for one, right in zip(changes, kept, strict=False) if right]
        half = len(changes) // 2
        if half < SMALLEST or self._left <= 0:
            return []
        return [*self._try(changes[:half], few), *self._try(changes[half:], few)]

    def _solve(self, changes: Sequence[Change], outputs: Sequence[Array], few: Few) -> Iterator[Change]:  # fmt: skip
        """Yield changes with the numbers that the elements ask for which these blocks make."""
        wrong = [mask[0] for mask in self._trial.wrong_elements([one[:1] for one in outputs])]
        made = few.elements or [np.ones_like(mask) for mask in wrong]
        masks = ([of & w for of, w in zip(made, one, strict=True)] for one in (wrong, [~w for w in wrong]))  # fmt: skip
        return solve_numbers(changes, outputs, self._trial.wanted, *masks)

    def _count(self, seconds: float, outputs: Sequence[Array]) -> None:
        self._left -= seconds
        if outputs:
            self._spent, self._tried = self._spent + seconds, self._tried + len(outputs[0])

    def _which_stay(self, outputs: Sequence[Array], few: Few) -> list[bool]:
        if few.blocks:
            return self._trial.may_be_right(outputs, few)
        return [share == 1.0 for share in self._trial.right_shares(outputs)]


def name_in_text(symbol: str) -> str:
    """Return what a kernel's symbol begins with, up to its name: all instances of a template have one name in the text."""
    begin = re.match(r"_ZN?L?", symbol)
    at = begin.end() if begin else len(symbol)
    while length := re.match(r"\d+", symbol[at:]):
        at += length.end() + int(length[0])
    return symbol[:at]


def _constructs(change: Change) -> bool:
    """Whether it changes what a constructor keeps: what a kernel was seen to read and leave out may be handed over wrongly."""
    return change.text is not None and change.text.constructs


def _made_for_stores(source: Source, lines: Collection[int]) -> frozenset[int]:
    """Return the lines that compute what a Triton kernel stores at some lines: a last step is missing there."""
    stores = (
        (kernel, one.arguments["value"])
        for kernel in kernels(source)
        for one in kernel.accesses
        if one.call.lineno in lines and "value" in one.arguments
    )
    named = ((of, one.id) for of, value in stores for one in ast.walk(value) if isinstance(one, ast.Name))  # fmt: skip
    return frozenset(
        made.lineno for kernel, name in named for made in kernel.assigned.get(name, ())
    )

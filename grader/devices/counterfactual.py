"""A wrong program runs again under small changes of its kernels' code: one that makes it right shows the cause."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from grader.devices.base import Changed, Device
from grader.devices.capabilities import Changer
from grader.errors import GraderError
from grader.judge import References
from grader.judge.elements import out_of_tolerance
from grader.judge.inputs import Array
from grader.judge.tolerance import element_count, tolerance
from grader.languages import place_compiled_line
from grader.records import (
    Build,
    Comparison,
    Counterfactual,
    Evidence,
    Submission,
    Task,
    Workload,
)
from grader.simulator.changes import Change, Kind, Request, changes_of
from grader.simulator.ptx.code import Code, read_code
from grader.source import Source, parse

SAMPLE = 2048
"""Elements of each output that are looked at for each change."""
SECONDS = 4.0
"""For the changes of one program."""
MOST = 2**18
"""Elements of the inputs of a workload up to which it is run under changes."""
ENOUGH = 64
"""Elements from which on a workload shows more than a corner case."""
PROOFS = 2
"""Further workloads on which a change must make all right."""
BATCH = 300
"""Changes that one guest tries."""
SMALLEST = 20
MOST_SHARED = 8
"""Programs that may share a processor with a guest, whatever it says of its time."""
CODES: Mapping[Kind, str] = {
    "comparison": "counterfactual-comparison",
    "constant": "counterfactual-constant",
    "operator": "counterfactual-operator",
    "operand": "counterfactual-operand",
    "guard": "counterfactual-guard",
    "around": "counterfactual-around",
}
KINDS = tuple(CODES)
"""What a change can be of, the likeliest first."""
NEAR = 3
"""Lines around a suspect that are tried before others."""


@dataclass(frozen=True)
class Found:
    """A change that makes all right, and how many others do."""

    change: Change
    alternatives: int
    before: float
    """The share of elements that are right without it."""


@dataclass(frozen=True)
class Trial:
    """A program on one workload, to be tried under changes."""

    device: Changer
    submission: Submission
    build: Build
    task: Task
    references: References
    workload: Workload

    def run(self, asked: Request, seconds: float) -> Changed:
        """Run it under these changes."""
        told = asked.told(self.sample, seconds)
        return self.device.run_changed(
            self.submission, self.build, self.task, self.references, self.workload, told
        )

    @cached_property
    def sample(self) -> list[list[int]]:
        """Return which elements of each output are looked at: evenly spread."""
        sizes = [array.size for array in self.references.expected[self.workload.name].exact]
        return [
            sorted(set(np.linspace(0, size - 1, min(size, SAMPLE)).astype(int).tolist()))
            for size in sizes
        ]

    def right(self, outputs: Sequence[Array]) -> list[float]:
        """Return which share of the sampled elements is right under each change."""
        expected = self.references.expected[self.workload.name]
        if len(outputs) != len(expected.exact):
            return []
        known = zip(expected.exact, expected.native, self.sample, outputs, strict=True)
        shares = [
            self._share(e.ravel()[sample], n.ravel()[sample], rows) for e, n, sample, rows in known
        ]
        return [float(np.mean(row)) for row in zip(*shares, strict=True)]

    def _share(self, exact: Array, native: Array, rows: Array) -> list[float]:
        bound = tolerance(self.task, self.workload, str(native.dtype))
        if rows.shape[1:] != exact.shape:
            return [0.0] * len(rows)
        with np.errstate(all="ignore"):
            return [1.0 - float(out_of_tolerance(row, exact, native, bound).mean()) for row in rows]


def change_wrong(
    device: Device,
    submission: Submission,
    build: Build,
    task: Task,
    references: References,
    comparisons: Sequence[Comparison],
    suspects: frozenset[int],
) -> tuple[Evidence, ...]:
    """Return which small change of the code makes the results right, on several workloads.

    Empty where none was found in the time, or where the device can't say. `suspects` are lines that are tried first.
    """
    if not isinstance(device, Changer):
        return ()
    workloads = _telling_workloads(task, comparisons)
    source = parse(submission.code)
    try:
        literal = device.literal(submission, build, workloads[0]) if workloads else build
        trials = [Trial(device, submission, literal, task, references, w) for w in workloads]
        found = _proven(trials, source, suspects) if trials else None
    except GraderError:  # an explanation is missing then, the verdict is still valid
        return ()
    return () if found is None else (_evidence(found, source, workloads[0]),)


def _telling_workloads(task: Task, comparisons: Sequence[Comparison]) -> list[Workload]:
    """Return the workloads with wrong values: first the one to search on, then others to prove it on."""
    wrong = {c.workload for c in comparisons if c.mismatch and c.mismatch.kind == "values"}
    found = [w for w in task.judged if w.name in wrong and element_count(w) <= MOST]
    found.sort(key=lambda w: (element_count(w) < ENOUGH, element_count(w)))
    return found[: 1 + PROOFS]


def _proven(trials: Sequence[Trial], source: Source, suspects: frozenset[int]) -> Found | None:
    """Return the best change that makes all results of all trials right."""
    search = Search(trials[0], source, suspects)
    for changes in search.groups():
        right = search.right_under(changes)
        for trial in trials[1:]:
            right = _still_right(trial, right) if right else right
        if right:
            best = min(right, key=lambda one: (search.is_elsewhere(one), *_rank(one, right)))
            return Found(best, len(right), search.before)
    return None


def _rank(change: Change, others: Sequence[Change]) -> tuple[int, int, int]:
    """Return what speaks against a change as the cause: its kind, and how few others say its line."""
    alike = sum(one.line == change.line for one in others)
    return (KINDS.index(change.kind), -alike, change.line)


def _still_right(trial: Trial, changes: Sequence[Change]) -> list[Change]:
    """Return those that make the results right on another workload too, whatever its kernels' code is."""
    seen = trial.run(Request((), ()), 1.0)
    wanted = {_place_and_kind(one) for one in changes}
    same = [one for one in all_changes(seen) if _place_and_kind(one) in wanted][:BATCH]
    changed = trial.run(Request(launched_codes(seen), tuple(same)), SECONDS / 2)
    shares = trial.right(changed.outputs)[1:]
    right = [one for one, share in zip(same, shares, strict=False) if share == 1.0]
    exactly, nearly = {one.key for one in right}, {_place_and_kind(one) for one in right}
    alike = [one for one in changes if one.key in exactly]
    # A value has another name where the code is another: then the line counts.
    return alike or [one for one in changes if _place_and_kind(one) in nearly]


def _place_and_kind(change: Change) -> tuple[int, str, str]:
    return change.line, change.kind, change.after.partition("#")[0]


class Search:
    """The changes of a program, and what came of those that were tried."""

    def __init__(self, trial: Trial, source: Source, suspects: frozenset[int]) -> None:
        self._trial, self._source, self._suspects = trial, source, suspects
        self._seen = trial.run(Request((), ()), 1.0)
        self._codes = launched_codes(self._seen)
        shares = trial.right(self._seen.outputs)
        self.before = shares[0] if shares else 1.0
        self._all = list(all_changes(self._seen)) if self.before < 1.0 else []
        self._lines: dict[tuple[str, int], int] = {}
        self._left = SECONDS

    def groups(self) -> Iterator[list[Change]]:
        """Yield the changes, the likeliest first: by what they change, and how near it is to a suspect."""
        ordered = sorted(self._all, key=self._unlikely)
        for _, group in groupby(ordered, key=self._unlikely):
            yield list(group)

    def right_under(self, changes: Sequence[Change]) -> list[Change]:
        """Return the changes under which all is right, as far as the time reaches."""
        found: list[Change] = []
        for at in range(0, len(changes), BATCH):
            if self._left > 0:
                found += self._try(changes[at : at + BATCH])
        return found

    def _unlikely(self, change: Change) -> int:
        far = min((abs(self._line(change) - line) for line in self._suspects), default=0)
        return 3 * change.prior + (0 if far <= NEAR else 1 if far <= 4 * NEAR else 2)

    def is_elsewhere(self, change: Change) -> bool:
        """Whether it is of another line than the suspects."""
        return all(abs(self._line(change) - line) >= NEAR for line in self._suspects)

    def _line(self, change: Change) -> int:
        at = change.file, change.line
        if at not in self._lines:
            place = place_compiled_line(self._source, *at)
            self._lines[at] = place.line if place else 0
        return self._lines[at]

    def _try(self, changes: Sequence[Change]) -> list[Change]:
        """Return which of them make all right; where the guest ends, each half has another."""
        begun = time.monotonic()
        changed = self._trial.run(Request(self._codes, tuple(changes)), self._left)
        wall = time.monotonic() - begun
        self._left -= min(wall, max(changed.seconds, wall / MOST_SHARED))
        if changed.outputs:
            shares = self._trial.right(changed.outputs)[1:]
            return [one for one, share in zip(changes, shares, strict=False) if share == 1.0]
        half = len(changes) // 2
        if half < SMALLEST:
            return []
        return [*self._try(changes[:half]), *self._try(changes[half:])] if self._left > 0 else []


def _evidence(found: Found, source: Source, workload: Workload) -> Evidence:
    change = found.change
    place = place_compiled_line(source, change.file, change.line)
    where = f"line {place.line}" if place else "a line"
    return Evidence(
        kind="provenance",
        code=CODES[change.kind],
        text=f"with another {change.kind} in {where} all results are right",
        place=place,
        workload=workload.name,
        details=Counterfactual(
            change=change.kind,
            before=_in_lines_of_the_text(change.before, change, source),
            after=_in_lines_of_the_text(change.after, change, source),
            right_before=found.before,
            alternatives=found.alternatives,
        ),
    )


def _in_lines_of_the_text(words: str, change: Change, source: Source) -> str:
    """Return what a change puts in, with the compiled line that gives a value as one of the text; 0 where it is none."""

    def placed(found: re.Match[str]) -> str:
        place = place_compiled_line(source, change.file, int(found[1]))
        return f"line {place.line if place else 0}"

    return re.sub(r"\bline (\d+)", placed, words)


def launched_codes(seen: Changed) -> tuple[Code | None, ...]:
    """Return the programs that can be read."""
    return tuple(map(_read, seen.programs))


def _read(blob: bytes) -> Code | None:
    try:
        return read_code(blob)
    except ValueError:
        return None


def all_changes(seen: Changed, numbers: Sequence[float] = ()) -> Iterator[Change]:
    """Yield the changes of the functions that ran."""
    for number, code in enumerate(launched_codes(seen)):
        for function in code.functions if code is not None else ():
            if (
                code
                and function.instructions
                and (not function.entry or function.name in seen.kernels)
            ):
                yield from changes_of(number, code, function, numbers)

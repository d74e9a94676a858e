"""A wrong program runs again under small changes of its kernels' code and of what launches are given.

One that makes it right shows the cause.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

from grader.devices.base import Device
from grader.devices.capabilities import Changer
from grader.devices.leads import AT_ONCE, Concerns, Leads
from grader.devices.trial import ALL, PROBES, Few, Trial, launched_codes
from grader.errors import GraderError
from grader.judge import References
from grader.judge.inputs import Array
from grader.judge.tolerance import element_count
from grader.languages import place_compiled_line
from grader.records import (
    Build,
    Comparison,
    Counterfactual,
    Evidence,
    Place,
    Submission,
    Task,
    Workload,
)
from grader.simulator.changes import Change, Kind, Request
from grader.simulator.changes.arguments import read_launches, read_tensors
from grader.simulator.changes.change import Edited
from grader.simulator.changes.host import proposed_changes
from grader.source import Source, parse
from grader.source.analysis.overwritten import overwritten
from grader.source.analysis.passed import Blame, blame, given_name

MOST = 2**18
"""Elements of the inputs of a workload up to which it is run under changes."""
ENOUGH = 64
"""Elements from which on a workload shows more than a corner case."""
PROOFS = 2
"""Further workloads on which a change must make all right."""
BATCH = 300
"""Changes that one guest tries."""
SMALLEST = 20
VALUES = ("values", "unwritten", "nonfinite")
"""How results differ that have the right form."""
MOST_SHARED = 8
"""Programs that may share a processor with a guest, whatever it says of its time."""
CODES: Mapping[Kind, str] = {
    "comparison": "counterfactual-comparison",
    "constant": "counterfactual-constant",
    "operator": "counterfactual-operator",
    "carried": "counterfactual-operator",
    "operand": "counterfactual-operand",
    "guard": "counterfactual-guard",
    "around": "counterfactual-around",
    "argument": "counterfactual-argument",
    "host": "counterfactual-host",
}
KINDS = tuple(CODES)
"""What a change can be of, the likeliest first."""
BESIDE_AN_EFFECT = 8
"""Up to which place in the order changes are tried where a finding names what a run did: most often it is the cause as well."""
NEAR = 3
"""Lines around a suspect that are tried before others."""


@dataclass(frozen=True)
class Found:
    """A change that makes all right, and how many others do."""

    change: Change
    place: Place | None
    alternatives: int
    before: float
    """The share of elements that are right without it."""
    given: Blame | None = None
    """Which line of the host code it is about, where it is of a launch's arguments."""


def change_wrong(
    device: Device,
    submission: Submission,
    build: Build,
    task: Task,
    references: References,
    comparisons: Sequence[Comparison],
    known: Leads,
    seconds: float,
) -> tuple[Evidence, ...]:
    """Return which small change of the code makes the results right, on several workloads.

    Empty where none was found in the time, or where the device can't say. What is `known` of the cause says what is tried first.
    """
    if not isinstance(device, Changer):
        return ()
    workloads = _telling_workloads(task, comparisons)
    source = parse(submission.code)
    try:
        literal = device.literal(submission, build, workloads[0]) if workloads else build
        trials = [Trial(device, submission, literal, task, references, w) for w in workloads]
        found = _proven(trials, source, known, seconds) if trials else None
    except GraderError:  # an explanation is missing then, the verdict is still valid
        return ()
    return () if found is None else (_evidence(found, source, workloads),)


def _telling_workloads(task: Task, comparisons: Sequence[Comparison]) -> list[Workload]:
    """Return the workloads with wrong values: first the one to search on, then others to prove it on."""
    wrong = {c.workload for c in comparisons if c.mismatch and c.mismatch.kind in VALUES}
    found = [w for w in task.judged if w.name in wrong and element_count(w) <= MOST]
    found.sort(key=lambda w: (element_count(w) < ENOUGH, element_count(w)))
    return found[: 1 + PROOFS]


def _proven(trials: Sequence[Trial], source: Source, known: Leads, seconds: float) -> Found | None:
    """Return the best change that makes all results of all trials right.

    What a launch is given counts after all others where the names say that it is meant so.
    """
    search = Search(trials[0], source, known, seconds)
    unsure: list[Change] = []
    for changes in search.groups():
        right = search.right_under(changes)
        for trial in trials[1:]:
            right = _still_right(trial, right, seconds / 2) if right else right
        sure = [one for one in right if not one.on_host or search.is_sure(one)]
        if sure:
            return search.best(sure)
        unsure += [one for one in right if one.text or search.blame(one)]
    return search.best(unsure) if unsure else None


def _rank(change: Change, others: Sequence[Change]) -> tuple[int, int, int]:
    """Return what speaks against a change as the cause: its kind, and how few others say its line."""
    alike = sum(one.line == change.line for one in others)
    return (KINDS.index(change.kind), -alike, change.line)


def _still_right(trial: Trial, changes: Sequence[Change], seconds: float) -> list[Change]:
    """Return those that make the results right on another workload too, whatever its kernels' code is."""
    seen = trial.run(Request(), 1.0)
    wanted = {one.key if one.given else _place_and_kind(one) for one in changes}
    every = (one for one in trial.all_changes(seen) if not one.text)
    same = [c for c in every if (c.key if c.given else _place_and_kind(c)) in wanted][:BATCH]
    same += [one for one in changes if one.text]
    changed = trial.run(Request(launched_codes(seen), tuple(same), clean=True), seconds)
    shares = trial.right(changed.outputs)[1:]
    right = [one for one, share in zip(same, shares, strict=False) if share == 1.0]
    exactly, nearly = {one.key for one in right}, {_place_and_kind(one) for one in right}
    alike = [one for one in changes if one.key in exactly]
    # A value has another name where the code is another: then the line counts.
    return alike or [one for one in changes if not one.on_host and _place_and_kind(one) in nearly]


def _place_and_kind(change: Change) -> tuple[object, ...]:
    after = change.after.partition("#")[0]
    return change.line, change.kind, after, change.also, "after" in change.nameless


class Search:
    """The changes of a program, and what came of those that were tried."""

    def __init__(self, trial: Trial, source: Source, known: Leads, seconds: float) -> None:
        self._trial, self._source, self._known = trial, source, known
        self._suspects = known.lines
        self._seen = trial.run(Request(probes=PROBES), 1.0)
        self._codes = launched_codes(self._seen)
        shares = trial.right(self._seen.outputs)
        self._few = trial.few_blocks(self._seen.outputs)
        self.before = shares[0] if shares else 1.0
        proposed = proposed_changes(trial.submission.code, known.proposed)
        every = chain(proposed, trial.all_changes(self._seen))
        self._all = list(every) if self.before < 1.0 else []
        launches = read_launches(self._seen.passed)
        self._kernels = [one.kernel for one in launches]
        tensors = [one.name for one in read_tensors(self._seen.passed)]
        self._concerns = Concerns(known, self._codes, launches, tensors)
        self._lines: dict[tuple[str, int], int] = {}
        self._left = seconds

    def groups(self) -> Iterator[list[Change]]:
        """Yield the changes, the likeliest first: by what they change, and how near it is to a suspect."""
        possible = [one for one in self._all if self._concerns.may(one)]
        if self._known.outside:
            possible = [one for one in possible if self._unlikely(one) < BESIDE_AN_EFFECT]
        if self._known.caused:
            possible = [one for one in possible if self._line(one) in self._suspects]
        ordered = sorted(possible, key=self._unlikely)
        for _, group in groupby(ordered, key=self._unlikely):
            yield list(group)

    def right_under(self, changes: Sequence[Change]) -> list[Change]:
        """Return the changes under which all is right, as far as the time reaches.

        Several that do the same here, as sizes are equal, run once.
        """
        alike: dict[object, list[Change]] = {}
        for change in changes:
            alike.setdefault(
                (change.program, change.function, change.edits, change.given, change.text), []
            ).append(change)
        found = [same[0] for same in alike.values()]
        for few in filter(None, (self._few, ALL)):
            tried, found = found, []
            for at in range(0, len(tried), BATCH):
                found += self._try(tried[at : at + BATCH], few) if self._left > 0 else []
        right = set(map(id, found))
        return [one for same in alike.values() if id(same[0]) in right for one in same]

    def best(self, right: Sequence[Change]) -> Found:
        """Return the likeliest of these, at its place."""
        change = min(right, key=lambda one: (self.is_elsewhere(one), *_rank(one, right)))
        given = self.blame(change)
        place = given.step.place if given else self._place(change)
        return Found(change, place, len(right), self.before, given)

    def is_sure(self, change: Change) -> bool:
        """Whether the host code, and not the kernel, is what a change of it is about: one that adds a step could be either's."""
        if change.text:
            return change.prior == 0
        given = self.blame(change)
        return given is not None and given.sure

    def blame(self, change: Change) -> Blame | None:
        """Return which line of the host code a change of arguments is about."""
        if not change.given or not change.line < len(self._kernels):
            return None
        nth = self._kernels[: change.line].count(change.file)
        made = not change.after.startswith("argument") and not self._is_known(change)
        return blame(self._source, change.file, nth, change.parameters, made)

    def _is_known(self, change: Change) -> bool:
        """Whether it passes an input as it is where another one is passed as it is."""
        launch = read_launches(self._seen.passed)[change.line]
        as_it_is = isinstance(change.given[0][-1], tuple) and not change.exchanged_dims
        return as_it_is and launch.memory[change.parameters[0]] >= 0

    def _unlikely(self, change: Change) -> int:
        if change.given:
            return change.prior - 2 if change.prior <= AT_ONCE else 4 * change.prior
        far = min((abs(self._line(change) - line) for line in self._suspects), default=0)
        beside = self._concerns.beside(change)
        return 4 * (change.prior + beside) + (1 if far <= NEAR else 2 if far <= 4 * NEAR else 3)

    def is_elsewhere(self, change: Change) -> bool:
        """Whether it is of another line than the suspects."""
        return all(abs(self._line(change) - line) >= NEAR for line in self._suspects)

    def _line(self, change: Change) -> int:
        at = (change.file, change.line) if not change.given else (change.before, change.line)
        if at not in self._lines:
            given = self.blame(change)
            place = given.step.place if given else self._place(change)
            self._lines[at] = place.line if place else 0
        return self._lines[at]

    def _place(self, change: Change) -> Place | None:
        """Return the line of the text that a change of code is of; of what a loop sets anew the line that does."""
        if change.text:
            return self._place_of_text(change.text)
        place = place_compiled_line(self._source, change.file, change.line)
        anew = change.kind == "carried"
        return (anew and overwritten(self._source, [place])) or place

    def _place_of_text(self, edited: Edited) -> Place:
        begin = self._source.positions.offset(edited.whole[0], 0)
        return self._source.place((begin + edited.start, begin + edited.end))

    def _try(self, changes: Sequence[Change], few: Few) -> list[Change]:
        """Return which of them make all right; where the guest ends, each half has another."""
        begun = time.monotonic()
        request = Request(self._codes, tuple(changes), blocks=few.blocks)
        changed = self._trial.run(request, self._left)
        wall = time.monotonic() - begun
        self._left -= min(wall, max(changed.seconds, wall / MOST_SHARED))
        if changed.outputs:
            kept = self._kept(changed.outputs, few)[1:]
            return [one for one, right in zip(changes, kept, strict=False) if right]
        half = len(changes) // 2
        if half < SMALLEST or self._left <= 0:
            return []
        return [*self._try(changes[:half], few), *self._try(changes[half:], few)]

    def _kept(self, outputs: Sequence[Array], few: Few) -> list[bool]:
        if few.blocks:
            return self._trial.may_be_right(outputs, few)
        return [share == 1.0 for share in self._trial.right(outputs)]


def _evidence(found: Found, source: Source, workloads: Sequence[Workload]) -> Evidence:
    change, place = found.change, found.place
    where = f"line {place.line}" if place else "a line"
    return Evidence(
        kind="provenance",
        code=CODES[change.kind],
        text=f"with {'one step more' if change.kind == 'around' else f'another {change.kind}'} in {where} all results are right",
        place=place,
        workload=workloads[0].name,
        details=Counterfactual(
            change=change.kind,
            before=found.given.step.text if found.given else _words(change.before, change, source),
            after=_words(change.after, change, source),
            also=_lines_of_the_text(change, source),
            parameter=found.given.step.name if found.given else "",
            exchanged_with=_exchanged_with(found, source),
            exchanged_dims=change.exchanged_dims,
            nameless=change.nameless,
            right_before=found.before,
            alternatives=found.alternatives,
            workloads=len(workloads),
        ),
    )


def _exchanged_with(found: Found, source: Source) -> tuple[int, int]:
    """Return where the argument is passed that the one to blame is exchanged with; nowhere where it is none."""
    other = found.given.other.place if found.given and found.given.other else None
    offset = source.positions.offset
    return (offset(other.line, other.column), offset(other.end_line, other.end_column)) if other else (0, 0)  # fmt: skip


def _words(words: str, change: Change, source: Source) -> str:
    """Return what a change takes away or puts in: host code as it is, and other things by what the text calls them."""
    if change.text:
        return words
    return (_named if change.given else _in_lines_of_the_text)(words, change, source)


def _named(words: str, change: Change, source: Source) -> str:
    """Return what a launch should get, with the names of its kernel's parameters."""

    def name(found: re.Match[str]) -> str:
        known = given_name(source, change.file, int(found[1]))
        return f"`{known}`" if known else found[0]

    return re.sub(r"argument (\d+)(?! of)", name, words)


def _lines_of_the_text(change: Change, source: Source) -> tuple[int, ...]:
    places = (place_compiled_line(source, change.file, line) for line in change.also)
    return tuple(place.line for place in places if place)


def _in_lines_of_the_text(words: str, change: Change, source: Source) -> str:
    """Return what a change puts in, with the compiled line that gives a value as one of the text; 0 where it is none."""

    def placed(found: re.Match[str]) -> str:
        place = place_compiled_line(source, change.file, int(found[1]))
        return f"line {place.line if place else 0}"

    return re.sub(r"\bline (\d+)", placed, words)

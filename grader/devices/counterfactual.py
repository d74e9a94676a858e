"""Counterfactual runs: a wrong program runs again under small changes of its kernels' code and its launches' arguments.

A change that makes it right shows the cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from grader.devices.base import Device
from grader.devices.capabilities import Changer
from grader.devices.change_search import Found, Search
from grader.devices.leads import Leads
from grader.devices.preference import Doubt
from grader.devices.trial import Trial, launched_codes
from grader.errors import GraderError
from grader.judge import References
from grader.judge.tolerance import element_count
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
from grader.records.changes import (
    Changed,
    KernelValue,
    Kind,
    OneMoreStep,
    OtherArgument,
    OtherHostCode,
    OtherOperand,
    PassedArgument,
    map_values,
    without_counts,
)
from grader.simulator.changes import Change, Request
from grader.simulator.changes.numbered import numbers_of, with_number, without_number
from grader.simulator.ptx.code import Code
from grader.source import Source, parse
from grader.source.analysis.passed import Blame, given_name

MOST = 2**18
"""Most input elements of a workload for counterfactual runs."""
ENOUGH = 64
"""Least number of elements for a workload to be more than a corner case."""
PROVEN = 300
"""Number of changes tried on a corner case."""
LATE = 1
"""Batches of changes tried after a kernel's change with doubts."""
VALUES = ("values", "unwritten", "nonfinite")
"""Codes of mismatches in results of the right form."""
RESHAPES = re.compile(r"\b(?:reshape|view|permute|transpose|mT|t)\b")
"""Methods by which host code makes another tensor in the same memory."""
CODES: Mapping[Kind, str] = {
    "comparison": "counterfactual-comparison",
    "constant": "counterfactual-constant",
    "operator": "counterfactual-operator",
    "carried": "counterfactual-operator",
    "operand": "counterfactual-operand",
    "divisor": "counterfactual-operand",
    "guard": "counterfactual-guard",
    "condition": "counterfactual-guard",
    "around": "counterfactual-around",
    "order": "counterfactual-order",
    "argument": "counterfactual-argument",
    "host": "counterfactual-host",
}

WORDS = {
    "around": "one step more",
    "order": "another order of steps",
    "divisor": "another operand",
    "host": "other host code",
}


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
    """Return the small change of the code that makes the results right, on several workloads.

    Empty where none was found in time, or where the device can't do it. Leads to the cause (`known`) decide the order
    of changes.
    """
    if not isinstance(device, Changer):
        return ()
    workloads = _telling_workloads(task, comparisons)
    source = parse(submission.code)
    try:
        literal = device.literal(submission, build, workloads[0]) if workloads else build
        trials = [Trial(device, submission, literal, task, references, w) for w in workloads]
        found = _best_proven_change(trials, source, known, seconds) if trials else None
    except GraderError:  # then the explanation is missing, but the verdict is valid
        return ()
    return () if found is None else (_evidence(found, source, workloads),)


def wrong_values(comparisons: Sequence[Comparison]) -> frozenset[str]:
    """Return the workloads whose results have the right form and wrong values."""
    wrong = (c for c in comparisons if c.mismatch and c.mismatch.kind in VALUES)
    return frozenset(c.workload for c in wrong)


def _telling_workloads(task: Task, comparisons: Sequence[Comparison]) -> list[Workload]:
    """Return the workloads with wrong values: first the one to search on, then others to prove it on: the next one, and the largest."""
    wrong = wrong_values(comparisons)
    found = [w for w in task.judged if w.name in wrong and element_count(w) <= MOST]
    found.sort(key=lambda w: (element_count(w) < ENOUGH, element_count(w)))
    others = sorted(found[1:], key=lambda w: (w.init != found[0].init, element_count(w) < ENOUGH))
    alike = [w for w in others if w.init == found[0].init] or others
    return [*found[:1], *alike[:1], *alike[1:][-1:]]


def _best_proven_change(
    trials: Sequence[Trial], source: Source, known: Leads, seconds: float
) -> Found | None:
    """Return the best change that makes all results of all trials right.

    Where the best so far is doubtful, the search continues: a likelier one may be right as well.
    """
    search = Search(trials[0], source, known, seconds)
    others = [replace(one, codes=search.codes) for one in trials[1:]]
    found: list[Change] = []
    late = 0
    for changes in search.batches():
        here = search.right_under(changes)[:PROVEN]
        right = _still_right_on(others, here, seconds / 2)
        search.suspect([one for one in here if not one.on_host])
        found += [one for one in right if not one.given or search.blame(one)]
        doubt = min((search.doubt(one, found) for one in found), default=Doubt.UNSURE)
        late += doubt < Doubt.UNSURE
        if doubt == Doubt.NONE or late > LATE:
            break
    if elsewhere := search.same_steps(found):
        again = search.right_under(elsewhere)[:PROVEN]
        found += _still_right_on(others, again, seconds / 2)
    return search.best(found) if found else None


def _still_right_on(
    trials: Sequence[Trial], changes: Sequence[Change], seconds: float
) -> list[Change]:
    right = list(changes)
    for trial in trials:
        right = _still_right(trial, right, seconds) if right else right
    return right


def _still_right(trial: Trial, changes: Sequence[Change], seconds: float) -> list[Change]:
    """Return the changes that also make the results right on another workload, with its own kernel code."""
    if all(one.text or (trial.codes and not one.given) for one in changes):
        return _right_under(trial, trial.codes, changes, seconds)
    wanted = {one.key if one.given else _place_and_kind(one) for one in changes}
    every = (one for one in trial.own_changes if not one.text)
    same = [c for c in every if (c.key if c.given else _place_and_kind(c)) in wanted][:PROVEN]
    same += list(_with_numbers(changes, trial.own_changes))
    same += [one for one in changes if one.text]
    right = _right_under(trial, launched_codes(trial.unchanged), same, seconds)
    exactly, nearly = {one.key for one in right}, {_place_and_kind(one) for one in right}
    alike = [one for one in changes if one.key in exactly]
    # In other code a value has another name, so lines are compared instead.
    return alike or [one for one in changes if not one.on_host and _place_and_kind(one) in nearly]


def _right_under(
    trial: Trial, codes: tuple[Code | None, ...], changes: Sequence[Change], seconds: float
) -> list[Change]:
    """Return the changes of these programs under which a workload's results are right, and nothing else is wrong."""
    changed = trial.run(Request(codes, tuple(changes), clean=True), seconds)
    shares = trial.right_shares(changed.outputs)[1:]
    return [one for one, share in zip(changes, shares, strict=False) if share == 1.0]


def _with_numbers(changes: Sequence[Change], own: Sequence[Change]) -> Iterator[Change]:
    """Yield the changes whose number was solved for, as changes of another workload's own code."""
    solved = [(one, numbers) for one in changes if (numbers := numbers_of(one))]
    known = {without_number(one): one for one in own if numbers_of(one)} if solved else {}
    for one, (_, number) in solved:
        like = known.get(without_number(one))
        if like is not None:
            yield with_number(like, number)


def _place_and_kind(change: Change) -> tuple[object, ...]:
    changed = without_counts(change.changed)
    both = isinstance(changed, OtherOperand | OneMoreStep) and changed.both
    return change.line, change.kind, changed.after, change.also, both


def _evidence(found: Found, source: Source, workloads: Sequence[Workload]) -> Evidence:
    change, place = found.change, found.place
    where = f"line {place.line}" if place else "a line"
    return Evidence(
        kind="provenance",
        code=CODES[change.kind],
        text=f"with {WORDS.get(change.kind, f'another {change.kind}')} in {where} all results are right",
        place=place,
        workload=workloads[0].name,
        details=Counterfactual(
            change=_changed_in_text(found, source),
            also=_lines_of_the_text(change, source),
            taken_at=_taken_at(found, source),
            copies=len(change.edits),
            right_before=found.before,
            alternatives=found.alternatives,
            workloads=len(workloads),
        ),
    )


def _changed_in_text(found: Found, source: Source) -> Changed:
    """Return what a change changes, with lines, expressions and places of the submission's code."""
    change = found.change
    match change.changed:
        case OtherHostCode() as host if change.text:
            begin = source.positions.offset(change.text.whole[0], 0)
            edits = ((begin + a, begin + b, text) for a, b, text in change.text.edits)
            return replace(host, edits=tuple(edits))
        case OtherArgument(after=passed) as argument:
            if isinstance(passed, PassedArgument) and passed.launch is None:
                text = given_name(source, change.file, passed.number)
                argument = replace(argument, after=replace(passed, text=text))
            return _as_given(argument, found.given, source) if found.given else argument
    return map_values(change.changed, lambda one: _in_text(one, change.file, source))


def _as_given(argument: OtherArgument, blame: Blame, source: Source) -> OtherArgument:
    """Return an argument with the place of the host code that gives it, and where the other one of two is given."""
    other, offset = blame.other.place if blame.other else None, source.positions.offset
    where = (offset(other.line, other.column), offset(other.end_line, other.end_column)) if other else (0, 0)  # fmt: skip
    step = blame.step
    return replace(argument, given=step.text, receiver=step.name, exchanged_with=where)


def _in_text(value: KernelValue, file: str, source: Source) -> KernelValue:
    """Return a value with the compiled line that gives it as one of the text; 0 where it is none."""
    place = place_compiled_line(source, file, value.number) if value.origin == "line" else None
    return replace(value, number=place.line if place else 0) if value.origin == "line" else value


def _taken_at(found: Found, source: Source) -> int:
    """Return the line to blame instead of a launch; 0 where the launch is to blame.

    The kernel's that takes a tensor of which two dims should be exchanged, unless the host lays it out itself; and where two
    arguments should be exchanged that are passed by their parameters' names, the first that uses one of them.
    """
    given = found.given
    if given and given.other and not given.sure:
        return _use_of_one({given.step.name, given.other.name}, given.step.place.line, source)
    step = given.step if given and found.as_it_is else None
    if step is None or RESHAPES.search(source.lines[step.place.line - 1]):
        return 0
    taken = re.compile(rf"\b{re.escape(step.name)}\b\s*[+\[]")
    return next((n for n, text in enumerate(source.lines, 1) if taken.search(text)), 0)


def _use_of_one(names: set[str], launched: int, source: Source) -> int:
    """Return the first line before a launch, after the definitions of two names, that uses only one of them."""
    used = [names & set(re.findall(r"\w+", line)) for line in source.lines[: launched - 1]]
    declared = next((n for n, one in enumerate(used) if one == names), len(used))
    return next((n for n, one in enumerate(used, 1) if n > declared + 1 and len(one) == 1), 0)


def _lines_of_the_text(change: Change, source: Source) -> tuple[int, ...]:
    if change.text:
        return change.also
    places = (place_compiled_line(source, change.file, line) for line in change.also)
    return tuple(place.line for place in places if place)

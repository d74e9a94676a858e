"""What a program does beside the values of one call: to its inputs, its results, its later calls.

Told as evidence of kind `probe`. `UNSTEADY` is seen by the host in the values that came back, or
told by the guest against itself; either makes a program incorrect. `LIBERTIES` are what a caller
will trip over, though each result was right; they stand in the verdict and make it not general. An argument
that is changed makes a program unsound (`grader.judge.soundness`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from grader.judge.expected import References
from grader.records import Evidence

UNSTEADY = {
    "order-matters": "its results depend on the calls before: ",
    "result-changed": "",
    "full-size": "",
    "host-computes": "",
}
LIBERTIES = ("input-returned",)
CHANGED = "input-changed"
COMPARED = "compared-at-full-size"
"""Some blocks ran at the task's own size, and what they stored was right."""
FIRST_ROWS = "first-rows-at-full-size"
"""The whole program ran on the first rows of the task's own size, and its result was right."""
SATURATED = "saturated-at-full-size"
"""At the task's own size its result is a constant, which hides what is wrong at smaller ones."""
KEPT = "result-kept"
"""Called again with values that it had before, it computes nothing."""
IDLE = "kernels-idle"
"""The results are the same when no kernel runs."""


class Returned(Protocol):
    """What came back from one call of forward."""

    @property
    def name(self) -> str:
        """Return the workload's name."""

    @property
    def status(self) -> str:
        """Return `ran` where there are outputs."""

    @property
    def mutated_inputs(self) -> tuple[int, ...]:
        """Return the positions of arguments that were changed."""

    @property
    def changed_later(self) -> bool:
        """Return whether the result held something else in the end."""

    @property
    def returned_inputs(self) -> frozenset[int]:
        """Return the positions of arguments whose memory was handed back."""


def side_effects(references: References, results: Sequence[Returned]) -> tuple[Evidence, ...]:
    """Return what was seen of these runs that their values don't show, once for each kind.

    What the reference does itself is no news: an in-place operator, a view as a result.
    """
    seen: dict[str, Evidence] = {}
    for result in results:
        expected = references.expected.get(result.name)
        if result.status != "ran" or expected is None or expected.failure:
            continue
        for code, text in _of_one(result, expected.changes, expected.returns):
            seen.setdefault(code, probe(code, text, result.name))
    return tuple(seen.values())


def _of_one(
    result: Returned, changes: frozenset[int], returns: frozenset[int]
) -> Iterator[tuple[str, str]]:
    if changed := set(result.mutated_inputs) - changes:
        yield (
            CHANGED,
            f"forward changes {_arguments(changed)} in place, which the reference leaves alone",
        )
    if handed := result.returned_inputs - returns:
        yield (
            "input-returned",
            f"the result shares the memory of {_arguments(handed)}, and the reference's is its own",
        )
    if result.changed_later:
        text = f"a later call overwrites the result that forward gave on {result.name}"
        yield "result-changed", text


def _arguments(positions: set[int] | frozenset[int]) -> str:
    names = [str(position + 1) for position in sorted(positions)]
    return f"argument{'s' if len(names) > 1 else ''} {', '.join(names)}"


def probe(code: str, text: str, workload: str) -> Evidence:
    """Return one thing that was seen."""
    return Evidence(kind="probe", code=code, text=text, workload=workload)


def unsteady(probes: Sequence[Evidence], *, roles: Mapping[str, str], general: bool) -> str:
    """Return, in words, why results can't be relied on from call to call; "" where they can.

    `general` asks for what was seen at sizes that only decide `general`.
    """
    for item in probes:
        if item.code in UNSTEADY:
            role = roles.get(item.workload or "")
            if (role == "general") is general:
                return f"{UNSTEADY[item.code]}{item.text}"
    return ""


def liberties(probes: Sequence[Evidence]) -> tuple[str, ...]:
    """Return, in words, what a caller will trip over."""
    return tuple(item.text for item in probes if item.code in LIBERTIES)


def say_saturated(probes: Sequence[Evidence]) -> str:
    """Return the sentence that says that the task's own size shows nothing; "" where it may."""
    return next((item.text for item in probes if item.code == SATURATED), "")


def handed_out_again(probes: Sequence[Evidence]) -> str:
    """Return the sentence that says that results of earlier calls are handed out; "" where none is."""
    return next((item.text for item in probes if item.code == KEPT), "")


def idle(probes: Sequence[Evidence]) -> str:
    """Return the sentence that says that no kernel matters to the result; "" where they do."""
    return next((item.text for item in probes if item.code == IDLE), "")

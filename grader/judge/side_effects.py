"""Side effects of a program: on its inputs, its earlier results, its later calls.

They are evidence of kind `probe`. `UNSTEADY` ones are seen by the host in returned values, or reported by the guest
against itself; they make a program incorrect. `LIBERTIES` may surprise a caller, though each result was right; they are
part of the verdict and make it not general. An argument that is changed makes a program unsound
(`grader.judge.soundness`).
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
WRONG_AT_FULL_SIZE = "full-size"
COMPARED = "compared-at-full-size"
"""Some blocks ran at the task's own size, and their stores were right."""
FIRST_ROWS = "first-rows-at-full-size"
"""The whole program ran on the first rows of the task's own size, and its result was right."""
SATURATED = "saturated-at-full-size"
"""At the task's own size its result is a constant, which hides errors that smaller sizes show."""
KEPT = "result-kept"
"""Called again with earlier values, it computes nothing."""
IDLE = "kernels-idle"
"""The results are the same when no kernel runs."""


class Returned(Protocol):
    """The result of one call of forward."""

    @property
    def name(self) -> str:
        """Return the workload's name."""

    @property
    def status(self) -> str:
        """Return `ran` where there are outputs."""

    @property
    def mutated_inputs(self) -> tuple[int, ...]:
        """Return the positions of arguments changed in place."""

    @property
    def changed_later(self) -> bool:
        """Return whether a later call changed the result."""

    @property
    def returned_inputs(self) -> frozenset[int]:
        """Return the positions of arguments that share memory with the result."""


def side_effects(references: References, results: Sequence[Returned]) -> tuple[Evidence, ...]:
    """Return the side effects of these runs, once for each kind.

    Side effects of the reference itself are ignored: an in-place operator, a view as a result.
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
    """Return one observation as evidence."""
    return Evidence(kind="probe", code=code, text=text, workload=workload)


def unsteady(probes: Sequence[Evidence], *, roles: Mapping[str, str], general: bool) -> str:
    """Return, in words, why results change from call to call; "" where they don't.

    `general` selects observations at sizes that only decide `general`.
    """
    for item in probes:
        if item.code in UNSTEADY:
            role = roles.get(item.workload or "")
            if (role == "general") is general:
                return f"{UNSTEADY[item.code]}{item.text}"
    return ""


def liberties(probes: Sequence[Evidence]) -> tuple[str, ...]:
    """Return, in words, the side effects that may surprise a caller."""
    return tuple(item.text for item in probes if item.code in LIBERTIES)


def say_saturated(probes: Sequence[Evidence]) -> str:
    """Return the sentence for a task whose own size shows no errors; "" for others."""
    return next((item.text for item in probes if item.code == SATURATED), "")


def handed_out_again(probes: Sequence[Evidence]) -> str:
    """Return the sentence for a program that returns results of earlier calls; "" for others."""
    return next((item.text for item in probes if item.code == KEPT), "")


def idle(probes: Sequence[Evidence]) -> str:
    """Return the sentence for a program whose result doesn't depend on its kernels; "" for others."""
    return next((item.text for item in probes if item.code == IDLE), "")

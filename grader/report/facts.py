"""A review's known facts in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from grader.records import Review, Verdict
from grader.report.status import say_rightness

DEVICES = {"sim": "simulator", "cuda": "GPU", "none": "none"}


class Fact(NamedTuple):
    """A name and its value; the value may hold words of a sample."""

    name: str
    value: str


def facts(review: Review) -> list[Fact]:
    """Return the facts that are known."""
    return [fact for fact in _every(review) if fact.value]


def _every(review: Review) -> Iterator[Fact]:
    verdict, levels = review.verdict, Counter(one.severity for one in review.findings)
    kinds = {repair.kind for repair in review.repairs}
    fixed = next((one.outcome for one in review.repairs if one.kind != "reference"), "")
    device = review.evaluation.device
    yield Fact("task", review.task.name or "unknown")
    yield Fact("device", DEVICES.get(device, device) if device != "none" else "")
    yield Fact("builds", _word(verdict.compiled))
    yield Fact("right", say_rightness(verdict).replace("-", ""))
    yield Fact("in general", _in_general(verdict))
    yield Fact("honest", _word(verdict.honest))
    yield Fact("speed-up", f"{verdict.speedup:.2f}x" if verdict.speedup is not None else "")
    yield Fact("exact arithmetic", _algebraic(review))
    yield Fact("errors", str(levels["error"] or ""))
    yield Fact("warnings", str(levels["warning"] or ""))
    yield Fact("fix", fixed)
    yield Fact("reference kernel", "passes" if "reference" in kinds else "")


def _in_general(verdict: Verdict) -> str:
    but = f", not with {verdict.fails_with}" if verdict.fails_with else ""
    return _word(verdict.general) + but


def _algebraic(review: Review) -> str:
    exact = review.evaluation.exact
    return exact.algebraic if exact else ""


def _word(value: bool | None) -> str:
    return {True: "yes", False: "no", None: ""}[value]

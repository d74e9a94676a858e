"""A program and its task's reference in exact arithmetic: equal but for rounding, or not shown to be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from grader.judge import References, groups, told_places
from grader.languages import compiles_when_launched
from grader.records import Build, Exact, JsonValue, Submission, Task, Workload, digest
from grader.sandbox import GuestJob, GuestResult, GuestWorkload
from grader.simulator import fields
from grader.source import parse

if TYPE_CHECKING:
    from grader.devices.sim.device import Simulator

_EXPANDED = re.compile(
    r"\b(?:tanh|sinh|cosh|log|log2|log10|log1p|exp10|expm1|erf|erfc|normcdf|pow|sin|cos)f?\s*\("
)
"""Calls that CUDA's compiler expands into steps which no longer show the function."""
SETTINGS = {"exact": 1, "check_races": 0, "count_lines": 0}
MOST = 12
"""Most inputs and weights that are left out of the reference, one at a time."""
EPSILON = "epsilon"
KEPT = 64
"""Most references whose results are kept for further answers."""


@dataclass(frozen=True)
class Without:
    """The reference with one operand replaced by a neutral number."""

    name: str
    numbers: Mapping[str, JsonValue]
    """The guest's name of the operand."""


@dataclass(frozen=True)
class _Asked:
    """A program, and the workload on which it is compared with its reference."""

    device: Simulator
    submission: Submission
    build: Build
    task: Task
    references: References
    workload: Workload

    def job(self, build: Build) -> GuestJob:
        """Return the job of the program's guest, with one of its builds."""
        group = next(g for g in groups(self.task.judged) if self.workload in g.workloads)
        return self.device.job(self.submission, build, group, (self.workload,), self.references)

    def reference_job(self) -> GuestJob:
        """Return the job of the reference's guest: the task's own `Model`, as if it were an answer."""
        job = self.job(self.build)
        return replace(job, code=self.task.reference, entry="Model", artifact=None)

    def named_job(self) -> GuestJob | None:
        """Return the program's job with named math functions; None where it calls none or doesn't compile."""
        if not _EXPANDED.search(self.submission.code):
            return None
        triton = compiles_when_launched(parse(self.submission.code))
        named = (
            self.build if triton else self.device.exact_build(self.submission, self.workload.init)
        )
        if named.status != "built":
            return None
        job = self.job(named)
        return replace(job, options={**job.options, "exact_functions": triton})

    def run_program(self, literals: tuple[float, ...] = ()) -> GuestResult:
        """Return the program's results, whose constants may be computed from these of the reference."""
        for job in (self.named_job(), self.job(self.build)):
            if job is None:
                continue
            options = {**job.options, "exact_literals": list(literals)}
            result = _results(self.device, replace(job, options=options))[0]
            if result.status == "ran":
                break
        return result

    def run_reference(self) -> GuestResult:
        """Return the reference's results, computed once for all answers to a task."""
        kept, job = self.device.exact_references, self.reference_job()
        seeds = str(job.seed), str(self.references.seed)
        key = digest("exact", self.task.key, self.workload.name, *seeds)
        if len(kept) > KEPT:
            kept.clear()
        kept[key] = result = kept.get(key) or _results(self.device, job)[0]
        return result


def exactly(
    device: Simulator,
    submission: Submission,
    build: Build,
    task: Task,
    references: References,
    workload: Workload,
) -> Exact:
    """Compare a program with its reference on a workload in exact arithmetic.

    Raises:
        GraderError: the device can't be used any more.

    """
    asked = _Asked(device, submission, build, task, references, workload)
    with ThreadPoolExecutor(1) as beside:
        coming = beside.submit(asked.run_reference)
        found = asked.run_program()
        expected = coming.result()
    if reason := _why_not_applicable(expected):
        return Exact(algebraic="not applicable", workload=workload.name, reason=reason)
    said = _compare_residues(found, expected)
    if said.unequal and len(literals := _literals(expected)) > 1:
        found = asked.run_program(literals)
        said = _compare_residues(found, expected)
    if said.algebraic != "not shown" or not said.unequal or said.reason:
        return said  # an operation that could not be followed is reason enough
    without = _without(device, asked.reference_job(), references, found)
    return said.model_copy(update={"without": without})


def _why_not_applicable(expected: GuestResult) -> str:
    unfollowed = ", ".join(_operators(expected)) or expected.reason
    if unfollowed or expected.status != "ran":
        return f"of the reference: {unfollowed or expected.status}"
    if not any(mask.array.any() for mask in expected.outputs[1::2]):
        return "the reference's results are constants on this path"
    return ""


def _without(device: Simulator, asked: GuestJob, references: References, found: GuestResult) -> str:
    """Return the operand without which the reference equals a program; empty where there is no single one."""
    workload = asked.workloads[0]
    ways = list(_ways(workload, references))
    job = replace(
        asked,
        workloads=tuple(replace(workload, name=str(at)) for at in range(len(ways))),
        options={
            **asked.options,
            "exact_numbers": {str(at): dict(w.numbers) for at, w in enumerate(ways)},
        },
    )
    for way, result in zip(ways, _results(device, job), strict=False):
        varied = any(np.unique(one.array).size > 1 for one in result.outputs[::2])
        if varied and _compare_residues(found, result).algebraic == "equal":
            return way.name
    return ""


def _ways(workload: GuestWorkload, references: References) -> Iterator[Without]:
    """Yield the reference without an epsilon, and without each weight and input: as 0, which adds nothing, and as 1."""
    yield Without("its epsilon", {EPSILON: 0.0})
    weights = list(references.states.get(workload.name, ()))
    inputs = [
        f"input {at + 1}" for at, one in enumerate(workload.args) if isinstance(one, np.ndarray)
    ]
    for name in (*weights, *inputs)[:MOST]:
        for number in (0.0, 1.0):
            yield Without(f"`{name}`" if name in weights else name, {name: number})


def _results(device: Simulator, job: GuestJob) -> list[GuestResult]:
    """Return the results of a job's workloads in exact arithmetic, in their order."""
    simulator = fields.as_mapping(job.options["simulator"])
    key = int(digest("exact", str(job.seed))[:15], 16)
    options: dict[str, JsonValue] = {
        **job.options,
        "simulator": {**simulator, **SETTINGS},
        "exact": key,
    }
    reply = device.observe(replace(job, options=options), device.limits(device.options.run_seconds))
    return list(reply.results) or [GuestResult(job.workloads[0].name, "not_run", reply.reason)]


def _what_was_not_followed(result: GuestResult) -> dict[str, JsonValue]:
    seen = fields.as_mapping(result.report).get("simulator")
    return fields.as_mapping(fields.as_mapping(seen).get("exact"))


def _operators(result: GuestResult) -> list[str]:
    given = _what_was_not_followed(result).get("operators")
    return [str(one)[:80] for one in given[:20]] if isinstance(given, list) else []


def _literals(result: GuestResult) -> tuple[float, ...]:
    """Return the non-integer numbers in the reference's formulas."""
    given = _what_was_not_followed(result).get("literals")
    numbers = [one for one in given if isinstance(one, float)] if isinstance(given, list) else []
    return tuple(one for one in numbers if not one.is_integer())


def _compare_residues(found: GuestResult, expected: GuestResult) -> Exact:
    """Compare the residues of results, each with a mask of the elements that are not constants."""
    result = Exact(algebraic="not shown", workload=expected.name)
    if found.status != "ran" or len(found.outputs) != len(expected.outputs):
        reason = found.reason or "another number of results"
        return result.model_copy(update={"reason": reason})
    pairs = list(zip(found.outputs[::2], expected.outputs[::2], strict=True))
    if any(one.array.shape != other.array.shape for one, other in pairs):
        return result.model_copy(update={"reason": "results of another shape"})
    counted = {
        "elements": sum(other.array.size for _, other in pairs),
        "unequal": sum(int(np.sum(one.array != other.array)) for one, other in pairs),
        "constants": sum(int(np.sum(mask.array == 0)) for mask in expected.outputs[1::2]),
    }
    if counted["unequal"]:
        unfollowed = [
            *_operators(found),
            fields.text(_what_was_not_followed(found).get("instructions"), 300),
        ]
        apart = next(mask for one, other in pairs if (mask := one.array != other.array).any())
        changed = {"reason": ", ".join(filter(None, unfollowed)), "where": told_places(apart)}
    else:
        changed = {"algebraic": "equal"}
    return result.model_copy(update={**counted, **changed})

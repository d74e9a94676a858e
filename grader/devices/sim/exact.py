"""A program and its task's reference in exact arithmetic: equal but for rounding, or not shown to be."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from grader.judge import References, groups
from grader.records import Build, Exact, JsonValue, Submission, Task, Workload, digest
from grader.sandbox import GuestJob, GuestResult
from grader.simulator import fields

if TYPE_CHECKING:
    from grader.devices.sim.device import Simulator

_EXPANDED = re.compile(
    r"\b(?:tanh|sinh|cosh|log|log2|log10|log1p|exp10|expm1|erf|erfc|normcdf|pow|sin|cos|exp)f?\s*\("
)
"""Calls that CUDA's compiler turns into steps of which nobody can tell the function any more."""
SETTINGS = {"exact": 1, "check_races": 0, "count_lines": 0}


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
    group = next(g for g in groups(task.judged) if workload in g.workloads)
    job = device.job(submission, build, group, (workload,), references)
    expected = _result(device, replace(job, code=task.reference, entry="Model", artifact=None))
    unfollowed = ", ".join(_operators(expected)) or expected.reason
    if expected.status != "ran" or unfollowed:
        reason = f"of the reference: {unfollowed or expected.status}"
        return Exact(algebraic="not applicable", workload=workload.name, reason=reason)
    first = _compared(_result(device, job), expected)
    if first.algebraic == "equal" or not _EXPANDED.search(submission.code):
        return first
    named = device.exact_build(submission, workload.init)
    if named.status != "built":
        return first
    job = device.job(submission, named, group, (workload,), references)
    second = _compared(_result(device, job), expected)
    return second if second.elements else first


def _result(device: Simulator, job: GuestJob) -> GuestResult:
    simulator = fields.mapping(job.options["simulator"])
    key = int(digest("exact", str(job.seed))[:15], 16)
    options: dict[str, JsonValue] = {
        **job.options,
        "simulator": {**simulator, **SETTINGS},
        "exact": key,
    }
    reply = device.observe(replace(job, options=options), device.limits(device.options.run_seconds))
    if not reply.results:
        return GuestResult(job.workloads[0].name, "not_run", reply.reason)
    return reply.results[0]


def _told(result: GuestResult) -> dict[str, JsonValue]:
    seen = fields.mapping(result.report).get("simulator")
    return fields.mapping(fields.mapping(seen).get("exact"))


def _operators(result: GuestResult) -> list[str]:
    given = _told(result).get("operators")
    return [str(one)[:80] for one in given[:20]] if isinstance(given, list) else []


def _compared(found: GuestResult, expected: GuestResult) -> Exact:
    """Compare residues, which stand in the place of results, each with a mask of what are no constants."""
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
    if counted["constants"] == counted["elements"]:
        reason = "the reference's results are constants on this path"
        changed = {"algebraic": "not applicable", "reason": reason}
    elif counted["unequal"]:
        unfollowed = [*_operators(found), fields.text(_told(found).get("instructions"), 300)]
        changed = {"reason": ", ".join(filter(None, unfollowed))}
    else:
        changed = {"algebraic": "equal"}
    return result.model_copy(update={**counted, **changed})

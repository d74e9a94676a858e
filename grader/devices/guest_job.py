"""The job of one guest: a submission's program, the inputs of its workloads, and its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from grader.judge import Group, References
from grader.judge.tolerance import element_count
from grader.languages import guest_options
from grader.records import JsonValue, Submission, Workload
from grader.sandbox import GuestJob, GuestWorkload
from grader.source import parse

ENTRY = "ModelNew"


def job_of(
    submission: Submission,
    group: Group,
    workloads: Sequence[Workload],
    references: References,
    *,
    device: str,
    deadline: float | None,
    options: Mapping[str, JsonValue],
) -> GuestJob:
    """Return the job of a guest that runs these workloads of one set of weights, but for its program and environment."""
    return GuestJob(
        role="submission",
        code=submission.code,
        entry=ENTRY,
        device=device,
        workloads=tuple(
            GuestWorkload(
                w.name,
                tuple(references.inputs[w.name]),
                deadline,
                elements=element_count(w),
                spare=device == "sim" and w.role != "nominal",
            )
            for w in workloads
        ),
        init=group.init,
        seed=references.guest_seed,
        state=_weights_to_give(group, references),
        initial=references.initial.get(group.workloads[0].name),
        options={
            **options,
            **guest_options(parse(submission.code)),
            "precision": references.precision,
        },
    )


def _weights_to_give(group: Group, references: References) -> Mapping[str, np.ndarray] | None:
    """Return the weights to load into the submission; None where it draws them itself.

    As in KernelBench, `Model` and `ModelNew` are constructed under the same seed, so a module that draws its weights in
    another way computes another function.
    """
    return references.states.get(group.workloads[0].name) if group.weights == "drawn" else None

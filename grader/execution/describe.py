"""Workloads for a problem file or an embedded reference, from a guest's description of its inputs."""

from __future__ import annotations

import re
from functools import lru_cache

from grader.errors import GraderError
from grader.execution.asked_gradients import ask_gradients
from grader.execution.strong_sizes import Audited, find_strong_sizes
from grader.judge.candidates import Described, describe_candidates
from grader.judge.sizes import HUGE, KEPT, MOST, REGULAR
from grader.records import Task
from grader.sandbox import Form, GuestJob, Limits, converse
from grader.tasks.scale import chains, floor_at

SECONDS = 15.0
"""Processor time that a guest may spend on trying sizes."""
MAX_TEXT = 200_000
PLACES = re.compile(r"\barg(max|min)\b")


def describe(
    task: Task,
    form: Form,
    limits: Limits,
    kept: frozenset[int] = frozenset(),
    share: float = 1.0,
) -> Task:
    """Return the draft with workloads: reduced nominal sizes, odd ones, other values, full size.

    `kept` are sizes of the task's text that are not reduced, `share` is the part of the usual work that its reference
    may take.

    The returned task has no workloads, and a note with the reason, where its own text fails or a CPU can run none of
    its sizes. Raises GraderError for our own failure.
    """
    if task.workloads:
        return task
    found = examine_reference(task.reference, form, limits, kept, share, task.expects)
    made = task.model_copy(
        update={
            "workloads": found.workloads,
            "reduction_length": str(found.length),
            "notes": (*task.notes, found.note) if found.note else task.notes,
            "weak": found.weak,
        }
    )
    return ask_gradients(made, form, limits) if task.backward and made.workloads else made


@lru_cache(maxsize=512)
def examine_reference(
    reference: str,
    form: Form,
    limits: Limits,
    kept: frozenset[int] = frozenset(),
    share: float = 1.0,
    expects: bool = True,
) -> Audited:
    """Return the description that depends on the text alone; the same text is examined only once.

    Where results are not compared, the named sizes are enough. Raises GraderError for our own failure.
    """
    known = _describe_sizes(reference, form, limits, kept, share)
    if isinstance(known, str):
        return Audited((), note=known)
    if not expects:
        made = known.workloads()
        return Audited(made.nominal if made else (), note="" if made else known.missing)
    return find_strong_sizes(known, reference, form, limits)


def _describe_sizes(
    reference: str, form: Form, limits: Limits, kept: frozenset[int], share: float
) -> Described | str:
    """Return the sizes that the reference runs at or, where there are none, the reason.

    Sizes whose weights take a second to draw are run only where the others leave a choice open.
    """
    light = _sizes_up_to(MOST["weights"], reference, form, limits, kept, share)
    if isinstance(light, str) or light.settled:
        return light
    return _sizes_up_to(HUGE["weights"], reference, form, limits, kept, share)


def _sizes_up_to(
    weights: int,
    reference: str,
    form: Form,
    limits: Limits,
    kept: frozenset[int],
    share: float,
) -> Described | str:
    found = chains(reference, kept, floor_at(share)) if len(reference) <= MAX_TEXT else ()
    if not found:
        return "the problem's text can't be parsed"
    options = {
        "full": reference,
        "chains": [[variant.text for variant in chain.variants] for chain in found],
        "kinds": [c.kind if c.kind in REGULAR else f"{c.kind} {i}" for i, c in enumerate(found)],
        "most": {**MOST, "size": KEPT} if kept else dict(MOST),
        "weights": weights,
        "seconds": SECONDS,
    }
    job = GuestJob(
        role="reference",
        code=reference,
        entry="Model",
        device="cpu",
        describe=True,
        options=options,
    )
    reply = converse(job, form, limits)
    if reply.status == "grader_error":
        raise GraderError(f"the problem could not be described: {reply.reason}")
    if reply.status != "done":
        return f"the problem's own text fails: {reply.reason or reply.status}"
    try:
        places = PLACES.search(reference) is not None
        return describe_candidates(found, reply.description, places, share, kept=bool(kept))
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        return "the problem's own text describes its inputs in a way that makes no sense"

"""Workloads for a problem file or an embedded reference, from what a guest says of its inputs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from grader.errors import GraderError
from grader.judge.audit import audit, weaknesses
from grader.judge.facts import Facts, checked, inputs_of, is_whole, reduction_length
from grader.judge.sizes import HUGE, KEPT, MOST, REGULAR, Size, choose
from grader.judge.workloads import Maker
from grader.records import Task, Workload
from grader.sandbox import Form, GuestJob, Limits, converse
from grader.tasks.scale import Chain, chains, floor_at

COSTLY = "its layers fix a large size: one workload stands for it, and races are not looked for"
SECONDS = 15.0
"""Processor time that a guest may spend on trying sizes."""
MAX_TEXT = 200_000
PLACES = re.compile(r"\barg(max|min)\b")
_Answer = tuple[tuple[Workload, ...], int, str, tuple[str, ...]]
"""Workloads, reduction length, a note, and weaknesses."""


def describe(
    task: Task,
    form: Form,
    limits: Limits,
    kept: frozenset[int] = frozenset(),
    share: float = 1.0,
) -> Task:
    """Return the draft with workloads: reduced nominal sizes, odd ones, other values, full size.

    `kept` are sizes of the task's text that are not reduced, `share` is how much of the usual work its
    reference may be.

    The task comes back without workloads, and with a note that says why, where its own text fails
    or where no size can be found that a CPU can run. Raises GraderError for our own failure.
    """
    if task.workloads:
        return task
    workloads, length, note, weak = _asked(task.reference, form, limits, kept, share)
    notes = (*task.notes, note) if note else task.notes
    return task.model_copy(
        update={
            "workloads": workloads,
            "reduction_length": str(length),
            "notes": notes,
            "weak": weak,
        }
    )


@lru_cache(maxsize=512)
def _asked(
    reference: str, form: Form, limits: Limits, kept: frozenset[int], share: float
) -> _Answer:
    """Return all that depends on the text alone; the same text is asked about only once."""
    workloads, length, note = _described(reference, form, limits, kept, share)
    if kept or share < 1:  # which wrong programs the task lets pass is known from its other sizes
        return workloads, length, note, ()
    if not any(workload.role == "general" for workload in workloads):
        # There are none, or they are huge: to ask what wrong programs would get takes minutes.
        return workloads, length, note, ()
    draft = Task(
        name="problem",
        title="",
        source="embedded",
        reference=reference,
        workloads=workloads,
        reduction_length=str(length),
    )
    return workloads, length, note, weaknesses(audit(draft, form, limits))


def _described(
    reference: str, form: Form, limits: Limits, kept: frozenset[int], share: float
) -> tuple[tuple[Workload, ...], int, str]:
    """Return workloads, reduction length and, where there are none, why."""
    found = chains(reference, kept, floor_at(share)) if len(reference) <= MAX_TEXT else ()
    if not found:
        return (), 1, "the problem's text can't be parsed"
    options = {
        "full": reference,
        "chains": [[variant.text for variant in chain.variants] for chain in found],
        "kinds": [c.kind if c.kind in REGULAR else f"{c.kind} {i}" for i, c in enumerate(found)],
        "most": {**MOST, "size": KEPT} if kept else dict(MOST),
        "weights": HUGE["weights"],
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
        return (), 1, f"the problem's own text fails: {reply.reason or reply.status}"
    try:
        places = PLACES.search(reference) is not None
        return workloads_of(found, reply.description, places, share, kept=bool(kept))
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        return (), 1, "the problem's own text describes its inputs in a way that makes no sense"


def workloads_of(
    found: Sequence[Chain],
    description: Facts,
    places: bool = False,
    share: float = 1.0,
    *,
    kept: bool = False,
) -> tuple[tuple[Workload, ...], int, str]:
    """Return workloads, reduction length and a note (why there are none, for instance).

    All from a guest's description; `places` says that the reference finds places of extremes, `kept` that sizes stay because an answer
    writes them.

    Raises TypeError, KeyError, ValueError, AttributeError or OverflowError where that makes no sense.
    """
    sizes = [
        Size(chain.kind, variant.batch, checked(fact), share, kept)
        for chain, facts in zip(found, description["chains"], strict=True)
        for variant, fact in zip(chain.variants, facts, strict=False)
        if fact["ok"]
    ]
    if not sizes:
        first = next((str(f["error"]) for facts in description["chains"] for f in facts), "")
        why = f": {first[:300]}" if first else ""
        return (), 1, f"its reference runs at no size that was tried{why}"
    full = inputs_of(description["full"]) if description["full"]["ok"] else None
    chosen = choose(sizes, full)
    if chosen is None:
        return (), 1, "no size of it is small enough for a CPU (its sizes can't be changed)"
    maker = Maker([item if isinstance(item, dict) else {} for item in description["values"]])
    made = list(maker.all(chosen, full, places and is_whole(chosen.stressed)))
    unique = {workload.name: workload for workload in reversed(made)}
    note = COSTLY if chosen.huge else ""
    return tuple(reversed(unique.values())), max(map(reduction_length, chosen.nominal)), note

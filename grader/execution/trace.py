"""The graph of a reference's operations, from a guest that traces it."""

from __future__ import annotations

from functools import lru_cache

from grader.records import JsonValue
from grader.sandbox import Form, GuestJob, Limits, converse


@lru_cache(maxsize=64)
def trace(reference: str, form: Form, limits: Limits) -> JsonValue:
    """Return the output of `grader.guest.trace` for a reference's text: its nodes, or an error."""
    job = GuestJob(
        role="reference",
        code=reference,
        entry="Model",
        device="cpu",
        describe=True,
        options={"trace": True},
    )
    reply = converse(job, form, limits)
    if reply.status != "done":
        return {"error": reply.reason or reply.status}
    return reply.description

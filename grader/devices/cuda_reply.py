"""What a guest's reply means where a GPU ran it: hung, crowded out, too large for the GPU."""

from __future__ import annotations

from dataclasses import replace

from grader.devices.base import RunResult
from grader.records import JsonValue
from grader.sandbox import GuestReply


def hung(reply: GuestReply) -> GuestReply:
    """Return the reply with what did not end said to hang: the GPU was at it to the last."""
    results = [
        replace(r, status="hung", reason=f"{r.reason}; its kernels still ran on the GPU")
        if r.status == "timeout"
        else r
        for r in reply.results
    ]
    return replace(reply, results=tuple(results))


def crowded_out(reply: GuestReply) -> bool:
    """Whether others on the GPU could have caused it: no memory left for it, or no time."""
    statuses = {result.status for result in reply.results}
    return reply.status == "timeout" or bool(statuses & {"timeout", "out_of_memory"})


def not_its_fault(item: RunResult) -> RunResult:
    """Return the result as one that the GPU's size is to blame for."""
    why = "the GPU has not memory enough even for the reference"
    return replace(item, run=item.run.model_copy(update={"status": "not_run", "reason": why}))


def operators(report: JsonValue) -> dict[str, int]:
    """Return how often each operator of torch ran, as the guest says."""
    seen = report.get("operators") if isinstance(report, dict) else None
    if not isinstance(seen, dict):
        return {}
    counts = [(name, count) for name, count in seen.items() if type(count) is int]
    return {str(name)[:200]: min(count, 1 << 40) for name, count in counts[:500] if count >= 0}

"""Runs on a GPU with guard zones, and the evidence from the zones.

A failed run is repeated without guard zones, and the second run counts, so that no program is charged for our
allocator's limits. Values from a run with guard zones count unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from grader.build.prepare import Prepared
from grader.devices.base import RunResult
from grader.devices.outcome import brief
from grader.records import Evidence, GuardZoneWritten, Task
from grader.sandbox import GuestResult

MOST = 32
_BIG = 1 << 60


def fact(prepared: Prepared) -> str:
    """Return the review's environment entry for guard zones."""
    if prepared.guard_zones is None:
        return f"none: {prepared.unguarded or 'not built'}"
    return "around the allocations of a judged run; none in a timed run"


def run_between_zones(
    task: Task, run: Callable[[Task, bool], Sequence[RunResult]]
) -> list[RunResult]:
    """Return the runs of a task's workloads; `run` takes a task, and whether to use guard zones."""
    found = list(run(task, True))
    failed = [w for w, item in zip(task.judged, found, strict=True) if item.run.status != "ran"]
    if not failed:
        return found
    asked = task.model_copy(update={"workloads": tuple(failed)})
    again = {item.run.workload: item for item in run(asked, False)}
    return [_run_that_counts(item, again.get(item.run.workload)) for item in found]


def _run_that_counts(guarded: RunResult, plain: RunResult | None) -> RunResult:
    """Return the run that counts, with a note where it completed only without guard zones."""
    if plain is None or plain.run.status != "ran":
        return plain or guarded
    why = f"between them it ended as {guarded.run.status}: {guarded.run.reason}"
    return RunResult(plain.run.model_copy(update={"unguarded": brief(why)}), plain.result)


def why_not(result: GuestResult) -> str:
    """Return why the guest used torch's own allocator; empty where it didn't, or no guard zones were requested."""
    said = _report(result).get("why_not")
    return brief(said) if isinstance(said, str) else ""


def strays(result: GuestResult) -> Iterator[Evidence]:
    """Yield evidence of writes beside the tensors of a run, from the guest's unchecked report."""
    found = _report(result).get("strays")
    for item in found[:MOST] if isinstance(found, list) else ():
        if isinstance(item, dict) and (evidence := _evidence(item, result.name)):
            yield evidence


def _report(result: GuestResult) -> Mapping[str, Any]:
    seen = result.report.get("guard_zones") if isinstance(result.report, dict) else None
    return seen if isinstance(seen, dict) else {}


def _evidence(item: Mapping[str, Any], workload: str) -> Evidence | None:
    numbers = {name: item.get(name) for name in ("bytes", "first", "last", "count")}
    if not all(type(value) is int and abs(value) < _BIG for value in numbers.values()):
        return None
    role = str(item.get("role") or "")[:200]
    known = {name: int(value or 0) for name, value in numbers.items()}
    return Evidence(
        kind="sanitizer",
        code="out-of-bounds",
        text=_sentence(role, **known),
        workload=workload,
        details=GuardZoneWritten(
            role=role,
            size=known["bytes"],
            first=known["first"],
            last=known["last"],
            count=known["count"],
        ),
    )


def _sentence(role: str, *, bytes: int, first: int, last: int, count: int) -> str:  # noqa: A002
    what = f"`{role}`" if role else "a tensor of its own"
    behind = first - bytes
    if first < 0 and last >= bytes:
        where = f"from {-first} bytes before the start to {last + 1 - bytes} past the end"
    elif first < 0:
        where = f"{-first} bytes before the start"
    else:
        where = f"{behind} bytes past the end" if behind else "right past the end"
    return f"{count} bytes are overwritten {where} of {what} ({bytes} bytes)."

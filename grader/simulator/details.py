"""Typed details of each kind of finding in the simulator's report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

from grader.records import (
    Details,
    JsonValue,
    LaneMask,
    LaunchRefused,
    Limit,
    MemoryAccess,
    MemoryUse,
    Race,
    UnwrittenRead,
    Waiting,
)
from grader.simulator import fields

Entry = dict[str, JsonValue]
_USES: Mapping[str, MemoryUse] = {"load": "read", "store": "write", "atomic": "atomic"}
_LIMITS: Mapping[str, Limit] = {name: name for name in get_args(Limit)}


def details_of(kind: str, data: Entry) -> Details | None:
    """Return the details of a finding; None for kinds without details."""
    made = _BY_KIND.get(kind)
    return made(data) if made is not None else None


def refusal_of(entry: Entry) -> LaunchRefused:
    """Return the driver's limit that a refused launch exceeded."""
    return LaunchRefused(
        error=fields.text(entry.get("error")),
        limit=_LIMITS.get(fields.text(entry.get("limit")), ""),
        asked=fields.count(entry.get("asked")),
        most=fields.count(entry.get("most")),
        checked=entry.get("seen") is True,
    )


def _access(data: Entry) -> MemoryAccess:
    offset = fields.scalar(data.get("offset"))
    return MemoryAccess(
        access=_USES.get(fields.text(data.get("access")), ""),
        offset=int(offset) if isinstance(offset, (int, float)) else None,
        size=fields.count(data.get("size")),
        width=fields.count(data.get("width")),
        wrapped=data.get("wrapped") is True,
        region=fields.text(data.get("region")),
    )


def _race(data: Entry) -> Race:
    return Race(
        conflict=fields.text(data.get("conflict")),
        within_program=data.get("within_program") is True,
    )


def _read_unwritten(data: Entry) -> UnwrittenRead:
    return UnwrittenRead(use=fields.text(data.get("use")), copied="copy" in data)


def _read_waiting(data: Entry) -> Waiting:
    return Waiting(
        at="warp" if data.get("at") == "warp" else "barrier",
        threads=fields.count(data.get("threads")),
        exited=fields.count(data.get("exited")),
        blocks=fields.count(data.get("blocks")),
    )


def _mask(data: Entry) -> LaneMask:
    return LaneMask(mask=fields.count(data.get("mask")))


_ACCESSES = (
    "out-of-bounds",
    "use-after-free",
    "misaligned",
    "shared-out-of-bounds",
    "local-out-of-bounds",
    "input-written",
    "constant-written",
)
_READS = ("uninit-shared-read", "uninit-global-read", "uninit-local-read", "shuffle-absent-lane")
_BY_KIND: Mapping[str, Callable[[Entry], Details]] = {
    **dict.fromkeys(_ACCESSES, _access),
    **dict.fromkeys(("race", "race-volatile", "global-race", "same-value-race"), _race),
    **dict.fromkeys(_READS, _read_unwritten),
    **dict.fromkeys(
        ("barrier-exited", "barrier-divergence", "deadlock", "grid-deadlock"), _read_waiting
    ),
    **dict.fromkeys(("sync-exited-lanes", "sync-lane-not-in-mask"), _mask),
}

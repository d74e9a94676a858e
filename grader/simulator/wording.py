"""Kinds of the simulator's findings, with their sentences."""

from __future__ import annotations

from collections.abc import Mapping

from grader.records import Actor

KINDS: Mapping[str, str] = {
    "out-of-bounds": "Global memory is accessed outside of every tensor and allocation",
    "use-after-free": "Memory is accessed that was freed",
    "misaligned": "An address is not a multiple of the access's size",
    "shared-out-of-bounds": "Shared memory is accessed outside of what the block has",
    "local-out-of-bounds": "A thread's own array is accessed outside of its bounds",
    "uninit-shared-read": "Shared memory is read that no thread of the block has written",
    "uninit-global-read": "Global memory is read that nobody has written",
    "uninit-local-read": "A thread's own array is read where it was never written",
    "race": "Two threads of a block access the same shared memory without a barrier between",
    "race-volatile": "Two threads access the same shared memory, ordered by nothing but volatile",
    "global-race": "Two threads access the same global memory without anything that orders them",
    "same-value-race": "Threads store one value in the same memory without anything that orders them",
    "input-written": "A kernel writes to an input",
    "constant-written": "A kernel writes to constant memory",
    "barrier-divergence": "Threads of a block wait at different barriers",
    "barrier-exited": "Threads wait at a barrier that others of the block never reach",
    "sync-exited-lanes": "A warp-synchronous operation names lanes that have exited",
    "sync-lane-not-in-mask": "A lane executes a warp-synchronous operation whose mask omits it",
    "shuffle-absent-lane": "A shuffle reads from a lane that does not take part",
    "deadlock": "No thread of the block can go on",
    "grid-deadlock": "Blocks wait for each other, and none can go on",
    "livelock": "The block repeats the same state for ever",
    "assert": "A device-side assertion fails",
    "trap": "A trap instruction is executed",
    "stack-overflow": "Calls nest deeper than a thread's stack",
}
"""Kinds of findings in kernels, each with its sentence."""

OF_THE_HOST = (
    "launch-error",
    "launch-error-unseen",
    "host-memory",
    "null-pointer",
    "unwritten-output",
    "host-access",
)
"""Kinds of findings outside kernels."""


def sentence(kind: str, kernel: str, actor: Actor, text: str) -> str:
    """Return a finding in one sentence: the simulator's own, or the kind's."""
    if text:
        return text if text.endswith(".") else f"{text}."
    where = f" in {kernel}" if kernel else ""
    who = f" (block {actor.block}, thread {actor.thread})" if actor.thread else ""
    return f"{KINDS[kind]}{where}{who}."

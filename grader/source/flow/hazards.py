"""Hazards of shared memory: what a block's threads read and wrote since a barrier, and what conflicts.

The shadow follows the usual race detector's rule: two accesses to a cell by different threads, one
of them a write, conflict unless a barrier lies between them. Inside a warp `__syncwarp` or a shuffle
counts as the barrier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from grader.source.flow.memory import Ints, Shadow
from grader.source.flow.values import Bits, Mask, Value, likeness, some


@dataclass(slots=True)
class Clock:
    """Barrier intervals: of the block, and of each of its warps."""

    epoch: int
    """From 1 on; a cell that was never accessed has 0."""
    warps: Ints
    """Warp-level synchronisations so far, one entry a warp."""


Report = Callable[..., None]


def conflict_free(a_warp: Ints, b_warp: Ints, a_epoch: Ints, now: Ints) -> Mask:
    """Return where two accesses of one block interval are ordered by a warp-level barrier."""
    return np.asarray((a_warp == b_warp) & (a_epoch < now))


def read(
    shadow: Shadow,
    cells: Ints,
    threads: Ints,
    clock: Clock,
    node_id: int,
    report: Report,
    atomic: bool = False,
) -> Bits | None:
    """Note reads of `cells` by `threads`; report what conflicts; return whose data was read."""
    never = shadow.state[cells] == 0
    if some(never):
        report("uninit-shared-read", cells[never], threads[never], -1, False)
    warps = threads >> 5
    now = clock.warps[warps]
    fresh = (shadow.write_epoch[cells] == clock.epoch) & (shadow.writer[cells] != threads)
    if atomic:
        fresh &= ~shadow.atomic[cells]
    if some(fresh):
        writer_warp = shadow.writer[cells] >> 5
        fresh &= ~conflict_free(warps, writer_warp, shadow.write_warp_epoch[cells], now)
        if some(fresh):
            other = int(shadow.write_node[cells[fresh][0]])
            same = bool((writer_warp[fresh] == warps[fresh]).all())
            report("race-raw", cells[fresh], threads[fresh], other, same)
    if not atomic:
        _note_read(shadow, cells, threads, clock, node_id, warps, now)
    return None if shadow.parts is None else shadow.parts[cells]


def _note_read(
    shadow: Shadow, cells: Ints, threads: Ints, clock: Clock, node_id: int, warps: Ints, now: Ints
) -> None:
    again = shadow.read_epoch[cells] == clock.epoch
    other = again & (shadow.reader[cells] != threads)
    other_warp = again & ((shadow.reader[cells] >> 5) != warps)
    fresh = cells[~again]
    shadow.many_readers[fresh] = False
    shadow.many_warps[fresh] = False
    shadow.many_readers[cells[other]] = True
    shadow.many_warps[cells[other_warp]] = True
    shadow.reader[cells] = threads
    shadow.many_readers[cells[shadow.reader[cells] != threads]] = True
    shadow.many_warps[cells[(shadow.reader[cells] >> 5) != warps]] = True
    shadow.read_epoch[cells] = clock.epoch
    shadow.read_warp_epoch[cells] = now
    shadow.read_node[cells] = node_id


def write(
    shadow: Shadow,
    cells: Ints,
    threads: Ints,
    clock: Clock,
    node_id: int,
    report: Report,
    value: Value,
    parts: Bits | None,
    atomic: bool = False,
) -> None:
    """Note writes to `cells` by `threads`; report what conflicts with earlier accesses."""
    warps = threads >> 5
    now = clock.warps[warps]
    differs = not value.uniform
    _check_write_after_write(
        shadow, cells, threads, clock, node_id, report, atomic=atomic, differs=differs
    )
    _check_read_before_write(shadow, cells, threads, clock, report, warps, now)
    shadow.writer[cells] = threads
    if differs and not atomic:
        _check_lost(shadow, cells, threads, node_id, report, value)
    shadow.write_epoch[cells] = clock.epoch
    shadow.write_warp_epoch[cells] = now
    shadow.write_node[cells] = node_id
    shadow.atomic[cells] = atomic
    new = shadow.state[cells] < 2
    if some(new):
        shadow.initialised += int(new.sum())
    shadow.state[cells] = 2
    shadow.varies[cells] = differs
    _store_parts(shadow, cells, parts, atomic)


def _check_write_after_write(
    shadow: Shadow,
    cells: Ints,
    threads: Ints,
    clock: Clock,
    node_id: int,
    report: Report,
    *,
    atomic: bool,
    differs: bool,
) -> None:
    """Report cells that another thread wrote in this interval; the same by one store is no race."""
    warps = threads >> 5
    was = (shadow.write_epoch[cells] == clock.epoch) & (shadow.writer[cells] != threads)
    if atomic:
        was &= ~shadow.atomic[cells]
    if some(was):
        writer_warp = shadow.writer[cells] >> 5
        was &= ~conflict_free(
            warps, writer_warp, shadow.write_warp_epoch[cells], clock.warps[warps]
        )
        was &= (shadow.write_node[cells] != node_id) | differs
        if some(was):
            other = int(shadow.write_node[cells[was][0]])
            report(
                "race-waw", cells[was], threads[was], other, bool((writer_warp == warps)[was].all())
            )


def _check_lost(
    shadow: Shadow, cells: Ints, threads: Ints, node_id: int, report: Report, value: Value
) -> None:
    """Report cells to which threads of this one store have written different values."""
    last = shadow.writer[cells]
    lost = last != threads
    like = likeness(value)
    if like is not None and some(lost):
        lost &= like[last] != like[threads]
    if some(lost):
        report("race-waw", cells[lost], threads[lost], node_id, False)


def _check_read_before_write(
    shadow: Shadow, cells: Ints, threads: Ints, clock: Clock, report: Report, warps: Ints, now: Ints
) -> None:
    read_ = shadow.read_epoch[cells] == clock.epoch
    if not some(read_):
        return
    other = read_ & (shadow.many_readers[cells] | (shadow.reader[cells] != threads))
    across = shadow.many_warps[cells] | ((shadow.reader[cells] >> 5) != warps)
    ordered = ~across & (shadow.read_warp_epoch[cells] < now)
    other &= ~ordered
    if some(other):
        node = int(shadow.read_node[cells[other][0]])
        report("race-war", cells[other], threads[other], node, not bool(across[other].any()))


def _store_parts(shadow: Shadow, cells: Ints, parts: Bits | None, atomic: bool) -> None:
    if parts is None and shadow.parts is None:
        return
    if shadow.parts is None:
        shadow.parts = np.zeros((shadow.cells, shadow.words), np.uint64)
    if atomic:
        if parts is not None:
            np.bitwise_or.at(shadow.parts, cells, parts)
        return
    shadow.parts[cells] = 0 if parts is None else parts

"""Races of warps in shared memory: two accesses to a cell in one barrier interval, one of them a store.

What the threads of one warp do to each other is left to the simulator.
"""

from __future__ import annotations

import numpy as np

from grader.source.flow.values import Ints, Mask

SEVERAL = -1


class Last:
    """Of each cell of a shared array: which warp came last in one way, in which barrier interval and where."""

    def __init__(self, cells: int) -> None:
        self.epoch = np.zeros(cells, np.int64)
        """From 1 on; 0 of a cell to which nobody came."""
        self.warp = np.zeros(cells, np.int64)
        self.place = np.zeros(cells, np.int64)

    def others(self, cells: Ints, warps: Ints, epoch: int) -> Mask:
        """Return where another warp came in this interval."""
        return np.asarray((self.epoch[cells] == epoch) & (self.warp[cells] != warps))

    def note(self, cells: Ints, warps: Ints, epoch: int, place: int) -> None:
        """Note that these warps come to these cells."""
        several = self.others(cells, warps, epoch)
        self.warp[cells] = warps
        self.warp[cells[several | (self.warp[cells] != warps)]] = SEVERAL
        self.epoch[cells] = epoch
        self.place[cells] = place

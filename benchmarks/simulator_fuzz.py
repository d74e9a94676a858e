# ruff: noqa: E402 - the path comes before the imports
"""Do two builds of the simulator say the same of random kernels? Exits 1 on any difference.

    python benchmarks/simulator_fuzz.py LIBRARY [OTHER LIBRARY] [--rounds 1000] [--seed 0]

Each round is a random list of loads, stores, atomics, barriers and fences in shared and global memory, of
all widths, strides and masks, run by one kernel: results in memory and the whole report (findings with
their evidence, counts by line) have to be the same. With one library it runs alone, to be built with
sanitizers.
"""

from __future__ import annotations

import argparse
import collections
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.simulator.core.harness import Module, Simulator, compile_ptx

CUDA = Path(__file__).with_suffix(".cu")
NARROWEST = (1, 4, 8, 16)
"""Bytes of the narrowest access that a variant of the kernel has: what shared memory is watched in."""


def aligned(size: int) -> np.ndarray:
    """Return bytes at an address that two runs share the low bits of."""
    raw = np.zeros(size + 256, "u1")
    start = -raw.ctypes.data % 256
    return raw[start : start + size]


GLOBAL, OUT, LIST = aligned(16384), aligned(4 * 5 * 256), aligned(32 * 16)


@dataclass(frozen=True)
class Round:
    """One random kernel, its launch, and what is known of its memory."""

    operations: np.ndarray
    """int32, (operations, 8): the fields of `Operation`."""
    grid: int
    block: Any
    bytes: int
    said: int
    """The bytes of global memory that the kernel is told of; more than `bytes` are out of bounds."""
    settings: dict[str, Any]


def draw(rng: random.Random) -> Round:
    """Return a random round."""
    rows = [_operation(rng) for _ in range(rng.randint(1, 14))]
    size, chance = rng.choice((64, 4096, 16384)), rng.random()
    settings = {
        "races": chance < 0.95,
        "uninitialised": chance < 0.97,
        "empty": [1, 2] if chance > 0.6 else [],
        "inputs": [1] if chance < 0.1 else [],
    }
    block = rng.choice((32, 64, 256, (16, 16), 48, 7, 1))
    told = size if chance > 0.2 else size + 64
    return Round(np.array(rows, "i4"), rng.choice((1, 1, 2, 5)), block, size, told, settings)


def _operation(rng: random.Random) -> tuple[int, ...]:
    kind = rng.choice((10, 50)) + rng.randrange(20)
    if rng.random() < 0.3:
        kind = rng.choice((0, 0, 0, 1, 2, 3))
    return (
        kind,
        rng.choice((0, 1, 1, 1, 1, 2, 3, 4, 16, 33, -1)),
        rng.choice((0, 0, 1, 3, 16, 64, rng.randrange(3000))),
        rng.choice((1, 7, 32, 64, 4096, 4096, 4096)),
        rng.choice((1, 1, 32, 64, 5, 256, 1000)),
        rng.choice((1, 1, 2, 16, 20, 31, 32, 1000)),
        rng.choice((1, 1, 1, 2, 4, 16, 32)),
        rng.choice((0, 0, 0, 1, 8, 256)),
    )


def outcome(module: Module, one: Round) -> tuple[Any, bytes, bytes]:
    """Run a round; return its report without times, and what it left in memory."""
    operations = LIST[: one.operations.nbytes].view("i4")
    operations[:] = one.operations.ravel()
    memory = GLOBAL[: one.bytes]
    memory[:] = np.arange(one.bytes) * 37 % 251
    threads = int(np.prod(one.block)) * one.grid
    out = OUT[: 4 * threads].view("f4")
    out[:] = 0
    count = len(one.operations)
    ran = module.launch(
        "run", one.grid, one.block, operations, count, memory, one.said, out, **one.settings
    )
    return timeless(ran.report), memory.tobytes(), out.tobytes()


def timeless(value: Any) -> Any:
    """Return a report without seconds."""
    if isinstance(value, dict):
        return {key: timeless(inner) for key, inner in value.items() if key != "seconds"}
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    simulators = [Simulator(path) for path in given.libraries]
    texts = [compile_ptx(CUDA, f"-DNARROWEST={width}") for width in NARROWEST]
    modules = [[simulator.load_ptx(text, CUDA.name) for simulator in simulators] for text in texts]
    kinds: collections.Counter[str] = collections.Counter()
    differ = 0
    for number in range(given.seed, given.seed + given.rounds):
        one = draw(random.Random(number))
        found = [outcome(module, one) for module in modules[number % len(modules)]]
        kinds.update(finding["kind"] for finding in found[0][0]["findings"])
        if any(other != found[0] for other in found[1:]):
            differ += 1
            print(f"round {number} differs")
    print(f"{given.rounds} rounds, {differ} differ; findings: {dict(kinds)}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())

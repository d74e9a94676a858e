"""The small kernels in `tests/simulator/kernels`, with how each is launched and on what.

`//! launch NAME key=value... argument...` stands before a kernel. Arguments: `in:f4:100` (an input:
random, read only), `out:f4:100` (memory that nobody has written), `zero:i4:4` (zeros to read and
write), a number, `hex:...` (bytes). `//! check EXPRESSION` is about the arrays `a0, a1, ...`. In a
wrong kernel, `// expect: KIND` marks a line where that kind must be found, `// may: KIND` one where
it may be named as well. Options: `grid`, `block`, `shared` (dynamic, bytes), `status` (of the
simulator), `kernel` (where NAME is not the kernel's), `cooperative=1`, `optin` (bytes of dynamic
shared memory that the host asks for before the launch).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent.parent / "kernels"
ARRAYS = ("in", "out", "zero")


@dataclass
class Case:
    """One launch of one kernel."""

    name: str
    file: Path
    options: dict[str, str] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    expected: set[tuple[str, int]] = field(default_factory=set)
    allowed: set[tuple[str, int]] = field(default_factory=set)

    @property
    def kernel(self) -> str:
        return self.options.get("kernel", self.name)

    @property
    def shared(self) -> int:
        return int(self.options.get("shared", 0))

    def extent(self, key: str) -> tuple[int, ...]:
        return tuple(int(part) for part in self.options[key].split(","))

    def arrays(self, kind: str) -> list[int]:
        """Which of the arrays are of a kind (`in`, `out`, `zero`)."""
        kinds = [word.split(":")[0] for word in self.arguments]
        return [n for n, found in enumerate(k for k in kinds if k in ARRAYS) if found == kind]

    def make(self) -> list[Any]:
        """The arguments: arrays, whole numbers and bytes; the same ones each time."""
        rng = np.random.default_rng(7)
        return [make(argument, rng) for argument in self.arguments]

    def failed_check(self, arrays: list[np.ndarray]) -> str:
        """The first check that does not hold, or nothing."""
        names = {f"a{index}": array for index, array in enumerate(arrays)}
        with np.errstate(all="ignore"):
            failed = [check for check in self.checks if not eval(check, {"np": np, **names})]
        return failed[0] if failed else ""


def read_cases(file: Path) -> list[Case]:
    cases: list[Case] = []
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if line.startswith("//! launch "):
            _, _, name, *words = line.split()
            options = dict(word.split("=", 1) for word in words if "=" in word)
            cases.append(Case(name, file, options, [word for word in words if "=" not in word]))
        elif line.startswith("//! check "):
            cases[-1].checks.append(line[10:])
        for word, kinds in re.findall(r"// (expect|may): ([\w -]+)", line):
            pairs = {(kind, number) for kind in kinds.split()}
            (cases[-1].expected if word == "expect" else cases[-1].allowed).update(pairs)
    return cases


def all_cases() -> dict[str, Case]:
    return {case.name: case for file in sorted(FOLDER.glob("*.cu")) for case in read_cases(file)}


def make(argument: str, rng: np.random.Generator) -> Any:
    kind, *rest = argument.split(":")
    if kind == "hex":
        return bytes.fromhex(rest[0])
    if not rest:
        return int(argument)
    dtype, count = np.dtype(rest[0]), int(rest[1])
    array = aligned(count, dtype)
    if kind == "in":
        array[:] = rng.normal(size=count) if dtype.kind == "f" else rng.integers(0, 100, count)
    elif kind == "zero":
        array[:] = 0
    else:
        array.view(np.uint8)[:] = 0xFF
    return array


def aligned(count: int, dtype: np.dtype[Any]) -> np.ndarray:
    """An array at a multiple of 512 bytes, as a GPU's allocator would place it."""
    raw = np.empty(count * dtype.itemsize + 512, np.uint8)
    start = -raw.ctypes.data % 512
    return raw[start : start + count * dtype.itemsize].view(dtype)

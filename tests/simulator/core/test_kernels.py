"""Right kernels give no finding, kernels with a planted defect give it at its line.

`//! launch NAME key=value... argument...` stands before a kernel. Arguments: `in:f4:100` (an input:
random, read only), `out:f4:100` (memory that nobody has written), `zero:i4:4` (zeros to read and
write), a number, `hex:...` (bytes). `//! check EXPRESSION` is about the arrays `a0, a1, ...`. In a
wrong kernel, `// expect: KIND` marks a line where that kind must be found, `// may: KIND` one where
it may be named as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .harness import Module, Simulator, compile_ptx, nvcc

FOLDER = Path(__file__).parent.parent / "kernels"
pytestmark = pytest.mark.skipif(nvcc() is None, reason="no nvcc on this machine")


@dataclass
class Case:
    name: str
    file: Path
    options: dict[str, str] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    expected: set[tuple[str, int]] = field(default_factory=set)
    allowed: set[tuple[str, int]] = field(default_factory=set)


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


CASES = {case.name: case for file in sorted(FOLDER.glob("*.cu")) for case in read_cases(file)}
RIGHT = [name for name, case in CASES.items() if case.file.name.startswith("right")]
WRONG = [name for name, case in CASES.items() if case.file.name.startswith("wrong")]


@pytest.fixture(scope="module")
def modules(simulator: Simulator) -> dict[Path, Module]:
    return {
        file: simulator.load_ptx(compile_ptx(file), file.name)
        for file in sorted(FOLDER.glob("*.cu"))
    }


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


def run(case: Case, module: Module, **options: Any) -> tuple[Any, list[np.ndarray]]:
    rng = np.random.default_rng(7)
    arguments = [make(argument, rng) for argument in case.arguments]
    kinds = [
        argument.split(":")[0]
        for argument in case.arguments
        if argument.split(":")[0] in ("in", "out", "zero")
    ]
    pick = lambda wanted: [index for index, kind in enumerate(kinds) if kind == wanted]  # noqa: E731
    extent = lambda key: tuple(int(part) for part in case.options[key].split(","))  # noqa: E731
    outcome = module.launch(
        case.name, extent("grid"), extent("block"), *arguments,
        shared=int(case.options.get("shared", 0)),
        inputs=pick("in"), empty=pick("out"), steps=30_000_000, **options,
    )  # fmt: skip
    return outcome, [argument for argument in arguments if isinstance(argument, np.ndarray)]


@pytest.mark.parametrize("name", RIGHT)
def test_right(name: str, modules: dict[Path, Module]) -> None:
    case = CASES[name]
    outcome, arrays = run(case, modules[case.file])
    assert outcome.status == "ok", outcome.reason
    assert outcome.findings == []
    names = {f"a{index}": array for index, array in enumerate(arrays)}
    for check in case.checks:
        assert eval(check, {"np": np, **names}), (check, arrays[-1][:8])


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str, modules: dict[Path, Module]) -> None:
    case = CASES[name]
    outcome, _ = run(case, modules[case.file])
    assert outcome.status == case.options.get("status", "ok"), outcome.reason
    assert outcome.kinds() >= case.expected
    assert outcome.kinds() <= case.expected | case.allowed


def test_enough_kernels() -> None:
    assert len(RIGHT) >= 30
    assert len(WRONG) >= 30

"""Reference outputs in the store: computed once for each task and seed, by the first process and run that needs them.

There is one memory-mapped file of bytes, and one with the place of each array. Inputs aren't stored: the seed makes
them again.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np

from grader.execution.reference import Inputs
from grader.judge.expected import Expected, References
from grader.judge.inputs import Array, make_inputs, numpy_dtype
from grader.records import Task
from grader.store import Store

LARGEST: Final = 96 << 20
"""Most bytes of one task's outputs and weights that are stored."""
_KIND, _INDEX, _ARRAYS = "references", "index.json", "arrays"
_ALIGNED = 64


def array_bytes(references: References) -> int:
    """Return the bytes of all arrays, each counted once."""
    inputs = (a for some in references.inputs.values() for a in some if isinstance(a, np.ndarray))
    unique = {id(array): array.nbytes for array in (*_outputs(references), *inputs)}
    return sum(unique.values())


def store_references(store: Store, key: str, references: References) -> None:
    """Store a task's reference outputs unless they are too large; a full disk is ignored."""
    if sum({id(a): a.nbytes for a in _outputs(references)}.values()) > LARGEST:
        return
    try:
        with store.new_folder(_KIND, key) as folder:
            _write(folder, references)
    except OSError:
        return


def stored_references(
    store: Store, key: str, task: Task, seed: int, inputs: Inputs | None = None
) -> References | None:
    """Return the outputs stored under the key; None where there are none, or they are damaged.

    `inputs` are the reference's inputs where they don't follow from the task's workloads and the seed.
    """
    folder = store.folder(_KIND, key)
    if folder is None:
        return None
    try:
        index = json.loads((folder / _INDEX).read_text("utf-8"))
        if _checksum(folder / _ARRAYS) != index["checksum"]:
            return None
        found = _Reader(_map_file(folder / _ARRAYS), index["arrays"]).references(index)
    except (OSError, ValueError, KeyError):
        return None
    inputs = inputs or {w.name: make_inputs(task, w, seed) for w in task.judged}
    cast_to = task.precision or ""
    return replace(found, task=task.name, seed=seed, inputs=inputs, precision=cast_to)


def _outputs(references: References) -> Iterator[Array]:
    for one in references.expected.values():
        yield from (*one.exact, *one.native)
    for states in (references.states, references.initial):
        for state in states.values():
            yield from state.values()


def _write(folder: Path, references: References) -> None:
    with (folder / _ARRAYS).open("wb") as file:
        writer = _Writer(file)
        index = {
            "expected": {
                name: writer.write_expected(one) for name, one in references.expected.items()
            },
            "states": writer.states(references.states),
            "initial": writer.states(references.initial),
            "arrays": writer.arrays,
        }
    index["checksum"] = _checksum(folder / _ARRAYS)
    (folder / _INDEX).write_text(json.dumps(index), "utf-8")


@dataclass
class _Writer:
    """Writes arrays one after the other, each once, and numbers them."""

    file: Any
    arrays: list[dict[str, Any]] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)

    def write_expected(self, one: Expected) -> dict[str, Any]:
        return {
            "exact": self._all(one.exact),
            "native": self._all(one.native),
            "structure": one.structure,
            "changes": sorted(one.changes),
            "returns": sorted(one.returns),
        }

    def states(self, states: Mapping[str, Mapping[str, Array]]) -> dict[str, dict[str, int]]:
        return {
            workload: {name: self._index_of_array(array) for name, array in state.items()}
            for workload, state in states.items()
        }

    def _all(self, arrays: Iterable[Array]) -> list[int]:
        return [self._index_of_array(array) for array in arrays]

    def _index_of_array(self, array: Array) -> int:
        if id(array) not in self._numbers:
            self.file.write(b"\0" * (-self.file.tell() % _ALIGNED))
            place = {"dtype": array.dtype.name, "shape": list(array.shape), "at": self.file.tell()}
            self.file.write(np.ascontiguousarray(array).tobytes())
            self._numbers[id(array)] = len(self.arrays)
            self.arrays.append(place)
        return self._numbers[id(array)]


class _Reader:
    """Arrays over the mapped bytes, by their numbers."""

    def __init__(self, data: mmap.mmap | bytes, places: list[dict[str, Any]]) -> None:
        self._arrays = [_array(data, place) for place in places]

    def references(self, index: dict[str, Any]) -> References:
        expected = {name: self._read_expected(name, one) for name, one in index["expected"].items()}
        states, initial = self._states(index["states"]), self._states(index["initial"])
        return References("", 0, expected, states, {}, initial)

    def _read_expected(self, name: str, one: dict[str, Any]) -> Expected:
        return Expected(
            name,
            tuple(self._arrays[number] for number in one["exact"]),
            tuple(self._arrays[number] for number in one["native"]),
            one["structure"],
            changes=frozenset(one["changes"]),
            returns=frozenset(one["returns"]),
        )

    def _states(self, states: dict[str, dict[str, int]]) -> dict[str, dict[str, Array]]:
        return {
            workload: {name: self._arrays[number] for name, number in state.items()}
            for workload, state in states.items()
        }


def _array(data: mmap.mmap | bytes, place: dict[str, Any]) -> Array:
    shape, dtype = place["shape"], numpy_dtype(place["dtype"])
    flat = (
        np.frombuffer(data, dtype, prod(shape), place["at"]) if prod(shape) else np.empty(0, dtype)
    )
    return flat.reshape(shape)


def _map_file(path: Path) -> mmap.mmap | bytes:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

"""Inputs and drawn weights, made on the host from a seed that no guest sees."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.errors import GraderError
from grader.records import Backward, JsonValue, Task, TensorSpec, Workload

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

SPIKE = 100.0
"""Ratio of a `spike` row's one large element to the others."""
LIGHT_TAIL = 2.5
"""Degrees of freedom of `heavy_tailed` (Student's t): finite variance, wild extremes."""
SKEW = 8
"""Power of a uniform number that makes `skewed`: a tenth of the values carry most of their sum."""


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return numpy's dtype of that name; bfloat16 and 8-bit floats are those of `ml_dtypes`.

    Raises GraderError where `ml_dtypes` is needed and not installed.
    """
    if name != "bfloat16" and not name.startswith("float8"):
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        raise GraderError(f"{name} inputs need ml_dtypes", "pip install ml_dtypes") from error
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


def is_real(array: Array) -> bool:
    """Whether it holds floating-point numbers; numpy's kind for those of `ml_dtypes` is void."""
    return array.dtype.kind in "fV"


def make_inputs(task: Task, workload: Workload, seed: int) -> tuple[Array | JsonValue, ...]:
    """Return the arguments of `forward` for one workload.

    The same task name, workload name and seed give the same bytes on any machine; each argument has its own random
    stream, so that no argument reveals another.
    """
    return tuple(
        make_array(item, generator(seed, task.name, workload.name, index))
        if isinstance(item, TensorSpec)
        else plain(item)
        for index, item in enumerate(workload.inputs)
    )


def plain(item: Backward | JsonValue) -> JsonValue:
    """Return an argument that isn't a tensor in the form sent to a guest."""
    return item.model_dump(mode="json") if isinstance(item, Backward) else item


def generator(seed: int, *parts: str | int) -> np.random.Generator:
    """Return a generator whose stream depends on the seed and on every part."""
    text = "\0".join([str(seed), *map(str, parts)])
    return np.random.Generator(
        np.random.Philox(key=int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little"))
    )


def make_array(spec: TensorSpec, rng: np.random.Generator) -> Array:
    """Return one tensor of the spec, with its dims in the spec's memory order."""
    values = _give_structure(_DRAW[spec.distribution](spec, spec.shape, rng), spec.structure)
    if spec.step:
        values = spec.step * np.rint(values / spec.step)
    if spec.filler is not None:
        values = np.where(_places(spec, rng), spec.filler, values)
    made = _cast(np.asarray(values), numpy_dtype(spec.dtype))
    if spec.contiguous:
        return made
    return np.ascontiguousarray(made.transpose(spec.order)).transpose(np.argsort(spec.order))


def _places(spec: TensorSpec, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Return a mask of the fillers; at the end of a row they are never all or none."""
    if spec.place == "anywhere":
        return rng.random(spec.shape) < spec.share
    if spec.place == "tail":
        begins = rng.integers(1, max(spec.shape[-1], 2), (*spec.shape[:-1], 1))
        return np.broadcast_to(np.arange(spec.shape[-1]), spec.shape) >= begins
    ones = np.ones(spec.shape, bool)
    beside = int(spec.place.startswith("strictly"))
    return np.triu(ones, beside) if spec.place.endswith("upper") else np.tril(ones, -beside)


def _cast(values: Array, dtype: np.dtype[Any]) -> Array:
    """Return the values cast to a dtype; 8-bit floats saturate at their largest value, as on a GPU."""
    if dtype.kind in "fV" and dtype.itemsize == 1:
        import ml_dtypes

        info: Any = ml_dtypes.finfo
        most = float(info(dtype).max)
        values = np.clip(values, -most, most)
    return values.astype(dtype, copy=False)


def draw_state(state: Mapping[str, Array], seed: int) -> dict[str, Array]:
    """Return parameters and statistics of the same names and shapes, none at a default value.

    Constants (weights of 1, biases of 0, running statistics) are drawn around their value; random tensors are drawn
    again with their own standard deviation. Integers stay unchanged, and so do masks, which training doesn't change:
    zeros and ones, or infinities.
    """
    return {
        name: _draw_values(name, array, generator(seed, "state", name))
        for name, array in state.items()
    }


def _draw_values(name: str, array: Array, rng: np.random.Generator) -> Array:
    if not is_real(array) or array.size == 0 or is_mask(array):
        return array
    values = array.astype(np.float64)
    if name.rsplit(".", 1)[-1].endswith("var"):
        drawn = rng.uniform(0.5, 2.0, array.shape)
    elif array.size > 1 and values.std() > 0:
        drawn = values.mean() + values.std() * rng.standard_normal(array.shape)
    else:
        drawn = values + rng.uniform(0.25, 0.75, array.shape) * rng.choice([-1.0, 1.0], array.shape)
    return np.asarray(drawn, array.dtype)


def is_mask(array: Array) -> bool:
    """Whether it holds zeros and ones, or infinities, which training doesn't change."""
    ones = int(np.count_nonzero(array == 1))
    both = 0 < ones < array.size and ones + int(np.count_nonzero(array == 0)) == array.size
    return both or not bool(np.isfinite(array).all())


Draw = Callable[[TensorSpec, Shape, np.random.Generator], Array]


def _uniform(spec: TensorSpec, shape: Shape, rng: np.random.Generator) -> Array:
    values = rng.random(shape, dtype=np.float32)
    if (spec.low, spec.high) != (0.0, 1.0):
        values *= np.float32(spec.high - spec.low)
        values += np.float32(spec.low)
    return values


def _normal(spec: TensorSpec, shape: Shape, rng: np.random.Generator) -> Array:
    values = rng.standard_normal(shape, dtype=np.float32)
    if (spec.low, spec.high) != (0.0, 1.0):
        values *= np.float32(spec.high)
        values += np.float32(spec.low)
    return values


def _signed_uniform(spec: TensorSpec, shape: Shape, rng: np.random.Generator) -> Array:
    signs = rng.choice(np.array([-1, 1], np.float32), shape)
    return np.asarray(_uniform(spec, shape, rng) * signs)


def _heavy_tailed(spec: TensorSpec, shape: Shape, rng: np.random.Generator) -> Array:
    values = np.clip(rng.standard_t(LIGHT_TAIL, shape), -1e4, 1e4)
    return np.asarray(spec.low + spec.high * values, np.float32)


def _draw_skewed(spec: TensorSpec, shape: Shape, rng: np.random.Generator) -> Array:
    """Return values between `low` and `high`, of either sign where both are allowed."""
    sizes = rng.random(shape) ** SKEW
    if spec.low < 0.0 < spec.high:
        return np.asarray(sizes * rng.choice([spec.low, spec.high], shape), np.float32)
    return np.asarray(spec.low + (spec.high - spec.low) * sizes, np.float32)


def _large(spec: TensorSpec, shape: Shape, rng: np.random.Generator) -> Array:
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(spec.high)


def _zeros(_: TensorSpec, shape: Shape, __: np.random.Generator) -> Array:
    return np.zeros(shape, np.float32)


def _make_ones(_: TensorSpec, shape: Shape, __: np.random.Generator) -> Array:
    return np.ones(shape, np.float32)


def _constant(spec: TensorSpec, shape: Shape, _: np.random.Generator) -> Array:
    return np.full(shape, spec.low, np.float64)


def _ramp(spec: TensorSpec, shape: Shape, _: np.random.Generator) -> Array:
    return np.linspace(spec.low, spec.high, int(np.prod(shape)), dtype=np.float64).reshape(shape)


def _one_hot(spec: TensorSpec, shape: Shape, rng: np.random.Generator) -> Array:
    return _one_each_row(np.zeros(shape, np.float32), np.float32(spec.high), rng)


def _spike(spec: TensorSpec, shape: Shape, rng: np.random.Generator) -> Array:
    return _one_each_row(_uniform(spec, shape, rng), np.float32(SPIKE * spec.high), rng)


def _randint(spec: TensorSpec, shape: Shape, rng: np.random.Generator) -> Array:
    return rng.integers(int(spec.low), max(int(spec.high), int(spec.low) + 1), shape)


def _ascending(spec: TensorSpec, shape: Shape, rng: np.random.Generator) -> Array:
    values = _randint(spec, shape, rng)
    return _from_low_to_high(spec, np.sort(values, axis=-1) if shape else values)


def _increasing(spec: TensorSpec, shape: Shape, rng: np.random.Generator) -> Array:
    """Return rows of different numbers; where there are too few, sorted ones."""
    inner = np.arange(int(spec.low) + 1, int(spec.high) - 1)
    if not shape or not 0 <= shape[-1] - 2 <= inner.size:
        return _ascending(spec, shape, rng)
    values = np.empty(shape, np.int64)
    for row in values.reshape(-1, shape[-1]):
        row[1:-1] = np.sort(rng.choice(inner, shape[-1] - 2, replace=False))
    return _from_low_to_high(spec, values)


def _from_low_to_high(spec: TensorSpec, values: Array) -> Array:
    if values.size > 1:
        values[..., 0], values[..., -1] = int(spec.low), int(spec.high) - 1
    return values


def _range(spec: TensorSpec, shape: Shape, _: np.random.Generator) -> Array:
    counted: Array = np.arange(shape[-1] if shape else 1) + int(spec.low)
    return np.broadcast_to(counted, shape) if shape else counted.reshape(())


def _permutation(spec: TensorSpec, shape: Shape, rng: np.random.Generator) -> Array:
    counted = _range(spec, shape, rng)
    return rng.permuted(counted, axis=-1) if shape else counted


_DRAW: Mapping[str, Draw] = {
    "uniform": _uniform,
    "normal": _normal,
    "signed_uniform": _signed_uniform,
    "heavy_tailed": _heavy_tailed,
    "skewed": _draw_skewed,
    "large": _large,
    "zeros": _zeros,
    "ones": _make_ones,
    "constant": _constant,
    "ramp": _ramp,
    "one_hot": _one_hot,
    "spike": _spike,
    "randint": _randint,
    "range": _range,
    "ascending": _ascending,
    "increasing": _increasing,
    "permutation": _permutation,
}


def _one_each_row(values: Array, value: np.float32, rng: np.random.Generator) -> Array:
    """Set one element of each row (last dim) to `value`."""
    if values.size:
        table = values.reshape(-1, values.shape[-1] if values.ndim else 1)
        table[np.arange(len(table)), rng.integers(0, table.shape[1], len(table))] = value
    return values


def _give_structure(values: Array, structure: str) -> Array:
    if structure == "upper":
        return np.triu(values)
    if structure == "lower":
        return np.tril(values)
    if structure == "symmetric":
        return (values + np.swapaxes(values, -1, -2)) / np.float32(2)
    if structure == "simplex":
        positive = np.abs(values) + np.float32(1e-3)
        return np.asarray(positive / positive.sum(axis=-1, keepdims=True))
    return values

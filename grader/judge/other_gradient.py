"""Known tensors that a wrong gradient may equal: another input's gradient, or the upstream gradient."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from grader.judge.inputs import Array
from grader.records import Evidence, OtherGradient, Workload

NEAR = 1e-3
"""Largest difference, relative to the largest value, at which a gradient counts as equal to another tensor."""


def taken_for(
    workload: Workload,
    name: str,
    actual: Array,
    exact: Mapping[str, Array],
    inputs: Sequence[object],
) -> tuple[Evidence, ...]:
    """Return evidence of the known tensor that a wrong gradient equals; None where there is none.

    `exact` are the reference's gradients by name, `inputs` the workload's arguments.
    """
    for kind, said, value in _known_gradients(workload, name, exact, inputs):
        left = actual * _upstream(workload, inputs) if kind == "no upstream" else actual
        if value.shape == left.shape and _is_same_value(left, value):
            details = OtherGradient(of=name.removeprefix("gradient of "), equals=kind)
            return (
                Evidence(
                    kind="mismatch",
                    code="other-gradient",
                    text=said,
                    workload=workload.name,
                    details=details,
                ),
            )
    return ()


def _known_gradients(
    workload: Workload, name: str, exact: Mapping[str, Array], inputs: Sequence[object]
) -> Iterator[tuple[str, str, Array]]:
    """Yield the known tensors: kind, words, and values."""
    for other, value in exact.items():
        if other != name:
            yield other, f"it is the {other}", value
    upstream = _upstream(workload, inputs)
    if upstream.ndim or upstream.size:
        whole = (
            np.broadcast_to(upstream, exact[name].shape) if _fits(upstream, exact[name]) else None
        )
        if whole is not None:
            yield "upstream", "it is the upstream gradient itself", whole
            yield "no upstream", "it is the gradient without the upstream gradient", exact[name]


def _upstream(workload: Workload, inputs: Sequence[object]) -> Array:
    """Return the upstream gradient of the first result; None where no gradients are requested."""
    asked = workload.backward
    given = inputs[-1 - asked.upstream] if asked else None
    return given.astype(np.float64) if isinstance(given, np.ndarray) else np.zeros(0)


def _fits(upstream: Array, gradient: Array) -> bool:
    try:
        return np.broadcast_shapes(upstream.shape, gradient.shape) == gradient.shape
    except ValueError:
        return False


def _is_same_value(actual: Array, value: Array) -> bool:
    a, r = np.asarray(actual, np.float64), np.asarray(value, np.float64)
    size = float(np.max(np.abs(r), initial=0.0))
    return size > 0 and bool(np.isfinite(a).all()) and float(np.max(np.abs(a - r))) <= NEAR * size

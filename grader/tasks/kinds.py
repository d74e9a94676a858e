"""The list of built-in tasks by kind, with the dtypes of their inputs."""

from __future__ import annotations

from collections.abc import Mapping

from grader.records import Task, TensorSpec
from grader.tasks.backward import with_backward
from grader.tasks.entry import Entry
from grader.tasks.precision import NAMES, in_precision
from grader.tasks.registry import entries

OF_FAMILY: Mapping[str, str] = {
    "arg-reduce": "reduction",
    "attention": "attention",
    "batch-norm": "norm",
    "channel-norm": "norm",
    "conv": "convolution",
    "diag-matmul": "matmul",
    "elementwise": "elementwise",
    "full-norm": "norm",
    "group-norm": "norm",
    "instance-norm": "norm",
    "layer-norm": "norm",
    "loss": "loss",
    "matmul": "matmul",
    "matvec": "matmul",
    "pool": "pooling",
    "reduce": "reduction",
    "row-norm": "norm",
    "scan": "scan",
    "softmax": "softmax",
}
"""Kind by family of reference-fixed kernels."""


def by_kind() -> dict[str, tuple[Entry, ...]]:
    """Return the built-in entries of each kind, both in alphabetical order."""
    found: dict[str, list[Entry]] = {}
    for entry in entries().values():
        found.setdefault(kind_of(entry), []).append(entry)
    return {kind: tuple(found[kind]) for kind in sorted(found)}


def kind_of(entry: Entry) -> str:
    """Return the heading that an entry is listed under: its own, or that of its kernels' family."""
    return entry.kind or OF_FAMILY[entry.task.family]


def types_of(task: Task) -> str:
    """Return the dtypes of the input tensors, in the order of the arguments, and its other forms: half precision, gradients."""
    first = task.workloads[0].inputs
    types = ", ".join(dict.fromkeys(item.dtype for item in first if isinstance(item, TensorSpec)))
    also = [name for name in NAMES if in_precision(task, name)]
    also += ["backward"] if with_backward(task) else []
    return f"{types} (also {', '.join(also)})" if also else types

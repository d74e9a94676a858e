"""Built-in tasks in half precision: `softmax-bf16` and `softmax-fp16` beside `softmax`."""

from __future__ import annotations

import re

from grader.records import DType, JsonValue, Task, TensorSpec, Workload

NAMES: dict[str, DType] = {"bf16": "bfloat16", "fp16": "float16"}
"""What follows a task's name, and the type of its inputs."""
WIDE = frozenset({"large", "heavy_tailed"})
"""Distributions whose sums leave float16's range, which ends at 65504."""
_NOT_IN_HALF = re.compile(
    r"nn\.(?!Module\b|functional\b)[A-Z]\w+|register_buffer"  # parameters, which stay in float32
    r"|^ +for "  # a recurrence, whose state nobody keeps in half
    r"|topk\(",  # a choice among what is equal once it is rounded
    re.MULTILINE,
)
"""What stands in a reference that isn't asked for in half precision."""
COARSE = "a result that is 1% too large everywhere would pass: four roundings of bfloat16 are 1.6%"


def in_precision(task: Task, name: str) -> Task | None:
    """Return a task with its float32 inputs in half precision; None where that makes no sense.

    Inputs are drawn as before and cast, so the reference in float64 sees what the submission sees. Its kernel is written
    from a trace, which knows types; those of families are written for float32.
    """
    dtype = NAMES[name]
    types = {item.dtype for item in task.workloads[0].inputs if isinstance(item, TensorSpec)}
    mean = task.family == "loss"  # one number, which in half is the same for almost any inputs
    if mean or "int8" in types or "float32" not in types or _NOT_IN_HALF.search(task.reference):
        return None
    kept = tuple(
        _cast(work, dtype) for work in task.workloads if dtype == "bfloat16" or _fits(work)
    )
    return task.model_copy(
        update={
            "name": f"{task.name}-{name}",
            "title": f"{task.title}, in {dtype}",
            "workloads": kept,
            "family": "",
            "parameters": {},
            "weak": (COARSE,) if dtype == "bfloat16" else (),
        }
    )


def split_name(name: str) -> tuple[str, str] | None:
    """Return the name of the task and of the precision in `softmax-bf16`; None for a name without one."""
    stem, _, precision = name.rpartition("-")
    return (stem, precision) if precision in NAMES else None


def _single(item: TensorSpec | JsonValue) -> bool:
    return isinstance(item, TensorSpec) and item.dtype == "float32"


def _fits(workload: Workload) -> bool:
    specs = (item for item in workload.inputs if isinstance(item, TensorSpec))
    return not any(spec.distribution in WIDE for spec in specs)


def _cast(workload: Workload, dtype: DType) -> Workload:
    inputs = tuple(
        item.model_copy(update={"dtype": dtype})
        if isinstance(item, TensorSpec) and _single(item)
        else item
        for item in workload.inputs
    )
    return workload.model_copy(update={"inputs": inputs})

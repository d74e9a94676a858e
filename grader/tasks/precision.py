"""Built-in tasks in half precision: `softmax-bf16` and `softmax-fp16` beside `softmax`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.records import DType, JsonValue, Task, TensorSpec, Workload

NAMES: dict[str, DType] = {"bf16": "bfloat16", "fp16": "float16"}
"""Suffix of a task's name, and the dtype of its inputs."""
WIDE = frozenset({"large", "heavy_tailed"})
"""Distributions whose sums leave float16's range, which ends at 65504."""
TYPED = frozenset(
    {
        "attention-back", "channel-norm", "embedding-bag", "moe-matmul", "paged-attention", "rope", "row-norm", "short-convolution",
    }
)  # fmt: skip
"""Families whose kernels are written for the task's dtype; the kernels of others are for float32."""
_NOT_IN_HALF = re.compile(
    r"^ +for (?!expert).*:$"  # a recurrence, whose state is never kept in half precision
    r"|torch\.(int8|float8)"  # quantisation, where half precision would give ties everywhere
    r"|cross_entropy\("  # a result of one number, like the losses
    r"|topk\(|sort\("  # a choice among values that are equal after rounding
    r"|torch\.prod\(",  # a product of hundreds of factors, which leaves the range
    re.MULTILINE,
)
"""Patterns of built-in references without a half-precision form."""
_OWN_TENSORS = re.compile(r"nn\.(?!Module\b|functional\b)[A-Z]\w+|register_buffer")
"""Pattern of a reference with weights or buffers."""
_CAST = """

# Asked for in DTYPE: module and inputs are cast, as KernelBench casts both for its `precision`.
def _cast_module(init):
    def cast(self, *args, **kwargs):
        init(self, *args, **kwargs)
        self.to(torch.DTYPE)

    return cast


def _cast_inputs(make):
    def cast():
        real = lambda x: isinstance(x, torch.Tensor) and x.is_floating_point()
        return [x.to(torch.DTYPE) if real(x) else x for x in make()]

    return cast


Model.__init__ = _cast_module(Model.__init__)
if "get_inputs" in globals():
    get_inputs = _cast_inputs(get_inputs)
"""
"""Code after a reference that casts it. Not a subclass: `super(Model, self)` in the reference must keep its meaning."""


def in_precision(task: Task, name: str) -> Task | None:
    """Return a task with its float32 inputs and weights in half precision; None where that makes no sense.

    Inputs are drawn as before and cast, so that the reference in float64 sees the same values as the submission; a
    draft, whose inputs aren't known yet, casts them in its text. Its reference-fixed kernel comes from a trace, which
    has dtypes, or from a family that supports them.
    """
    dtype = NAMES[name]
    own = not task.workloads or _OWN_TENSORS.search(task.reference)
    cast = {
        "name": f"{task.name}-{name}",
        "title": f"{task.title}, in {dtype}",
        "reference": task.reference + (_CAST.replace("DTYPE", dtype) if own else ""),
        "precision": dtype,
        "prompt": task.prompt and f"{task.prompt} All floating-point tensors are {dtype}.",
    }
    if not task.workloads:
        return task.model_copy(update=cast)
    types = {item.dtype for item in task.workloads[0].inputs if isinstance(item, TensorSpec)}
    mean = task.family == "loss"  # in half precision, one number is nearly constant
    few = any("8" in kind for kind in types)
    if mean or few or "float32" not in types or _NOT_IN_HALF.search(task.reference):
        return None
    kept = tuple(
        _cast(work, dtype) for work in task.workloads if dtype == "bfloat16" or _fits(work)
    )
    typed = {} if task.family in TYPED else {"family": "", "parameters": {}}
    return task.model_copy(update={**cast, **typed, "workloads": kept})


def forms(task: Task) -> Iterator[Task]:
    """Yield a task, and its form in each half-precision dtype that it has."""
    yield task
    yield from filter(None, (in_precision(task, name) for name in NAMES))


def as_made(reference: str, precision: DType | None) -> str:
    """Return the text of a reference without the code that casts it."""
    return reference.replace(_CAST.replace("DTYPE", precision), "") if precision else reference


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

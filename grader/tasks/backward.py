"""Tasks whose gradients are judged as well: `softmax-backward` beside `softmax`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from grader.records import Backward, JsonValue, Task, TensorSpec, Workload
from grader.tasks.shapes import Shape

SUFFIX = "-backward"
"""What follows a task's name, whatever else does."""
OTHER_SIZES = 3
OTHER_VALUES = 2
"""How many workloads of other sizes and of other values a task keeps: each is run forwards and backwards."""
_KINKS = frozenset({"zeros", "constant", "randint", "one_hot", "ones"})
"""Distributions of real inputs with equal values, where an extreme or a bend has no one gradient."""

Inputs = Sequence[TensorSpec | JsonValue]
Result = Callable[[Inputs, tuple[JsonValue, ...]], Shape]
"""The shape of a task's one result, from its inputs and its constructor's arguments."""


def _first(inputs: Inputs, _: tuple[JsonValue, ...]) -> Shape:
    return _shape(inputs[0])


def _number(_: Inputs, __: tuple[JsonValue, ...]) -> Shape:
    return ()


def _reduced(inputs: Inputs, init: tuple[JsonValue, ...]) -> Shape:
    shape, dim = _shape(inputs[0]), init[0]
    return (*shape[:dim], *shape[dim + 1 :])


def _kept(inputs: Inputs, init: tuple[JsonValue, ...]) -> Shape:
    shape, dim = _shape(inputs[0]), init[0]
    return (*shape[:dim], 1, *shape[dim + 1 :])


def _product(*, a: int = -2, b: int = -1) -> Result:
    """Return the shape of a product that keeps these dims of its two operands."""

    def shape(inputs: Inputs, _: tuple[JsonValue, ...]) -> Shape:
        left, right = _shape(inputs[0]), _shape(inputs[1])
        return (*left[:-2], left[a], right[b])

    return shape


def _average(inputs: Inputs, init: tuple[JsonValue, ...]) -> Shape:
    kernel, stride, padding = (*init, *(None, 0)[len(init) - 1 :])[:3]
    return _windows(_shape(inputs[0]), kernel, stride or kernel, padding, 1)


def _largest(inputs: Inputs, init: tuple[JsonValue, ...]) -> Shape:
    kernel, stride, padding, dilation = init[:4]
    return _windows(_shape(inputs[0]), kernel, stride, padding, dilation)


def _windows(shape: Shape, kernel: int, stride: int, padding: int, dilation: int) -> Shape:
    reach = dilation * (kernel - 1) + 1
    return (*shape[:2], *((n + 2 * padding - reach) // stride + 1 for n in shape[2:]))


def _queries(inputs: Inputs, _: tuple[JsonValue, ...]) -> Shape:
    return (*_shape(inputs[0])[:-1], _shape(inputs[2])[-1])


def _bags(inputs: Inputs, _: tuple[JsonValue, ...]) -> Shape:
    return (_shape(inputs[0])[0], _shape(inputs[1])[1])


_LIKE_FIRST = (
    "relu leaky-relu sigmoid tanh gelu gelu-tanh swish elu selu softplus softsign hard-tanh hard-sigmoid "
    "softmax log-softmax softmax-masked rms-norm l2-norm frobenius-norm layer-norm group-norm batch-norm "
    "rms-norm-residual swiglu short-convolution cumsum cumsum-reverse matrix-scalar"
)
_LOSSES = "mse-loss l1-loss huber-loss hinge-loss kl-div-loss cosine-loss triplet-loss"
RESULTS: dict[str, Result] = {
    **dict.fromkeys(_LIKE_FIRST.split(), _first),
    **dict.fromkeys(_LOSSES.split(), _number),
    "cross-entropy-loss": _number,
    "linear-cross-entropy": _number,
    "sum-dim": _kept,
    "mean-dim": _reduced,
    "max-dim": _reduced,
    "matmul": _product(),
    "matmul-square": _product(),
    "matmul-batched": _product(),
    "matmul-3d": _product(),
    "matmul-transposed-a": _product(a=-1),
    "matmul-transposed-b": _product(b=-2),
    "matrix-vector": _product(),
    **{f"avg-pool-{n}d": _average for n in (1, 2, 3)},
    **{f"max-pool-{n}d": _largest for n in (1, 2)},
    "attention": _queries,
    "causal-attention": _queries,
    "sliding-window-attention": _queries,
    "embedding-bag": _bags,
}
"""The tasks that are asked with gradients as well, with the shape of what they return."""
PARAMETERS = {
    "layer-norm": ("ln.weight", "ln.bias"),
    "group-norm": ("gn.weight", "gn.bias"),
    "batch-norm": ("bn.weight", "bn.bias"),
}
"""Parameters of a task's reference that gradients are asked by."""
CONSTANT_INPUTS = {"kl-div-loss": ("input 2",)}
"""Real inputs that no gradient is asked by."""


def with_backward(task: Task) -> Task | None:
    """Return a task whose gradients are judged as well; None for one that isn't asked so."""
    result = RESULTS.get(task.name)
    if result is None:
        return None
    first = task.workloads[0].inputs
    by = tuple(
        f"input {number + 1}" for number, item in enumerate(first) if _is_real(item)
    ) + PARAMETERS.get(task.name, ())
    by = tuple(name for name in by if name not in CONSTANT_INPUTS.get(task.name, ()))
    asked = [
        _asked(work, Backward(by=by), result(work.inputs, work.init)) for work in _chosen(task)
    ]
    small = min((w for w in _chosen(task) if w.role == "nominal"), key=_elements)
    return task.model_copy(
        update={
            "name": f"{task.name}{SUFFIX}",
            "title": f"{task.title}, with gradients",
            "workloads": (
                *asked[:-1],
                *_ways(small, by, result(small.inputs, small.init)),
                asked[-1],
            ),
            "prompt": f"{task.prompt} Its gradients are asked as well: by {', '.join(by)}.",
            "family": "",
            "parameters": {},
        }
    )


def _chosen(task: Task) -> Iterator[Workload]:
    """Yield the workloads at which gradients are asked, the full one last."""
    left = {"nominal": 2, "stress": OTHER_VALUES, "general": OTHER_SIZES, "full": 1}
    for work in task.workloads:
        usable = not work.reference_may_be_nonfinite and not any(map(_has_kinks, work.inputs))
        if usable and not _is_degenerate(work) and left[work.role]:
            left[work.role] -= 1
            yield work


def _ways(work: Workload, by: tuple[str, ...], shape: Shape) -> Iterator[Workload]:
    """Yield the other ways in which training asks for gradients, at one size."""
    stress = work.model_copy(update={"role": "stress"})
    if shape:
        yield _asked(stress, Backward(by=by), (1,) * len(shape), "expanded upstream")
    if len(shape) > 1:
        yield _asked(stress, Backward(by=by), shape, "transposed upstream", contiguous=False)
    yield _asked(stress, Backward(by=by, way="twice"), shape, "backward twice")
    yield _asked(stress, Backward(by=by, way="without grad"), shape, "without grad")
    for name in by if len(by) > 1 else ():
        yield _asked(stress, Backward(by=(name,)), shape, f"gradient of {name} alone")


def _asked(
    work: Workload, backward: Backward, shape: Shape, label: str = "", *, contiguous: bool = True
) -> Workload:
    """Return a workload that asks for gradients, with an upstream gradient of that shape."""
    drawn = any(not name.startswith("input ") for name in backward.by)
    upstream = TensorSpec(
        shape=shape,
        distribution="normal" if shape else "uniform",
        low=0.0 if shape else 0.5,
        high=1.0 if shape else 2.5,
        contiguous=contiguous,
    )
    return work.model_copy(
        update={
            "name": f"{work.name} {label}".strip(),
            "inputs": (*work.inputs, upstream, backward),
            "weights": "drawn" if drawn else work.weights,
        }
    )


def _shape(item: TensorSpec | JsonValue) -> Shape:
    return item.shape if isinstance(item, TensorSpec) else ()


def _is_real(item: TensorSpec | JsonValue) -> bool:
    return isinstance(item, TensorSpec) and "float" in item.dtype


def _has_kinks(item: TensorSpec | JsonValue) -> bool:
    return _is_real(item) and item.distribution in _KINKS


def _is_degenerate(work: Workload) -> bool:
    """Whether rows may have one element: a softmax or a norm of it has a gradient of nothing but rounding errors."""
    return work.role == "general" and any(1 in _shape(item)[1:] for item in work.inputs)


def _elements(work: Workload) -> int:
    return sum(prod(_shape(item)) for item in work.inputs)

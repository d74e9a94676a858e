"""Tasks whose gradients are judged as well: `softmax-backward` beside `softmax`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

from grader.errors import UsageError
from grader.records import Backward, JsonValue, Task, TaskChoice, TensorSpec, Weights, Workload
from grader.source import Source
from grader.tasks.shapes import Shape

SUFFIX = "-backward"
"""Last suffix of a task's name."""
OTHER_SIZES = 3
OTHER_VALUES = 2
"""Number of workloads of other sizes and of other values that a task keeps, each run forwards and backwards."""
_KINKS = frozenset({"zeros", "constant", "randint", "one_hot", "ones"})
"""Distributions with equal values, for which an extreme or a kink has no unique gradient."""

_SAYS_SO = re.compile(r"^backward\s*=\s*True\b", re.MULTILINE)
"""The sign that a problem file asks for gradients."""

Inputs = Sequence[TensorSpec | JsonValue]
Result = Callable[[Inputs, tuple[JsonValue, ...]], Shape]
"""The shape of a task's one result, from its inputs and its constructor's arguments."""


def _first(inputs: Inputs, _: tuple[JsonValue, ...]) -> Shape:
    return _shape(inputs[0])


def _number(_: Inputs, __: tuple[JsonValue, ...]) -> Shape:
    return ()


def _reduced_shape(inputs: Inputs, init: tuple[JsonValue, ...]) -> Shape:
    shape, dim = _shape(inputs[0]), init[0]
    return (*shape[:dim], *shape[dim + 1 :])


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
    "mean-dim": _reduced_shape,
    "max-dim": _reduced_shape,
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
"""Tasks that also have a form with gradients, with the shape of their result."""
PARAMETERS = {
    "layer-norm": ("ln.weight", "ln.bias"),
    "group-norm": ("gn.weight", "gn.bias"),
    "batch-norm": ("bn.weight", "bn.bias"),
}
"""Parameters of a task's reference that gradients are requested for."""
RESULTS_OF_THAT_SHAPE = {"rms-norm-residual": 2}
"""Number of results of a task that returns more than one."""
CONSTANT_INPUTS = {"kl-div-loss": ("input 2",)}
"""Real inputs that no gradient is requested for."""


def with_backward(task: Task) -> Task | None:
    """Return a task whose gradients are judged as well; None for one without such a form."""
    result = RESULTS.get(task.name)
    if result is None:
        return None
    first = task.workloads[0].inputs
    by = tuple(
        f"input {number + 1}" for number, item in enumerate(first) if is_real(item)
    ) + PARAMETERS.get(task.name, ())
    by = tuple(name for name in by if name not in CONSTANT_INPUTS.get(task.name, ()))
    count = RESULTS_OF_THAT_SHAPE.get(task.name, 1)
    asked = [
        _ask_gradients(
            work, Backward(by=by, upstream=count), [result(work.inputs, work.init)] * count
        )
        for work in _choose_workloads(task)
    ]
    small = min((w for w in _choose_workloads(task) if w.role == "nominal"), key=_elements)
    return task.model_copy(
        update={
            "name": f"{task.name}{SUFFIX}",
            "backward": True,
            "title": f"{task.title}, with gradients",
            "workloads": (
                *asked[:-1],
                *_ways(small, by, [result(small.inputs, small.init)] * count),
                asked[-1],
            ),
            "prompt": f"{task.prompt} Its gradients are asked as well: by {', '.join(by)}.",
            "family": "",
            "parameters": {},
        }
    )


def as_asked(choice: TaskChoice, source: Source, wanted: bool | None) -> TaskChoice:
    """Return the choice with gradients where `wanted`, or by default where problem file or answer has a backward.

    Raises UsageError where they are wanted from a built-in task without such a form.
    """
    task = choice.task
    if task is None or task.backward or wanted is False:
        return choice
    if task.source != "builtin":
        said = _SAYS_SO.search(task.reference) is not None
        asked = task.model_copy(update={"backward": True}) if wanted or said else task
        return choice.model_copy(update={"task": asked})
    own = choice.how == "inferred" and has_backward(source)
    form = with_backward(task) if wanted or own else None
    if form is None and wanted:
        raise UsageError(f"{task.name} has no form with gradients", "`tasks` says which tasks have")
    why = f"{choice.reason}; gradients as well, " + (
        "as asked" if wanted else "which the answer computes"
    )
    return choice.model_copy(update={"task": form, "reason": why}) if form else choice


def has_backward(source: Source) -> bool:
    """Whether a class of the code has a backward of its own: a `torch.autograd.Function`, or the model."""
    return any(source.module.method("backward", name) is not None for name in source.module.classes)


def with_gradients(task: Task, shapes: Mapping[str, Sequence[Shape]], by: tuple[str, ...]) -> Task:
    """Return a problem's task with gradients requested at each workload that has results of these shapes."""
    usable = [w for w in task.workloads if w.name in shapes and not any(map(_has_kinks, w.inputs))]
    asked = [
        _ask_gradients(w, Backward(by=by, upstream=len(shapes[w.name])), shapes[w.name])
        for w in usable
    ]
    small = min((w for w in usable if w.role == "nominal"), key=_elements, default=None)
    ways = _ways(small, by, shapes[small.name]) if small and not small.costly else ()
    return task.model_copy(update={"workloads": (*asked, *ways)})


def _choose_workloads(task: Task) -> Iterator[Workload]:
    """Yield the workloads that request gradients, the full one last."""
    left = {"nominal": 2, "stress": OTHER_VALUES, "general": OTHER_SIZES, "full": 1}
    for work in task.workloads:
        usable = not work.reference_may_be_nonfinite and not any(map(_has_kinks, work.inputs))
        if usable and not _is_degenerate(work) and left[work.role]:
            left[work.role] -= 1
            yield work


def _ways(work: Workload, by: tuple[str, ...], shapes: Sequence[Shape]) -> Iterator[Workload]:
    """Yield the other ways in which training requests gradients, at one size."""
    stress = work.model_copy(update={"role": "stress", "weights": _weights(work, by)})
    asked = Backward(by=by, upstream=len(shapes))
    laid = asked.model_copy(update={"in_order": False})
    if any(shapes):
        # Not along rows: the gradient of a softmax or a norm is only rounding errors where all of a row is equal.
        ones = [(1, *shape[1:]) if shape else () for shape in shapes]
        yield _ask_gradients(stress, laid, ones, "expanded upstream")
    if any(len(shape) > 1 for shape in shapes):
        yield _ask_gradients(stress, laid, shapes, "transposed upstream")
    for way in ("twice", "without grad"):
        yield _ask_gradients(
            stress, asked.model_copy(update={"way": way}), shapes, f"backward {way}"
        )
    for name in dict.fromkeys((by[0], by[-1])) if len(by) > 1 else ():
        alone = asked.model_copy(update={"by": (name,)})
        yield _ask_gradients(stress, alone, shapes, f"gradient of {name} alone")


def _ask_gradients(
    work: Workload,
    backward: Backward,
    shapes: Sequence[Shape],
    label: str = "",
) -> Workload:
    """Return a workload that requests gradients, with upstream gradients of these shapes."""
    turned = label == "transposed upstream"
    upstream = (_upstream(shape, turned=turned) for shape in shapes)
    return work.model_copy(
        update={
            "name": f"{work.name} {label}".strip(),
            "inputs": (*work.inputs, *upstream, backward),
            "weights": _weights(work, backward.by),
        }
    )


def _weights(work: Workload, by: tuple[str, ...]) -> Weights:
    """Return drawn weights where gradients for weights are requested, so that the weights differ."""
    return "drawn" if any(not name.startswith("input ") for name in by) else work.weights


def _upstream(shape: Shape, *, turned: bool) -> TensorSpec:
    """Return an upstream gradient; for a loss, a number well away from 0 and 1."""
    if not shape:
        return TensorSpec(shape=(), distribution="uniform", low=1.5, high=2.5)
    order = tuple(range(len(shape))[::-1]) if turned and len(shape) > 1 else ()
    return TensorSpec(shape=shape, order=order)


def _shape(item: TensorSpec | JsonValue) -> Shape:
    return item.shape if isinstance(item, TensorSpec) else ()


def is_real(item: TensorSpec | JsonValue) -> bool:
    """Whether an input is a tensor that can have a gradient."""
    return isinstance(item, TensorSpec) and "float" in item.dtype


def _has_kinks(item: TensorSpec | JsonValue) -> bool:
    return is_real(item) and item.distribution in _KINKS


def _is_degenerate(work: Workload) -> bool:
    """Whether rows may have one element: the gradient of its softmax or norm is only rounding errors."""
    return work.role == "general" and any(1 in _shape(item)[1:] for item in work.inputs)


def _elements(work: Workload) -> int:
    return sum(prod(_shape(item)) for item in work.inputs)

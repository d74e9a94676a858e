"""IDX005: a kernel supports only one example's sizes or number of dims."""

import ast
from collections.abc import Iterator, Sequence

from grader.records import TensorSpec
from grader.records.observed import wrong_results
from grader.rules import Context, Finding, Fix, Place, Source, fix, rule_of
from grader.source.analysis.cases import Case, cases, task_inputs
from grader.source.analysis.host_code import put_first, refuses
from grader.source.cpp import Call, Name, Number, walk
from grader.source.forward_arguments import bindings

LARGE = 1024
"""Least size that is not a tile's."""
HANDLED = frozenset({"dim", "numel", "ndimension", "view", "reshape", "flatten", "sizes", "ndim"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for constants that equal the task's sizes, and for inputs assumed to be matrices."""
    yield from _constants(source, context)
    yield from _ranks(source, context)


def _constants(source: Source, context: Context) -> Iterator[Finding]:
    """Report named constants that equal a large size of the task and are never checked."""
    inputs = (i for role in ("nominal", "full") for i in task_inputs(context.task, role))
    sizes = {size for one in inputs if isinstance(one, TensorSpec) for size in one.shape}
    for case in cases(source, context)[:1] if max(sizes, default=0) > LARGE else ():
        named = [(m.name, m.expr, m.node) for m in case.unit.macros.values()]
        named += [(c.name, c.init, c.node) for c in case.unit.constants.values() if c.const]
        for name, expr, node in named if not refuses(source, case) else ():
            value = getattr(expr, "value", None)
            if isinstance(value, int) and value > LARGE and value in sizes:
                yield RULE.finding(
                    case.place(node),
                    f"`{name}` = {value} is the size of the task's own input; with any other size the kernel computes something else or "
                    "runs out of bounds, and nothing checks it",
                )


# the number of dimensions


def _ranks(source: Source, context: Context) -> Iterator[Finding]:
    """Look for inputs of which exactly the first two sizes are used."""
    for case in {case.launch.host.name: case for case in reversed(cases(source, context))}.values():
        tensors = [p.name for p in case.launch.host.parameters if p.kind.endswith("Tensor")]
        for name in tensors[:1]:
            given = bindings(source, case.launch.host).get(name)
            index = given.index if given is not None and given.kind == "tensor" else None
            if place := _in_cpp(case, name) or _in_python(source, case):
                yield _of_rank(case, name, place, context, index)


def _of_rank(case: Case, name: str, place: Place, context: Context, index: int | None) -> Finding:
    """Report it: as an error where the task's input has more sizes and results were wrong, as a note where it has two."""
    workloads = context.task.workloads if context.task is not None and index is not None else ()
    deep = {w.name: w.role for w in workloads if _rank(w.inputs, index or 0) > 2}
    every = (*wrong_results(context), *wrong_results(context, general=True))
    proof = tuple(item for item in every if item.workload in deep)
    usual = "nominal" in deep.values()
    wrong = proof if usual else ()
    return RULE.finding(
        place,
        f"only the first two sizes of `{name}` are looked at, and nothing checks that there are no more: of a 3-D or 4-D input only the "
        "first size(0) * size(1) values are worked on, in the wrong groups",
        severity="error" if wrong else "warning" if proof or usual else "note",
        evidence=wrong,
        fixes=_only_matrices(case, name) if not wrong else (),
        kernels=(case.kernel,),
    )


def _rank(inputs: Sequence[object], index: int) -> int:
    """Return the rank of an input, 2 where all further sizes equal one of the first two; 0 for no tensor."""
    given = inputs[index] if index < len(inputs) else None
    shape = given.shape if isinstance(given, TensorSpec) else ()
    return len(shape) if set(shape[2:]) - set(shape[:2]) else min(len(shape), 2)


def _only_matrices(case: Case, name: str) -> tuple[Fix, ...]:
    line = f"TORCH_CHECK({name}.dim() == 2);"
    return fix("refuse inputs of another rank", put_first(case, line))


def _in_cpp(case: Case, name: str) -> Place | None:
    """Return the place of size(0), if only size(0) and size(1) are used."""
    asked: dict[object, Call] = {}
    for part in walk(case.launch.host.code):
        if isinstance(part, Call) and part.name in HANDLED:
            return None
        match part:
            case Call(name="size", base=Name(id=base), args=(index, *_)) if base == name:
                asked[index.value if isinstance(index, Number) else None] = part
    return case.place(asked[0].node) if set(asked) == {0, 1} else None


def _in_python(source: Source, case: Case) -> Place | None:
    """Return the place where Python passes exactly the first two sizes."""
    bound = bindings(source, case.launch.host).values()
    sizes = {one.dim for one in bound if one.kind == "size" and one.index == 0}
    if sizes != {0, 1} or any(one.kind == "numel" for one in bound):
        return None
    named = [n for n in source.walk(ast.Attribute) if n.attr in {"size", "shape"}]
    return source.place(named[0]) if named else None


RULE = rule_of(__file__, check, predicts="elsewhere")

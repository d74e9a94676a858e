"""IDX005: a kernel only fits the sizes of one example, or its number of dimensions."""

import ast
from collections.abc import Iterator

from grader.records import TensorSpec
from grader.records.observed import wrong_results
from grader.rules import Context, Evidence, Finding, Fix, Place, Source, fix, rule_of
from grader.source.analysis.host_code import body_start, refuses
from grader.source.analysis.walks import Case, cases, task_inputs
from grader.source.cpp import Call, Name, Number, walk
from grader.source.forward_arguments import bindings
from grader.source.statements import insert_before

LARGE = 1024
"""From here on a size is no tile's."""
HANDLED = frozenset({"dim", "numel", "ndimension", "view", "reshape", "flatten", "sizes", "ndim"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for constants that are the task's sizes, and for inputs taken for matrices."""
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
    """Look for inputs of which exactly the first two sizes are asked."""
    seen: set[str] = set()
    for case in cases(source, context):
        function = case.launch.host
        tensors = [p.name for p in function.parameters if p.kind.endswith("Tensor")]
        for name in tensors[:1] if function.name not in seen else ():
            place = _in_cpp(case, name) or _in_python(source, case)
            given = bindings(source, function).get(name)
            index = given.index if given is not None and given.kind == "tensor" else None
            if place is not None:
                yield _of_rank(
                    case, name, place, _rank(context, index), _wrong_ranks(context, index)
                )
        seen.add(function.name)


def _of_rank(
    case: Case, name: str, place: Place, rank: int | None, proof: tuple[Evidence, ...]
) -> Finding:
    """Report it: as an error where the task's input has more sizes and results were wrong, as a note where it has two."""
    wrong = proof if rank is not None and rank > 2 else ()
    plain = rank in {None, 2} and not proof
    more = (
        f"the task's has {rank}"
        if wrong
        else "nothing checks that there are no more: of a 3-D or 4-D input"
    )
    return RULE.finding(
        place,
        f"only the first two sizes of `{name}` are looked at, and {more}{':' if wrong else ''} only the first size(0) * "
        "size(1) values are worked on, in the wrong groups",
        severity="error" if wrong else "note" if plain else "warning",
        evidence=wrong,
        fixes=_only_matrices(case, name) if not wrong else (),
        kernels=(case.kernel,),
    )


def _only_matrices(case: Case, name: str) -> tuple[Fix, ...]:
    first = body_start(case.launch.host)
    line = f"TORCH_CHECK({name}.dim() == 2);"
    edits = [insert_before(case.unit, first, line)] if first is not None else []
    return fix("refuse inputs of another rank", edits)


def _in_cpp(case: Case, name: str) -> Place | None:
    """Return the place where size(0) is asked, if size(0) and size(1) are all that is."""
    asked: dict[object, Call] = {}
    for part in walk(case.launch.host.code):
        if isinstance(part, Call) and part.name in HANDLED:
            return None
        if not (isinstance(part, Call) and part.name == "size" and part.args):
            continue
        if isinstance(part.base, Name) and part.base.id == name:
            index = part.args[0]
            asked[index.value if isinstance(index, Number) else None] = part
    return case.place(asked[0].node) if set(asked) == {0, 1} else None


def _in_python(source: Source, case: Case) -> Place | None:
    """Return the place where Python passes exactly the first two sizes."""
    bound = bindings(source, case.launch.host).values()
    sizes = {one.dim for one in bound if one.kind == "size" and one.index == 0}
    if sizes != {0, 1} or any(one.kind == "numel" for one in bound):
        return None
    asked = [n for n in source.walk(ast.Call) if getattr(n.func, "attr", "") == "size"]
    shapes = [n for n in source.walk(ast.Attribute) if n.attr == "shape"]
    return next((source.place(n) for n in (*asked, *shapes)), None)


def _rank(context: Context, index: int | None) -> int | None:
    """Return the rank of the task's input that the host function is given, where that is known."""
    inputs = task_inputs(context.task, "nominal")
    item = inputs[index] if index is not None and index < len(inputs) else None
    return _sizes_apart(item) if isinstance(item, TensorSpec) else None


def _sizes_apart(item: TensorSpec) -> int:
    """Return the rank, 2 where the first two sizes are all that there are: a square matrix's second one is its first."""
    more = set(item.shape[2:]) - set(item.shape[:2])
    return len(item.shape) if more else min(len(item.shape), 2)


def _wrong_ranks(context: Context, index: int | None) -> tuple[Evidence, ...]:
    """Return wrong results on workloads in which that input has another rank than two."""
    if context.task is None or index is None:
        return ()
    inputs = {w.name: w.inputs[index : index + 1] for w in context.task.workloads}
    other = {
        name
        for name, some in inputs.items()
        if any(isinstance(one, TensorSpec) and _sizes_apart(one) > 2 for one in some)
    }
    every = (*wrong_results(context), *wrong_results(context, general=True))
    return tuple(item for item in every if item.workload in other)


RULE = rule_of(__file__, check, predicts="elsewhere")

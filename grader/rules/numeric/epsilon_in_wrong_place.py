"""NUM003: the epsilon is added at another spot than in the reference."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, Task
from grader.records.observed import wrong_results
from grader.rules.rule import Example, Rule
from grader.source import Source, Unit
from grader.source.analysis.reference_text import reference_of
from grader.source.cuda_code import one_line
from grader.source.flow import flow
from grader.source.flow.program import Function
from grader.source.flow.tree import (
    Binary,
    Call,
    Cast,
    Expr,
    Member,
    Name,
    Number,
    Subscript,
    children,
    walk,
)

ROOTS = frozenset({"sqrt", "sqrtf", "rsqrt", "rsqrtf"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare where both add it: under the root, or to the root."""
    reference = reference_of(source, context)
    wanted = reference.epsilon() if reference is not None else ""
    if not wanted:
        return
    wrong = wrong_results(context)
    bare: list[tuple[Unit, Call]] = []
    some = False
    for unit in source.cuda:
        for function in flow(unit).program.functions:
            bare += [(unit, call) for call in _bare_roots(function)]
            some = some or any(True for _ in _epsilons(function))
            for found, expr in _epsilons(function) if function.kind != "host" else ():
                if found != wanted:
                    yield RULE.finding(
                        unit.place(expr.node),
                        f"`{one_line(expr.node, 50)}` adds epsilon {_SAY[found]}, the reference {_SAY[wanted]}: small values come out "
                        "differently",
                        severity="error" if wrong else "warning",
                        confidence="likely",
                        evidence=wrong[:1],
                    )
                    return
    if len(bare) == 1 and not some and not _anywhere(source):
        yield _left_out(*bare[0], wrong)


def _bare_roots(function: Function) -> Iterator[Call]:
    if function.kind != "host":
        for part in walk(function.body):
            if isinstance(part, Call) and part.name in ROOTS:
                yield part


def _anywhere(source: Source) -> bool:
    """Whether an epsilon plays a part in any computation of the device code."""
    return any(
        isinstance(part, Binary | Call)
        and any(isinstance(p, Expr) and _is_epsilon(p) for p in children(part))
        for unit in source.cuda
        for function in flow(unit).program.functions
        if function.kind != "host"
        for part in walk(function.body)
    )


def _left_out(unit: Unit, root: Call, wrong: tuple[Evidence, ...]) -> Finding:
    return RULE.finding(
        unit.place(root.node),
        f"`{one_line(root.node, 50)}` leaves out the epsilon that the reference adds under the "
        "root: values near zero come out too large, or infinite",
        severity="error" if wrong else "warning",
        confidence="likely",
        evidence=wrong[:1],
    )


_SAY = {"inside": "under the root", "outside": "to the root"}


def _epsilons(function: Function) -> Iterator[tuple[str, Expr]]:
    inside: set[int] = set()
    for part in walk(function.body):
        if isinstance(part, Call) and part.name in ROOTS:
            for inner in walk(part):
                if isinstance(inner, Binary) and inner.op == "+" and _has_epsilon(inner):
                    inside.add(inner.node.id)
                    yield "inside", inner
    for part in walk(function.body):
        if (
            isinstance(part, Binary)
            and part.op == "+"
            and _has_epsilon(part)
            and part.node.id not in inside
        ):
            other = part.left if _is_epsilon(part.right) else part.right
            root = any(isinstance(p, Call) and p.name in ROOTS for p in walk(other))
            named = isinstance(other, Name) and any(
                w in other.id.lower() for w in ("norm", "rms", "std")
            )
            if root or named:
                yield "outside", part


def _has_epsilon(part: Binary) -> bool:
    return _is_epsilon(part.left) or _is_epsilon(part.right)


def _is_epsilon(expr: Expr) -> bool:
    expr = _plain(expr)
    if isinstance(expr, Name):
        return "eps" in expr.id.lower()
    return isinstance(expr, Number) and 0 < float(expr.value) < 1e-2


def _plain(expr: Expr) -> Expr:
    """Return what a conversion, a call with one argument, or `p[0]` is about."""
    while True:
        match expr:
            case Cast(operand=inner) | Subscript(base=inner):
                expr = inner
            case Call(args=(inner,), base=None, name=name) if name not in ROOTS:
                expr = inner
            case Member(name=name, node=node):
                return Name(node, name)
            case _:
                return expr


def _task(reference: str) -> Task:
    return Task(name="t", title="t", source="file", reference=reference, workloads=())


_BAD = """
__global__ void scale(const float* x, float* y, float mean_sq, float eps) {
    float inv = 1.0f / (sqrtf(mean_sq) + eps);
    y[threadIdx.x] = x[threadIdx.x] * inv;
}
"""
_RMS = "def forward(x, eps):\n    return x / torch.sqrt(torch.mean(x ** 2, dim=1) + eps)\n"

RULE = Rule(
    code="NUM003",
    name="epsilon-in-wrong-place",
    severity="error",
    summary="The small safety number is added at another spot than in the reference, which changes results for small values.",
    why="sqrt(v + eps) and sqrt(v) + eps agree for large v only: for v = 0 and eps = 1e-5 the first is 0.003, the second 0.00001.",
    bad=Example(_BAD, Context(task=_task(_RMS))),
    good=_BAD,
    detects=("text", "evidence"),
    guards="Only where the reference's text is known and shows its epsilon; a warning until a result differs.",
    fix="",
    check=check,
    conditions="values so small that the epsilon counts",
)

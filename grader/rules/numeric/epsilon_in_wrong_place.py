"""NUM003: the epsilon is added at another spot than in the reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Finding, Task
from grader.rules.cuda_code import one_line
from grader.rules.numeric.references import reference_of
from grader.rules.rule import Context, Example, Rule
from grader.source.flow import flow
from grader.source.flow.tree import Binary, Call, Expr, Function, Name, Number, walk

if TYPE_CHECKING:
    from grader.source import Source

ROOTS = frozenset({"sqrt", "sqrtf", "rsqrt", "rsqrtf"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare where both add it: under the root, or to the root."""
    reference = reference_of(source, context)
    wanted = reference.epsilon() if reference is not None else ""
    if not wanted:
        return
    wrong = tuple(e for e in context.evidence if e.kind in {"mismatch", "probe"})
    for unit in source.cuda:
        for function in flow(unit).program.functions:
            for found, expr in _epsilons(function) if function.kind != "host" else ():
                if found != wanted:
                    yield RULE.finding(
                        unit.place(expr.node),
                        f"`{one_line(expr.node, 50)}` adds epsilon {_SAY[found]}, the reference "
                        f"{_SAY[wanted]}: small "
                        "values come out differently",
                        severity="error" if wrong else "warning",
                        evidence=wrong[:1],
                        data={"found": found, "wanted": wanted},
                    )
                    return


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
    if isinstance(expr, Name):
        return "eps" in expr.id.lower()
    return isinstance(expr, Number) and 0 < float(expr.value) < 1e-2


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
    summary="The small safety number is added at another spot than in the reference, which changes "
    "results for small values.",
    why="sqrt(v + eps) and sqrt(v) + eps agree for large v only: for v = 0 and eps = 1e-5 the "
    "first is "
    "0.003, the second 0.00001.",
    bad=Example(_BAD, Context(task=_task(_RMS))),
    good=(
        _BAD,
        Example(
            _BAD.replace("(sqrtf(mean_sq) + eps)", "sqrtf(mean_sq + eps)"),
            Context(task=_task(_RMS)),
        ),
    ),
    detects=("text", "evidence"),
    guards="Only where the reference's text is known and shows its epsilon; a warning until a "
    "result "
    "differs.",
    mend="",
    check=check,
)

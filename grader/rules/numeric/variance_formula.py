"""NUM004: the variance's divisor differs from the reference's, or its formula cancels."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Finding, Fix, Task
from grader.rules.rule import Example, Rule
from grader.source import Source, Unit
from grader.source.analysis.reference_text import NORMS, Reference, reference_of
from grader.source.code_edits import fix
from grader.source.cuda_code import around, one_line, text
from grader.source.flow import flow
from grader.source.flow.tree import Binary, Expr, Name, Number, walk
from grader.source.statements import statement

ROOTS = frozenset({"sqrt", "sqrtf", "rsqrt", "rsqrtf"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at divisions of sums of squares, and at E[x^2] - mean^2."""
    reference = reference_of(source, context)
    wanted = _divisor(reference) if reference is not None else ""
    wrong = tuple(e for e in context.evidence if e.kind in {"mismatch", "probe"})
    for unit in source.cuda:
        for function in flow(unit).program.functions:
            if function.kind == "host":
                continue
            for part in walk(function.body):
                if (
                    isinstance(part, Binary)
                    and part.op == "/"
                    and wanted == "n"
                    and _is_less_one(part.right)
                ):
                    if _about_variance(part):
                        yield _biased(unit, part)
                elif isinstance(part, Binary) and part.op == "-" and _cancels(part):
                    yield RULE.finding(
                        unit.place(part.node),
                        f"`{one_line(part.node, 50)}` takes the variance as a difference of two large numbers: where the mean is large "
                        "against the spread, few digits are left",
                        severity="warning" if wrong else "note",
                        confidence="possible",
                    )


def _divisor(reference: Reference) -> str:
    """Return what the reference divides the sum of squares by, where that is plain."""
    if (
        reference.has(*NORMS)
        or "unbiased=False" in reference.text
        or "correction=0" in reference.text
    ):
        return "n"
    return ""


def _is_less_one(expr: Expr) -> bool:
    parts = [p for p in walk(expr) if isinstance(p, Binary) and p.op == "-"]
    return any(isinstance(p.right, Number) and p.right.value == 1 for p in parts)


def _about_variance(part: Binary) -> bool:
    words = text(part.left.node).lower()
    if "running" in text(statement(part.node)).lower():
        return False
    if _under_root(part):
        return True
    return any(word in words for word in ("var", "sq", "m2", "ss", "diff"))


def _under_root(part: Binary) -> bool:
    """Whether it is what a root is taken of, epsilon or not: `rsqrtf(s / (n - 1) + eps)`."""
    for outer in around(part.node):
        if outer.type == "call_expression":
            return text(outer.child_by_field_name("function")) in ROOTS
        if outer.type.endswith(("statement", "declaration")):
            return False
    return False


def _biased(unit: Unit, part: Binary) -> Finding:
    return RULE.finding(
        unit.place(part.node),
        f"`{one_line(part.node, 50)}` divides by n - 1, the reference's normalisation by n: every result is off by the factor sqrt((n - "
        "1) / n)",
        fixes=_fixes(unit, part),
    )


def _fixes(unit: Unit, part: Binary) -> Iterator[Fix]:
    for inner in walk(part.right):
        if isinstance(inner, Binary) and inner.op == "-":
            yield from fix(
                "divide by n",
                [unit.edit(inner.node.start_byte, inner.node.end_byte, text(inner.left.node))],
            )
            return


def _cancels(part: Binary) -> bool:
    """Whether it reads `a / n - m * m`."""
    right = part.right
    square = (
        isinstance(right, Binary)
        and right.op == "*"
        and isinstance(right.left, Name)
        and isinstance(right.right, Name)
        and right.left.id == right.right.id
    )
    if not square or not isinstance(right, Binary) or not isinstance(right.left, Name):
        return False
    return (
        any(word in right.left.id.lower() for word in ("mean", "mu", "avg")) or right.left.id == "m"
    )


_BAD = """
__global__ void norm(const float* x, float* y, float mean, float sumsq, int n, float eps) {
    float inv = rsqrtf(sumsq / (n - 1) + eps);
    y[threadIdx.x] = (x[threadIdx.x] - mean) * inv;
}
"""
_TASK = Task(
    name="t",
    title="t",
    source="file",
    workloads=(),
    reference="def forward(x):\n    return torch.nn.functional.layer_norm(x, (64,))\n",
)

RULE = Rule(
    code="NUM004",
    name="variance-divisor-or-formula",
    severity="error",
    summary="The variance is divided by n-1 instead of n, or computed by a formula that cancels badly.",
    why="Normalisation layers divide the sum of squared differences by n; torch.var divides by n - 1 unless told otherwise. E[x^2] - "
    "E[x]^2 in float loses all digits when the mean is a few thousand times the spread: subtract the mean first, or update it as "
    "Welford does.",
    bad=Example(_BAD, Context(task=_TASK)),
    good=_BAD,
    detects=("text", "evidence"),
    guards="The divisor is compared only where the reference shows its own. The one-pass formula is a note, and a warning where results "
    "differ.",
    fix="Divides by n.",
    check=check,
    conditions="rows so short, or a mean so large against the spread, that the difference counts",
)

"""NUM002: a row of zeros leads to a division by zero, or is treated unlike in torch."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding
from grader.rules.rule import Rule
from grader.source import Source, Unit
from grader.source.code_edits import fix
from grader.source.cuda_code import one_line
from grader.source.flow import flow
from grader.source.flow.program import Function
from grader.source.flow.tree import (
    Assign,
    Binary,
    Call,
    Declare,
    Expr,
    If,
    Name,
    Number,
    Select,
    Stmt,
    walk,
)

ROOTS = frozenset({"sqrt", "sqrtf", "rsqrt", "rsqrtf", "__fsqrt_rn"})
LIMITS = frozenset({"fmaxf", "fmax", "max"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at what rows are divided by."""
    seen = context.seen("mismatch", "probe")
    proof = tuple(e for e in seen if e.code == "nan" and "zero" in (e.workload or ""))
    for unit in source.cuda:
        for function in flow(unit).program.functions:
            if function.kind != "host":
                yield from _function(unit, function, proof)


def _function(unit: Unit, function: Function, proof: tuple[Evidence, ...]) -> Iterator[Finding]:
    norms, tests = set(_norms(function)), dict(_tests(function))
    found = ((part, divisor) for part in walk(function.body) if (divisor := _divisor(part)))
    part, divisor = next(((p, d) for p, d in found if d.id in norms), (None, None))
    test = tests.get(divisor.id) if divisor is not None else None
    if divisor is None or part is None or (divisor.id in tests and test is None):
        return
    if test is not None:
        yield RULE.finding(
            unit.place(test.node),
            f"a row of zeros (`{divisor.id}` = 0) is given zeros here; where the reference just divides, it gives NaN",
            severity="note",
            confidence="possible",
        )
        return
    node, safe = divisor.node, f"({divisor.id} > 0 ? {divisor.id} : 1)"
    yield RULE.finding(
        unit.place(part.node),
        f"`{one_line(part.node, 50)}`: for a row of zeros `{divisor.id}` is 0 and the result 0/0 = NaN, as in a reference without an "
        "epsilon; make sure that this is wanted",
        severity="warning" if proof else "note",
        confidence="proven" if proof else "possible",
        evidence=proof,
        fixes=fix("divide rows of zeros by 1", [unit.edit(node.start_byte, node.end_byte, safe)]),
    )


def _divisor(part: Expr | Stmt) -> Name | None:
    divides = isinstance(part, Binary) and part.op == "/"
    by = part.right if divides and isinstance(part, Binary) else None
    by = part.value if isinstance(part, Assign) and part.op == "/=" else by
    return by if isinstance(by, Name) else None


def _norms(function: Function) -> Iterator[str]:
    """Yield the variables that hold a root or a mean of a sum, without an epsilon or a limit."""
    for part in walk(function.body):
        if isinstance(part, Declare) and part.init is not None and _is_norm(part.name, part.init):
            yield part.name
        elif isinstance(part, Assign) and part.op == "=" and isinstance(part.target, Name):
            if _is_norm(part.target.id, part.value):
                yield part.target.id


def _is_norm(name: str, value: Expr) -> bool:
    parts = list(walk(value))
    called = {p.name for p in parts if isinstance(p, Call)}
    small = any(isinstance(p, Number) and 0 < float(p.value) < 1e-3 for p in parts)
    epsilon = small or any(isinstance(p, Name) and "eps" in p.id.lower() for p in parts)
    quotient = isinstance(value, Binary) and value.op == "/"
    mean = quotient and any(word in name.lower() for word in ("mean", "norm"))
    return not (epsilon or called & LIMITS) and (bool(called & ROOTS) or mean)


def _tests(function: Function) -> Iterator[tuple[str, Expr | None]]:
    """Yield the variables that are compared with something, the test beside them where that is zero; last one first."""
    for part in reversed(list(walk(function.body))):
        if isinstance(part, If | Select):
            for inner in walk(part.test):
                if isinstance(inner, Binary) and isinstance(inner.left, Name):
                    equal = inner.op in {"==", "!="} and isinstance(inner.right, Number)
                    zero = equal and isinstance(inner.right, Number) and inner.right.value == 0
                    yield inner.left.id, part.test if zero else None
        elif isinstance(part, Call) and part.name in LIMITS:
            yield from ((p.id, None) for p in part.args if isinstance(p, Name))


_BAD = """
__global__ void unit(const float* x, float* y, int n) {
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s += x[i] * x[i];
    float norm = sqrtf(s);
    for (int i = 0; i < n; ++i) y[i] = x[i] / norm;
}
"""
RULE = Rule(
    code="NUM002",
    name="zero-denominator",
    severity="warning",
    summary="A row of zeros leads to a division by zero; decide whether that should give NaN as in PyTorch or zeros.",
    why="A norm of 0 makes 0/0 = NaN. If the reference has no epsilon that is the matching result; if the task asks for zeros, or for an "
    "epsilon, it is not. A guard that the reference doesn't have is a difference as well, if a harmless one.",
    bad=_BAD,
    good=_BAD.replace("int n", "int n, float eps").replace("(s", "(s + eps"),
    detects=("text", "evidence"),
    guards="A note until a run with rows of zeros differs from the reference. An epsilon, a maximum or a test of the denominator settles "
    "it.",
    fix="Divides rows of zeros by 1.",
    check=check,
    predicts="elsewhere",
)

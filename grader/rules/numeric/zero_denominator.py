"""NUM002: a row of zeros leads to a division by zero, or is treated unlike in torch."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, Fix
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
    walk,
)

ROOTS = frozenset({"sqrt", "sqrtf", "rsqrt", "rsqrtf", "__fsqrt_rn"})
LIMITS = frozenset({"fmaxf", "fmax", "max", "fmax_"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at what rows are divided by."""
    proof = tuple(
        e
        for e in context.evidence
        if e.kind in {"mismatch", "probe"} and e.code == "nan" and "zero" in (e.workload or "")
    )
    for unit in source.cuda:
        for function in flow(unit).program.functions:
            if function.kind != "host":
                yield from _function(unit, function, proof)


def _function(unit: Unit, function: Function, proof: tuple[Evidence, ...]) -> Iterator[Finding]:
    norms = _norms(function)
    tests = _tests(function)
    for part in walk(function.body):
        divisor = _divisor(part)
        if divisor is None or divisor.id not in norms:
            continue
        if divisor.id in tests:
            if tests[divisor.id] is not None:
                yield _guarded(unit, divisor.id, tests[divisor.id])
            return
        yield RULE.finding(
            unit.place(part.node),
            f"`{one_line(part.node, 50)}`: for a row of zeros `{divisor.id}` is 0 and the result 0/0 = NaN, as in a reference without an "
            "epsilon; make sure that this is wanted",
            severity="warning" if proof else "note",
            confidence="proven" if proof else "possible",
            evidence=proof,
            fixes=_fixes(unit, divisor),
        )
        return


def _guarded(unit: Unit, name: str, test: Expr | None) -> Finding:
    return RULE.finding(
        unit.place(test.node) if test is not None else None,
        f"a row of zeros (`{name}` = 0) is given zeros here; where the reference just divides, it gives NaN",
        severity="note",
        confidence="possible",
    )


def _divisor(part: object) -> Name | None:
    if isinstance(part, Binary) and part.op == "/" and isinstance(part.right, Name):
        return part.right
    if isinstance(part, Assign) and part.op == "/=" and isinstance(part.value, Name):
        return part.value
    return None


def _norms(function: Function) -> set[str]:
    """Return the variables that hold a root or a mean of a sum, without an epsilon."""
    names: set[str] = set()
    for part in walk(function.body):
        name, value = "", None
        if isinstance(part, Declare) and part.init is not None:
            name, value = part.name, part.init
        elif isinstance(part, Assign) and part.op == "=" and isinstance(part.target, Name):
            name, value = part.target.id, part.value
        if value is not None and _is_norm(name, value):
            names.add(name)
    return names


def _is_norm(name: str, value: Expr) -> bool:
    parts = list(walk(value))
    if any(isinstance(p, Call) and p.name in LIMITS for p in parts):
        return False
    if any(isinstance(p, Name) and "eps" in p.id.lower() for p in parts):
        return False
    if any(isinstance(p, Number) and 0 < float(p.value) < 1e-3 for p in parts):
        return False
    root = any(isinstance(p, Call) and p.name in ROOTS for p in parts)
    mean = (
        isinstance(value, Binary)
        and value.op == "/"
        and any(w in name.lower() for w in ("mean", "norm"))
    )
    return root or mean


def _tests(function: Function) -> dict[str, Expr | None]:
    """Return the variables that are compared with something, with the test where that is zero."""
    found: dict[str, Expr | None] = {}
    for part in walk(function.body):
        if isinstance(part, If | Select):
            for inner in walk(part.test):
                if isinstance(inner, Binary) and isinstance(inner.left, Name):
                    zero = (
                        isinstance(inner.right, Number)
                        and inner.op in {"==", "!="}
                        and inner.right.value == 0
                    )
                    found.setdefault(inner.left.id, part.test if zero else None)
        elif isinstance(part, Call) and part.name in LIMITS:
            for name in (p.id for p in part.args if isinstance(p, Name)):
                found.setdefault(name, None)
    return found


def _fixes(unit: Unit, divisor: Name) -> Iterator[Fix]:
    node = divisor.node
    yield from fix(
        "divide rows of zeros by 1",
        [unit.edit(node.start_byte, node.end_byte, f"({divisor.id} > 0 ? {divisor.id} : 1)")],
    )


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

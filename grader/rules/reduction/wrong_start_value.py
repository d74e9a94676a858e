"""RED005: a running value starts at a number that isn't neutral, or isn't set."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.records.observed import observed, ran_right
from grader.rules.proofs import settle
from grader.rules.rule import Rule
from grader.source import Source, Unit
from grader.source.analysis.folds import MAXIMA, MINIMA, folds, same_text
from grader.source.code_edits import fix
from grader.source.flow import flow
from grader.source.flow.program import Function
from grader.source.flow.tree import (
    Assign,
    Binary,
    Call,
    Cast,
    Declare,
    Evaluate,
    Expr,
    If,
    Loop,
    Name,
    Number,
    Unary,
    Update,
    walk,
)

NOT_NEGATIVE = ("fabs", "fabsf", "abs", "exp", "expf", "__expf", "sqrt", "sqrtf", "relu")
COMPUTES = MAXIMA | MINIMA | {"fma", "fmaf", "__fmaf_rn", "__fadd_rn", "__hadd"}
"""Functions that read all their arguments."""
SMALLEST = frozenset({"FLT_MIN", "DBL_MIN", "FLT_EPSILON"})
SCALARS = frozenset(
    {"float", "double", "int", "scalar_t", "T", "long", "long long", "int64_t", "accscalar_t"}
)


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the accumulators of device functions, and at what runs showed of them."""
    found = tuple(("", finding) for finding in _text(source, context))
    yield from settle(RULE, found, observed(context, "uninit-local"), ())


def _text(source: Source, context: Context) -> Iterator[Finding]:
    for unit in source.cuda:
        for function in flow(unit).program.functions:
            if function.kind != "host":
                right = ran_right(context, function.name)
                for finding in _accumulators(unit, function):
                    yield finding.model_copy(update={"severity": "warning"}) if right else finding


def _accumulators(unit: Unit, function: Function) -> Iterator[Finding]:
    found = folds(function)
    for part in walk(function.body):
        if isinstance(part, Declare) and not part.dims and not part.shared:
            yield from _accumulator(unit, function, part, found)


def _accumulator(
    unit: Unit, function: Function, start: Declare, found: dict[str, list[tuple[str, Expr]]]
) -> Iterator[Finding]:
    if start.pointer or start.reference:
        return
    if start.init is None:
        yield from _unset(unit, function, start)
        return
    value = _plain(start.init)
    for fold, node in found.get(start.name, ()):
        wrong = _wrong(fold, value, _declared_as(function, node))
        if wrong is not None and not (wrong == "0" and _rectifies(function, fold)):
            good = {"max": "-INFINITY", "min": "INFINITY", "product": "1.0f"}[fold]
            yield RULE.finding(
                unit.place(start.node),
                f"`{start.name}` starts at {wrong}, which is no neutral start of a {_NAMES[fold]}: {_EFFECT[fold]}",
                fixes=fix(
                    f"start the {_NAMES[fold]} at {good}",
                    [unit.edit(start.init.node.start_byte, start.init.node.end_byte, good)],
                ),
            )
            return


def _declared_as(function: Function, operand: Expr) -> Expr:
    """Return what a variable is declared as, where that is all that it ever is."""
    if not isinstance(operand, Name):
        return operand
    parts = list(walk(function.body))
    made = [p.init for p in parts if isinstance(p, Declare) and p.name == operand.id]
    changed = (p.target for p in parts if isinstance(p, Assign | Update))
    once = not any(isinstance(target, Name) and target.id == operand.id for target in changed)
    return made[0] if once and len(made) == 1 and made[0] is not None else operand


def _rectifies(function: Function, fold: str) -> bool:
    """Whether by its name it takes a ReLU as well, which is what a maximum that starts at 0 does."""
    return fold == "max" and "relu" in function.name.lower()


_NAMES = {"max": "maximum", "min": "minimum", "product": "product"}
_EFFECT = {
    "max": "where all values are smaller, it is the result",
    "min": "where all values are larger, it is the result",
    "product": "the result is always 0",
}


def _plain(expr: Expr) -> Expr:
    while isinstance(expr, Cast) or (
        isinstance(expr, Call) and len(expr.args) == 1 and expr.name in SCALARS
    ):
        expr = expr.operand if isinstance(expr, Cast) else expr.args[0]
    return expr


def _wrong(fold: str, value: Expr, operand: Expr) -> str | None:
    """Return the start value's name where it is wrong for the fold."""
    if isinstance(value, Name) and fold == "max" and value.id in SMALLEST:
        return f"{value.id}, the smallest positive number"
    number: float | None = float(value.value) if isinstance(value, Number) else None
    if isinstance(value, Unary) and value.op == "-" and isinstance(value.operand, Number):
        number = -float(value.operand.value)
    if number is None or _known_sign(operand):
        return None
    if fold == "max" and -1.5 <= number <= 1e-3:
        return f"{number:g}"
    if fold == "min" and -1e-3 <= number <= 1.5:
        return f"{number:g}"
    return "0" if fold == "product" and number == 0 else None


def _known_sign(operand: Expr) -> bool:
    """Whether a value that is folded in can't be negative (or can't be told from indices)."""
    for part in walk(operand):
        if isinstance(part, Call) and part.name.startswith(NOT_NEGATIVE):
            return True
        if isinstance(part, Binary) and part.op == "*" and same_text(part.left, part.right):
            return True
        if isinstance(part, Name) and any(
            w in part.id.lower() for w in ("abs", "sq", "count", "len", "idx", "exp")
        ):
            return True
    return not any(isinstance(p, Name) for p in walk(operand))


def _unset(unit: Unit, function: Function, start: Declare) -> Iterator[Finding]:
    """Report a scalar that is added to before anything is assigned to it."""
    if start.type not in SCALARS or start.extern:
        return
    first = _first_use(function, start)
    if isinstance(first, Assign) and _reads(first, start.name):
        yield RULE.finding(
            unit.place(first.node),
            f"`{start.name}` is never set before line {unit.place(first.node).line} reads it: the sum starts with whatever the register "
            "held",
            fixes=fix(
                "start it at 0",
                [unit.edit(start.node.end_byte - 1, start.node.end_byte - 1, " = 0")]
                if _alone(start)
                else [],
            ),
        )


def _alone(start: Declare) -> bool:
    declarators = [
        i
        for i in range(start.node.child_count)
        if start.node.field_name_for_child(i) == "declarator"
    ]
    return len(declarators) == 1


def _first_use(function: Function, start: Declare) -> Expr | None:
    """Return the first expression after a declaration that uses the variable."""
    for part in walk(function.body):
        if isinstance(part, Declare | Loop | If | Evaluate) or not isinstance(part, Expr):
            continue
        if part.node is None or part.node.start_byte < start.node.end_byte:
            continue
        if (
            isinstance(part, Assign | Update)
            and isinstance(part.target, Name)
            and part.target.id == start.name
        ):
            return part
        if isinstance(part, Assign) and _reads(part, start.name):
            return part
        if isinstance(part, Name) and part.id == start.name:
            return part
    return None


def _reads(part: Assign, name: str) -> bool:
    """Whether an assignment computes with the variable's value (it isn't handed on to be set)."""
    if part.op != "=" and isinstance(part.target, Name) and part.target.id == name:
        return True
    operands = (
        side
        for inner in walk(part.value)
        for side in (
            (inner.left, inner.right)
            if isinstance(inner, Binary)
            else inner.args
            if isinstance(inner, Call) and inner.name in COMPUTES
            else ()
        )
    )
    return any(isinstance(side, Name) and side.id == name for side in operands)


_BAD = """
__global__ void peak(const float* x, float* y, int n) {
    float m = FLT_MIN;
    for (int i = 0; i < n; ++i) m = fmaxf(m, x[i]);
    y[0] = m;
}
"""
RULE = Rule(
    code="RED005",
    name="wrong-start-value",
    severity="error",
    summary="The running value starts at a number that is not neutral, or is not set at all, so the result is off.",
    why="A maximum has to start below everything (`-INFINITY`), a minimum above (`INFINITY`), a product at 1, a sum at 0. `FLT_MIN` is "
    "the smallest positive number, not the most negative one: the maximum of a row of negative values then comes out as a tiny "
    "positive number.",
    bad=_BAD,
    good=_BAD.replace("FLT_MIN", "-INFINITY"),
    detects=("text", "evidence"),
    guards="A maximum over values that can't be negative (absolute values, squares, exponentials, indices) may start at 0, so may one of "
    "a kernel that by its name takes a ReLU as well, and whatever starts from the first element is fine. A warning where the "
    "kernel ran on the simulator and all results were right.",
    fix="Puts the neutral value there.",
    check=check,
    explained_by=("SYN001",),
    conditions="rows in which every value lies beyond the start value",
)

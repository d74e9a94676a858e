"""RED005: an accumulator starts at a non-neutral number, or uninitialised."""

from collections.abc import Iterator

from grader.records.observed import observed_evidence, ran_right
from grader.rules import Context, Finding, Source, Unit, fix, rule_of
from grader.rules.proofs import report_by_line
from grader.source import cpp
from grader.source.analysis.folds import MAXIMA, MINIMA, folds, same_text
from grader.source.analysis.reference_text import reference_of
from grader.source.functions import Function

NOT_NEGATIVE = ("fabs", "abs", "exp", "__expf", "sqrt")
COMPUTES = MAXIMA | MINIMA | {"fma", "fmaf", "__fmaf_rn", "__fadd_rn", "__hadd"}
"""Functions that read all their arguments."""
SMALLEST = frozenset({"FLT_MIN", "DBL_MIN", "FLT_EPSILON"})
SCALARS = {"float", "double", "int", "scalar_t", "T", "long", "long long", "int64_t", "accscalar_t"}
NEUTRAL = {
    "max": ("maximum", "-INFINITY", "where all values are smaller, it is the result"),
    "min": ("minimum", "INFINITY", "where all values are larger, it is the result"),
    "product": ("product", "1.0f", "the result is always 0"),
}
"""Name of each fold, its neutral start, and the effect of another start."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Check the accumulators of device functions, and evidence of runs on them."""
    yield from _text(source, context)
    yield from report_by_line(RULE, observed_evidence(context, "uninit-local"))


def _text(source: Source, context: Context) -> Iterator[Finding]:
    reference = reference_of(source, context)
    rectifies = reference is not None and reference.has("relu", "ReLU", "clamp")
    for unit in source.cuda:
        for function in unit.functions:
            if function.runs != "host":
                right, found = ran_right(context, function.name), folds(function)
                for part in cpp.walk(function.code):
                    if isinstance(part, cpp.Declare) and not (
                        part.dims or part.shared or part.pointer
                    ):
                        for finding in _accumulator(unit, function, part, found):
                            weight = "note" if rectifies else "warning"
                            lighter = {"severity": weight} if right else {}
                            yield finding.model_copy(update=lighter)


def _accumulator(
    unit: Unit, function: Function, start: cpp.Declare, found: dict[str, list[tuple[str, cpp.Expr]]]
) -> Iterator[Finding]:
    if start.init is None:
        yield from _unset(unit, function, start)
        return
    every = () if start.reference else found.get(start.name, ())
    signs = {fold for fold, operand in every if _never_negative(_declared_as(function, operand))}
    signs |= {"max"} if start.type.startswith(("unsigned", "uint", "size_t")) else set()
    for fold, operand in every:
        if fold in signs:  # a further fold merges parts of the same values
            continue
        wrong = _wrong_start(fold, _plain(start.init), _declared_as(function, operand))
        if wrong:
            kind, good, effect = NEUTRAL[fold]
            node = start.init.node
            yield RULE.finding(
                unit.place(start.node),
                f"`{start.name}` starts at {wrong}, which is no neutral start of a {kind}: {effect}",
                fixes=fix(
                    f"start the {kind} at {good}",
                    [unit.edit(node.start_byte, node.end_byte, good)],
                ),
            )
            return


def _declared_as(function: Function, operand: cpp.Expr) -> cpp.Expr:
    """Return a variable's initialiser, if it is its only value."""
    if not isinstance(operand, cpp.Name):
        return operand
    parts = list(cpp.walk(function.code))
    made = [p.init for p in parts if isinstance(p, cpp.Declare) and p.name == operand.id]
    changed = [p.target for p in parts if isinstance(p, cpp.Assign | cpp.Update)]
    once = not any(isinstance(one, cpp.Name) and one.id == operand.id for one in changed)
    return made[0] if once and len(made) == 1 and made[0] is not None else operand


def _plain(expr: cpp.Expr) -> cpp.Expr:
    while isinstance(expr, cpp.Cast) or (
        isinstance(expr, cpp.Call) and len(expr.args) == 1 and expr.name in SCALARS
    ):
        expr = expr.operand if isinstance(expr, cpp.Cast) else expr.args[0]
    return expr


def _wrong_start(fold: str, value: cpp.Expr, operand: cpp.Expr) -> str:
    """Return words for a start that is wrong for the fold; empty where it is neutral."""
    if isinstance(value, cpp.Name) and fold == "max" and value.id in SMALLEST:
        return f"{value.id}, the smallest positive number"
    sign = -1 if isinstance(value, cpp.Unary) and value.op == "-" else 1
    number = value.operand if isinstance(value, cpp.Unary) and sign < 0 else value
    if not isinstance(number, cpp.Number) or _known_sign(operand):
        return ""
    start = sign * float(number.value)
    low, high = {"max": (-1.5, 1e-3), "min": (-1e-3, 1.5), "product": (0, 0)}[fold]
    return f"{start:g}" if low <= start <= high else ""


def _known_sign(operand: cpp.Expr) -> bool:
    """Whether a folded value can't be negative, or is constant."""
    names = any(isinstance(part, cpp.Name) for part in cpp.walk(operand))
    return not names or _never_negative(operand)


def _never_negative(operand: cpp.Expr) -> bool:
    parts = list(cpp.walk(operand))
    positive = any(isinstance(p, cpp.Call) and p.name.startswith(NOT_NEGATIVE) for p in parts)
    square = any(
        isinstance(p, cpp.Binary) and p.op == "*" and same_text(p.left, p.right) for p in parts
    )
    return positive or square


def _unset(unit: Unit, function: Function, start: cpp.Declare) -> Iterator[Finding]:
    """Report a scalar that is added to before its first assignment."""
    first = _first_use(function, start)
    if start.type in SCALARS and not start.extern and first is not None:
        end, alone = start.node.end_byte - 1, len(start.node.children_by_field_name("declarator")) == 1  # fmt: skip
        line = unit.place(first.node).line
        yield RULE.finding(
            unit.place(first.node),
            f"`{start.name}` is never set before line {line} reads it: the sum starts with whatever the register held",
            fixes=fix("start it at 0", [unit.edit(end, end, " = 0")] if alone else []),
        )


def _first_use(function: Function, start: cpp.Declare) -> cpp.Assign | None:
    """Return the assignment that reads a variable before anything else uses it."""
    for part in cpp.walk(function.code):
        if (
            isinstance(part, cpp.Expr)
            and part.node is not None
            and part.node.start_byte >= start.node.end_byte
        ):
            if isinstance(part, cpp.Assign) and _reads(part, start.name):
                return part
            target = part.target if isinstance(part, cpp.Assign | cpp.Update) else part
            if isinstance(target, cpp.Name) and target.id == start.name:
                return None
    return None


def _reads(part: cpp.Assign, name: str) -> bool:
    """Whether an assignment computes with the variable's value (rather than passing it to be set)."""
    inner = list(cpp.walk(part.value))
    operands = [side for p in inner if isinstance(p, cpp.Binary) for side in (p.left, p.right)]
    operands += [
        arg for p in inner if isinstance(p, cpp.Call) and p.name in COMPUTES for arg in p.args
    ]
    operands += [part.target] if part.op != "=" else []
    return any(isinstance(side, cpp.Name) and side.id == name for side in operands)


RULE = rule_of(__file__, check)

"""NUM003: the epsilon is added at another place than in the reference."""

from collections.abc import Iterator

from grader.records.observed import wrong_results
from grader.rules import Context, Finding, Source, Unit, rule_of
from grader.source import cpp
from grader.source.analysis.reference_text import reference_of
from grader.source.functions import Function
from grader.source.nodes import one_line

ROOTS = frozenset({"sqrt", "sqrtf", "rsqrt", "rsqrtf"})
LACKS = "leaves out the epsilon that the reference adds under the root: values near zero come out too large, or infinite"
SAY = {"inside": "under the root", "outside": "to the root"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare where both add it: under the root, or to the root."""
    reference, wrong = reference_of(source, context), wrong_results(context)
    wanted = reference.epsilon() if reference is not None else ""
    every = [(unit, f) for unit in source.cuda for f in unit.functions]
    device = [(unit, function) for unit, function in every if function.runs != "host"]
    for unit, expr, message in _claims(device, wanted) if wanted else ():
        yield RULE.finding(
            unit.place(expr.node),
            f"`{one_line(expr.node, 50)}` {message}",
            severity="error" if wrong else "warning",
            confidence="likely",
            evidence=wrong[:1],
        )
        return


def _claims(
    device: list[tuple[Unit, Function]], wanted: str
) -> Iterator[tuple[Unit, cpp.Expr, str]]:
    """Yield an epsilon in another place than the reference's, or the only root, which lacks it."""
    added = [(unit, *found) for unit, function in device for found in _epsilons(function)]
    for unit, where, expr in added:
        if where != wanted:
            said = f"adds epsilon {SAY[where]}, the reference {SAY[wanted]}: small values come out differently"
            yield unit, expr, said
    parts = [(unit, part) for unit, function in device for part in cpp.walk(function.code)]
    roots = [(unit, p) for unit, p in parts if isinstance(p, cpp.Call) and p.name in ROOTS]
    known = (c for _, p in parts if isinstance(p, cpp.Binary | cpp.Call) for c in cpp.children(p))
    named = any(isinstance(c, cpp.Expr) and _is_epsilon(c) for c in known)
    for unit, root in roots if len(roots) == 1 and not added and not named else ():
        yield unit, root, LACKS


def _epsilons(function: Function) -> Iterator[tuple[str, cpp.Binary]]:
    """Yield the sums with an epsilon under a root, then those whose other operand is a root or named like one."""
    parts = list(cpp.walk(function.code))
    roots = [part for part in parts if isinstance(part, cpp.Call) and part.name in ROOTS]
    inside = [inner for root in roots for inner in cpp.walk(root) if _adds(inner)]
    yield from (("inside", one) for one in inside if isinstance(one, cpp.Binary))
    under = {one.node.id for one in inside}
    for part in parts:
        if isinstance(part, cpp.Binary) and _adds(part) and part.node.id not in under:
            other = part.left if _is_epsilon(part.right) else part.right
            root = any(isinstance(p, cpp.Call) and p.name in ROOTS for p in cpp.walk(other))
            name = other.id.lower() if isinstance(other, cpp.Name) else ""
            if root or any(word in name for word in ("norm", "rms", "std")):
                yield "outside", part


def _adds(part: cpp.Part) -> bool:
    sums = isinstance(part, cpp.Binary) and part.op == "+"
    return sums and any(_is_epsilon(c) for c in cpp.children(part) if isinstance(c, cpp.Expr))


def _is_epsilon(expr: cpp.Expr) -> bool:
    expr = _plain(expr)
    if isinstance(expr, cpp.Name):
        return "eps" in expr.id.lower()
    return isinstance(expr, cpp.Number) and 0 < float(expr.value) < 1e-2


def _plain(expr: cpp.Expr) -> cpp.Expr:
    """Return the operand of a conversion, a one-argument call, or `p[0]`."""
    while True:
        match expr:
            case cpp.Cast(operand=inner) | cpp.Subscript(base=inner):
                expr = inner
            case cpp.Call(args=(inner,), base=None, name=name) if name not in ROOTS:
                expr = inner
            case cpp.Member(name=name, node=node):
                return cpp.Name(node, name)
            case _:
                return expr


RULE = rule_of(__file__, check)

"""NUM004: the variance's divisor differs from the reference's, or its formula cancels."""

from collections.abc import Iterator

from grader.rules import Context, Finding, Source, Unit, fix, rule_of
from grader.source.analysis.reference_text import NORMS, reference_of
from grader.source.code_edits import replace_node
from grader.source.cpp import Binary, Name, Number, walk
from grader.source.nodes import around, one_line, text
from grader.source.statements import statement

ROOTS = frozenset({"sqrt", "sqrtf", "rsqrt", "rsqrtf"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at divisions of sums of squares, and at E[x^2] - mean^2."""
    reference = reference_of(source, context)
    biased = reference is not None and (
        reference.has(*NORMS)
        or "unbiased=False" in reference.text
        or "correction=0" in reference.text
    )
    wrong = bool(context.evidence_of("mismatch", "probe"))
    for unit in source.cuda:
        for function in unit.functions:
            for part in walk(function.code) if function.runs != "host" else ():
                if isinstance(part, Binary) and part.op == "/" and biased:
                    yield from _by_one_less(unit, part)
                elif isinstance(part, Binary) and part.op == "-" and _cancels(part):
                    yield RULE.finding(
                        unit.place(part.node),
                        f"`{one_line(part.node, 50)}` takes the variance as a difference of two large numbers: where the mean is large "
                        "against the spread, few digits are left",
                        severity="warning" if wrong else "note",
                        confidence="possible",
                    )


def _by_one_less(unit: Unit, part: Binary) -> Iterator[Finding]:
    """Report a variance that is divided by n - 1."""
    less = [p for p in walk(part.right) if isinstance(p, Binary) and p.op == "-"]
    less = [p for p in less if isinstance(p.right, Number) and p.right.value == 1]
    if less and _is_variance(part):
        yield RULE.finding(
            unit.place(part.node),
            f"`{one_line(part.node, 50)}` divides by n - 1, the reference's normalisation by n: every result is off by the factor "
            "sqrt((n - 1) / n)",
            fixes=fix("divide by n", [replace_node(unit, less[0].node, text(less[0].left.node))]),
        )


def _is_variance(part: Binary) -> bool:
    """Whether it is under a root, with or without epsilon, or named a variance; running statistics do divide by n - 1."""
    if "running" in text(statement(part.node)).lower():
        return False
    for outer in around(part.node):
        if outer.type == "call_expression" and text(outer.child_by_field_name("function")) in ROOTS:
            return True
        if outer.type == "call_expression" or outer.type.endswith(("statement", "declaration")):
            break
    words = text(part.left.node).lower()
    return any(word in words for word in ("var", "sq", "m2", "ss", "diff"))


def _cancels(part: Binary) -> bool:
    """Whether it reads `a / n - mean * mean`."""
    match part.right:
        case Binary(op="*", left=Name(id=name), right=Name(id=other)) if name == other:
            return name == "m" or any(word in name.lower() for word in ("mean", "mu", "avg"))
    return False


RULE = rule_of(__file__, check)

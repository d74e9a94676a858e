"""MEM009: a pointer outlives the temporary tensor that it points into."""

from collections.abc import Iterator

from grader.rules import Context, Finding, Source, fix, rule_of
from grader.source.code_edits import replace_node
from grader.source.cpp import Call, Cast, Declare, Expr, walk
from grader.source.nodes import text
from grader.source.statements import insert_before, statement

MAKERS = frozenset({"contiguous", "to", "clone", "float", "half", "reshape", "cuda"})
"""Methods that may give a tensor with memory of its own."""


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for variables with a pointer into a call's temporary result."""
    for unit in source.cuda:
        hosts = (host for host in unit.functions if host.runs == "host")
        for part in (part for host in hosts for part in walk(host.code)):
            maker = _maker(part.init) if isinstance(part, Declare) else None
            if isinstance(part, Declare) and maker is not None:
                name, made = f"{part.name}_tensor", text(maker.node)
                kept = insert_before(unit, statement(part.node), f"auto {name} = {made};")
                yield RULE.finding(
                    unit.place(part.node),
                    f"`{part.name}` points into the temporary that `{made}` makes, which is gone at the end of this statement: when the "
                    "kernel runs, the memory may already be in use for something else",
                    severity="error" if maker.name == "clone" else "warning",
                    fixes=fix(
                        "keep the tensor in a variable",
                        [kept, replace_node(unit, maker.node, name)],
                    ),
                )


def _maker(expr: Expr | None) -> Call | None:
    """Return the call that makes the tensor whose pointer an expression takes."""
    while isinstance(expr, Cast):
        expr = expr.operand
    match expr:
        case Call(name="data_ptr" | "data", base=Call(name=name) as maker) if name in MAKERS:
            return maker if maker.base is not None else None
    return None


RULE = rule_of(__file__, check)

"""CHT007: the output does not depend on the values of the input."""

import ast
from collections.abc import Iterator

from grader.records.observed import seen_wrong
from grader.rules import Context, Finding, Severity, Source, rule_of
from grader.source import nodes_under
from grader.source.analysis.data_flow import depends, methods, parameters, returns, tainted_names
from grader.source.python_code import Function, PythonCode


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Check whether forward's result depends on any input value; kernels' reads are known from runs.

    Wrong results show it to be an error; where all were right the task's own result is constant.
    """
    seen = context.evidence_of("probe", "mismatch")
    evidence = tuple(item for item in seen if "input-independent" in item.code)
    severity: Severity = "error" if seen_wrong(context) else "warning"
    code = source.module
    forward = code.method("forward")
    constant = _constant_result(code, forward) if forward is not None else None
    if constant is not None:
        yield RULE.finding(
            source.place(constant),
            "what forward returns does not depend on the values of its input, only on its form",
            severity=severity,
            evidence=evidence,
            reads_no_input=True,
        )
    if evidence and constant is None and forward is not None:
        place = source.line_place(forward.lineno)
        yield RULE.finding(place, evidence[0].text, evidence=evidence)


def _constant_result(code: PythonCode, forward: Function) -> ast.Return | None:
    """Return the first return of a forward whose result doesn't depend on its parameters."""
    names, nodes = set(parameters(forward)), list(nodes_under(forward))
    known = tainted_names(forward, names, _never)
    results = returns(code, forward)
    depending = any(depends(value, known, _never) for _, value in results)
    yields = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes)
    calls = (n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
    copied = any(
        call.func.attr == "copy_" and any(depends(value, known, _never) for value in call.args)
        for call in calls
        if isinstance(call.func, ast.Attribute)
    )
    replays = copied and "replay" in methods(
        [forward]
    )  # a captured graph reads what is copied there
    return results[0][0] if names and results and not (depending or yields or replays) else None


def _never(_node: ast.AST) -> bool:
    return False


RULE = rule_of(__file__, check)

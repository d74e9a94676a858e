"""NUM005: batch norm or dropout in the other mode than the reference."""

import ast
import re
from collections.abc import Iterator

from grader.rules import Context, Finding, Source, rule_of
from grader.source import nodes_under
from grader.source.analysis.reference_text import reference_of

STATISTIC = re.compile(r"(?:running|moving|bn\d*|batch_?norm\d*)_(mean|var)$")
"""What running statistics are called, a layer's or an answer's own."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for running statistics that are used in any mode."""
    reference, model = reference_of(source, context), source.module.classes.get("ModelNew")
    if reference is None or model is None or not reference.has("BatchNorm", "InstanceNorm"):
        return
    tracks = not reference.has("InstanceNorm") or "track_running_stats=True" in reference.text
    attributes = {node.attr for node in nodes_under(model) if isinstance(node, ast.Attribute)}
    argument = _passed_on(model)
    if argument is None or "training" in attributes or not tracks or ".eval()" in reference.text:
        return
    wrong = context.evidence_of("mismatch", "probe")
    yield RULE.finding(
        source.place(argument),
        "ModelNew normalises with the running statistics whatever the mode; a module in training mode, as the reference is run, uses "
        "those of the batch (and updates the running ones)",
        severity="error" if wrong else "warning",
        confidence="likely",
        evidence=wrong[:1],
    )


def _passed_on(model: ast.ClassDef) -> ast.expr | None:
    """Return the first argument of a call that is a running statistic, or a name for one."""
    inner = list(nodes_under(model))
    local = {
        part.id
        for node in inner
        if isinstance(node, ast.Assign)
        for target in node.targets
        for part in nodes_under(target)
        if isinstance(part, ast.Name) and _is_running_statistic(node.value)
    }
    for call in (n for n in inner if isinstance(n, ast.Call)):
        for argument in call.args:
            if _is_running_statistic(argument) or (
                isinstance(argument, ast.Name) and argument.id in local
            ):
                return argument
    return None


def _is_running_statistic(value: ast.expr) -> bool:
    """Whether a value is a layer's running statistics, possibly converted."""
    match value:
        case ast.Attribute(attr=name) if STATISTIC.search(name):
            return True
        case ast.Attribute(attr="data", value=base):
            return _is_running_statistic(base)
        case ast.Call(func=ast.Attribute(attr=form, value=base)):
            return form in FORMS and _is_running_statistic(base)
    return False


FORMS = frozenset({"contiguous", "detach", "float", "view", "reshape", "clone", "to", "flatten"})


RULE = rule_of(__file__, check)

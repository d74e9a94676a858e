"""EXT005: the result is of another shape, type or device than the reference's."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Edit, Evidence, Finding, MissingGradient, Place
from grader.rules.rule import Rule
from grader.source import Source, Unit, nodes_under
from grader.source.code_edits import fix
from grader.source.cpp_types import type_of
from grader.source.cuda_code import Call, cuda_code, descendants, read_call, text, units
from grader.source.python_code import Function, PythonCode, python_code

FORMS = ("shape", "dtype", "device", "count", "type")
OFF_THE_GPU = {"cpu", "numpy", "tolist"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for results that are moved off the GPU, and for mismatches of form that runs showed."""
    code = python_code(source)
    seen = _observed(context)
    hinted = False
    if code is not None:
        for call in _moved(code):
            hinted = True
            yield _python(source, call, [one for one in seen if _form(one) in {"device", "type"}])
    for unit in units(source):
        for moved in _moved_in_cpp(unit):
            hinted = True
            yield _cpp(unit, moved, [one for one in seen if _form(one) == "device"])
    if seen and not hinted:
        yield RULE.finding(
            _where_returned(source, code, _form(seen[0])),
            seen[0].text,
            evidence=seen,
            other_form=True,
            cause="form",
        )


def _observed(context: Context) -> list[Evidence]:
    seen = (item for item in context.seen("mismatch", "probe") if _form(item) in FORMS)
    return [item for item in seen if not isinstance(item.details, MissingGradient)]


def _form(item: Evidence) -> str:
    return item.code


def _moved(code: PythonCode) -> Iterator[ast.Call]:
    """Yield the calls that take a result of forward off the GPU."""
    forward = code.method("forward")
    if forward is None:
        return
    for node in nodes_under(forward):
        if isinstance(node, ast.Return) and node.value is not None:
            if code.function_of(node) is not forward:
                continue
            for value in _values(node.value):
                call = _resolved(forward, value, node)
                if call is not None and _leaves(code, call):
                    yield call


def _values(value: ast.expr) -> list[ast.expr]:
    return list(value.elts) if isinstance(value, ast.Tuple | ast.List) else [value]


def _resolved(forward: Function, value: ast.expr, at: ast.Return) -> ast.Call | None:
    """Return the call that makes a returned value, one plain name followed back."""
    if isinstance(value, ast.Name):
        made = [
            node
            for node in nodes_under(forward)
            if isinstance(node, ast.Assign)
            and node.lineno < at.lineno
            and any(isinstance(one, ast.Name) and one.id == value.id for one in node.targets)
        ]
        value = max(made, key=lambda node: node.lineno).value if made else value
    return value if isinstance(value, ast.Call) else None


def _leaves(code: PythonCode, call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr in OFF_THE_GPU and not call.args:
        return True
    if call.func.attr != "to":
        return False
    given = [*call.args, *(word.value for word in call.keywords if word.arg == "device")]
    return any(
        (isinstance(one, ast.Constant) and one.value == "cpu")
        or (
            isinstance(one, ast.Call)
            and code.canonical(one.func) == "torch.device"
            and any(isinstance(arg, ast.Constant) and arg.value == "cpu" for arg in one.args)
        )
        for one in given
    )


def _python(source: Source, call: ast.Call, evidence: list[Evidence]) -> Finding:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else "cpu"
    owner = function.value if isinstance(function, ast.Attribute) else call
    end = source.span(call)[1]
    start = source.span(owner)[1]
    return RULE.finding(
        source.place(call),
        f"the result is returned through .{name}(): it is on the CPU, while the reference's result "
        "is on the GPU, so the comparison fails whatever the numbers are",
        evidence=evidence,
        fixes=fix(
            "leave the result on the GPU", [Edit(start=start, end=end, text="")], certain=True
        ),
        other_form=True,
    )


def _moved_in_cpp(unit: Unit) -> Iterator[Call]:
    for node in cuda_code(unit).of("return_statement"):
        for call in descendants(node, "call_expression"):
            read = read_call(call)
            if call.parent == node and read.object is not None and _off(unit, read):
                yield read


def _off(unit: Unit, call: Call) -> bool:
    if call.object is None or type_of(unit, call.object) not in {"Tensor", None}:
        return False
    if call.name == "cpu" and not call.arguments:
        return True
    return call.name == "to" and any(text(one).endswith("kCPU") for one in call.arguments)


def _cpp(unit: Unit, call: Call, evidence: list[Evidence]) -> Finding:
    end = call.node.end_byte
    start = call.object.end_byte if call.object is not None else end
    return RULE.finding(
        unit.place(call.node),
        f"the result is returned through .{call.name}(): it is on the CPU, while the reference's "
        "result is on the GPU, so the comparison fails whatever the numbers are",
        evidence=evidence,
        fixes=fix("leave the result on the GPU", [unit.edit(start, end, "")], certain=True),
        other_form=True,
    )


def _where_returned(source: Source, code: PythonCode | None, form: str) -> Place | None:
    """Return where the result is made: the host function's allocation, else forward's return.

    How many results there are is up to forward.
    """
    for unit in source.cuda if form != "count" else ():
        made = [call.node for call in cuda_code(unit).calls if _allocates(call)]
        kept = [node for node in made if _variable(node) in _returned(unit)]
        if made:
            return unit.place((kept or made)[-1])
    forward = code.method("forward") if code is not None else None
    if forward is None:
        return None
    returns = [node for node in nodes_under(forward) if isinstance(node, ast.Return)]
    return source.place(returns[-1] if returns else forward)


def _variable(made: Node) -> str:
    """Return the name of the variable that a value is given to; empty where to none."""
    declared = made.parent
    if declared is None or declared.type != "init_declarator":
        return ""
    return text(declared.child_by_field_name("declarator"))


def _returned(unit: Unit) -> set[str]:
    """Return the names of the variables that functions of a text return."""
    returns = cuda_code(unit).of("return_statement")
    return {text(node.named_children[0]) for node in returns if node.named_children}


def _allocates(call: Call) -> bool:
    return call.name.startswith(("torch::", "at::")) and call.last.startswith(
        ("empty", "zeros", "full", "ones")
    )


HEAD = "import torch\nfrom torch import nn\n"
BODY = """class ModelNew(nn.Module):
    def forward(self, x):
        y = x * 2
        return RESULT
"""
RULE = Rule(
    code="EXT005",
    name="output-shape-or-device-mismatch",
    severity="error",
    summary="The result has another shape, dtype or device than the reference result.",
    why="Graders compare shape, type and device before they compare numbers. A result on the CPU "
    "fails although every number in it may be right.",
    bad=HEAD + BODY.replace("RESULT", "y.cpu()"),
    good=HEAD
    + BODY.replace(
        "y = x * 2", "n = x.sum().cpu().item()\n        y = x.to(torch.float32)"
    ).replace("RESULT", "y * n"),
    detects=("text", "evidence"),
    guards="Only what is returned counts; values that go to the CPU on the way do not (PRF010). Shapes and types are reported from runs.",
    fix="Leaves the result on the GPU, or gives it the shape or dtype that was expected where its values can be meant to be those.",
    check=check,
    predicts="wrong-values",
)

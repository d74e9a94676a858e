"""CHT008: ModelNew is the reference under another name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Source, dotted, nodes_under
from grader.source.analysis.extension_use import holders, mentions
from grader.source.python_code import Function, PythonCode, python_code

REFERENCE = {"Model", "RefModel", "ReferenceModel", "OriginalModel"}


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look whether forward is inherited from the reference, or calls it."""
    code = python_code(source)
    if code is None or code.model is None:
        return
    names = holders(source, code)
    forward = code.method("forward")
    base = _reference_base(code)
    if (
        base in names
    ):  # a class of the file's own that works with its kernels, called like the reference
        return
    if base is not None and forward is None and not _redone(code):
        yield RULE.finding(
            source.line_place(code.model.lineno),
            f"ModelNew inherits the reference's forward from {base}: it is the reference itself",
            rejects=True,
        )
    elif forward is not None:
        for node in _reference_results(code, forward, names):
            yield RULE.finding(
                source.place(node),
                "forward hands its input to the reference model and returns what that computes",
                rejects=True,
            )
            return


def _reference_base(code: PythonCode) -> str | None:
    """Return the reference class that ModelNew derives from."""
    for base in code.model.bases if code.model else ():
        name = code.canonical(base).rsplit(".", 1)[-1]
        if name in REFERENCE:
            return name
    return None


def _redone(code: PythonCode) -> bool:
    """Whether another method that forward calls is overridden, or forward is bound later."""
    model = code.model
    own = [node for node in model.body if isinstance(node, Function)] if model else []
    assigned = any(
        isinstance(node, ast.Assign)
        and any(isinstance(one, ast.Name) and one.id == "forward" for one in node.targets)
        for node in (model.body if model else [])
    )
    patched = any(
        isinstance(target, ast.Attribute) and target.attr == "forward"
        for node in code.of(ast.Assign)
        for target in node.targets
    )
    others = [node for node in own if node.name not in {"__init__", "extra_repr"}]
    constructor = code.method("__init__")
    replaces = constructor is not None and sum(
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        for node in nodes_under(constructor)
    )
    return bool(others) or assigned or patched or bool(replaces)


def _reference_results(
    code: PythonCode, forward: Function, names: set[str]
) -> Iterator[ast.Return]:
    if mentions(forward, names):
        return
    models = _reference_attributes(code)
    for node in nodes_under(forward):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
            called = node.value.func
            if (_is_super_forward(called) and _reference_base(code) is not None) or (
                isinstance(called, ast.Attribute | ast.Name) and dotted(called) in models
            ):
                yield node


def _reference_attributes(code: PythonCode) -> set[str]:
    """Return the names that hold an instance of the reference."""
    return {
        dotted(target)
        for node in code.of(ast.Assign)
        if isinstance(node.value, ast.Call)
        and code.canonical(node.value.func).rsplit(".", 1)[-1] in REFERENCE
        for target in node.targets
        if isinstance(target, ast.Name | ast.Attribute)
    }


def _is_super_forward(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "forward"
        and (
            (isinstance(node.value, ast.Call) and dotted(node.value.func) == "super")
            or (isinstance(node.value, ast.Name) and node.value.id in REFERENCE)
        )
    )


HEAD = "import torch\nfrom torch import nn\n"
REF = "class Model(nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
RULE = Rule(
    code="CHT008",
    name="inherits-the-reference",
    severity="error",
    summary="ModelNew is the reference under another name: it inherits its forward, or calls it.",
    why="Some graders run a submission in one namespace with the reference, where `class "
    "ModelNew(Model): pass` is always right and never faster.",
    bad=f"{HEAD}class ModelNew(Model):\n    pass\n",
    good=(
        f'{HEAD}{REF}class ModelNew(Model):\n    """Forward pass of the model."""\n'
        "    def forward(self, x):\n        return torch.relu(x) * 1\n"
    ),
    detects=("text",),
    guards="Deriving from the reference for its constructor and parameters, with a forward of one's own, is fine, "
    "and so is a class of that name which works with the file's kernels.",
    fix="",
    check=check,
)

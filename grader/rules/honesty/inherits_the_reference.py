"""CHT008: ModelNew is the reference under another name."""

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
    model = code.model if code is not None else None
    if code is None or model is None:
        return
    names, forward = holders(source, code), code.method("forward")
    bases = (code.canonical(base).rsplit(".", 1)[-1] for base in model.bases)
    base = next((name for name in bases if name in REFERENCE), "")
    if (
        base in names
    ):  # a class of the file's own that works with its kernels, called like the reference
        return
    if base and forward is None and not _redone(code, model):
        yield RULE.finding(
            source.line_place(model.lineno),
            f"ModelNew inherits the reference's forward from {base}: it is the reference itself",
            rejects=True,
        )
    if forward is not None and not mentions(forward, names):
        for node in _reference_results(code, forward, base):
            yield RULE.finding(
                source.place(node),
                "forward hands its input to the reference model and returns what that computes",
                rejects=True,
            )
            return


def _redone(code: PythonCode, model: ast.ClassDef) -> bool:
    """Whether something that forward uses is replaced: a method, an attribute, or forward itself later."""
    methods = {node.name for node in model.body if isinstance(node, Function)}
    constructor = code.method("__init__")
    inside = list(nodes_under(constructor)) if constructor is not None else []
    sets = any(isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) for n in inside)
    targets = [target for node in code.of(ast.Assign) for target in node.targets]
    named = {t.attr if isinstance(t, ast.Attribute) else dotted(t) for t in targets}
    return bool(methods - {"__init__", "extra_repr"}) or sets or "forward" in named


def _reference_results(code: PythonCode, forward: Function, base: str) -> Iterator[ast.Return]:
    """Yield the returns of what an instance of the reference, or the base's forward, gives."""
    models = {
        dotted(target)
        for node in code.of(ast.Assign)
        if isinstance(node.value, ast.Call)
        and code.canonical(node.value.func).rsplit(".", 1)[-1] in REFERENCE
        for target in node.targets
    } - {""}
    for node in nodes_under(forward):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
            called = node.value.func
            if dotted(called) in models or (base and _is_base_forward(called)):
                yield node


def _is_base_forward(node: ast.AST) -> bool:
    if not isinstance(node, ast.Attribute) or node.attr != "forward":
        return False
    owner = node.value
    return (
        dotted(owner.func) == "super" if isinstance(owner, ast.Call) else dotted(owner) in REFERENCE
    )


HEAD = "import torch\nfrom torch import nn\n"
REF = "class Model(nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
RULE = Rule(
    code="CHT008",
    name="inherits-the-reference",
    summary="ModelNew is the reference under another name: it inherits its forward, or calls it.",
    why="Some graders run a submission in one namespace with the reference, where `class "
    "ModelNew(Model): pass` is always right and never faster.",
    bad=f"{HEAD}class ModelNew(Model):\n    pass\n",
    good=(
        f'{HEAD}{REF}class ModelNew(Model):\n    """Forward pass of the model."""\n'
        "    def forward(self, x):\n        return torch.relu(x) * 1\n"
    ),
    guards="Deriving from the reference for its constructor and parameters, with a forward of one's own, is fine, "
    "and so is a class of that name which works with the file's kernels.",
    check=check,
)

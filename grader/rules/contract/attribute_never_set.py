"""EXT007: forward reads an attribute of self that nothing sets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Source, nodes_under
from grader.source.analysis.diagnostics import confirming
from grader.source.python_code import PythonCode, python_code

MODULE = {
    "training", "forward", "register_buffer", "register_parameter", "register_module", "add_module",
    "parameters", "named_parameters", "buffers", "named_buffers", "children", "named_children",
    "modules", "named_modules", "train", "eval", "requires_grad_", "zero_grad", "apply", "cuda",
    "cpu", "to", "to_empty", "half", "float", "double", "bfloat16", "type", "state_dict",
    "load_state_dict", "get_parameter", "get_buffer", "get_submodule", "set_submodule",
    "share_memory", "extra_repr", "compile", "register_forward_hook", "register_forward_pre_hook",
    "register_full_backward_hook", "get_extra_state", "set_extra_state", "dump_patches",
    "call_super_init", "xpu", "ipu", "mtia",
}  # fmt: skip
SETTERS = {"register_buffer", "register_parameter", "add_module", "register_module"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the attributes that ModelNew reads with those that it or nn.Module sets."""
    code = python_code(source)
    if code is None or code.model is None or not _plain(code, code.model):
        return
    known = _set(code, code.model)
    if known is None:
        return
    seen: set[str] = set()
    reached = code.reached
    for function in reached:
        for node in nodes_under(function):
            if not _reads_self(node, function) or not isinstance(node, ast.Attribute):
                continue
            name = node.attr
            if name in known or name in MODULE or name.startswith("_") or name in seen:
                continue
            if any(isinstance(around, ast.Try) for around in code.ancestors(node)):
                continue
            seen.add(name)
            evidence = confirming(context, ("python-attribute",), (name,), run=True)
            yield RULE.finding(
                source.place(node),
                f"self.{name} is read here, and nothing sets it: AttributeError when forward runs",
                evidence=evidence,
                names=(name,),
            )


def _plain(code: PythonCode, model: ast.ClassDef) -> bool:
    bases = [code.canonical(base) for base in model.bases]
    return bases == ["torch.nn.Module"] and not model.decorator_list


def _set(code: PythonCode, model: ast.ClassDef) -> set[str] | None:  # noqa: C901, PLR0912
    """Return the attributes that the class sets; None where it may set others."""
    names: set[str] = set()
    for node in nodes_under(model):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            names.add(node.attr)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            if node.name in {"__getattr__", "__getattribute__"}:
                return None
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and node.attr == "__dict__":
            return None
        elif isinstance(node, ast.Call):
            called = code.canonical(node.func)
            if called in {"setattr", "vars", "exec"}:
                return None
            if called.rsplit(".", 1)[-1] in SETTERS and node.args:
                if not isinstance(node.args[0], ast.Constant):
                    return None
                names.add(str(node.args[0].value))
    for assign in code.of(ast.Assign):
        for target in assign.targets:
            if isinstance(target, ast.Attribute) and code.canonical(target.value) == "ModelNew":
                names.add(target.attr)
    hasattr_names = {
        str(call.args[1].value)
        for name, call in code.calls
        if name in {"hasattr", "getattr"}
        and len(call.args) > 1
        and isinstance(call.args[1], ast.Constant)
    }
    return names | hasattr_names


def _reads_self(node: ast.AST, function: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        and isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and bool(function.args.args)
        and function.args.args[0].arg == "self"
    )


HEAD = "import torch\nfrom torch import nn\n"
RULE = Rule(
    code="EXT007",
    name="attribute-never-set",
    severity="error",
    summary="forward reads an attribute of self that nothing sets, so the call ends in an AttributeError.",
    why="An attribute that the constructor forgot, or a name spelled in two ways.",
    bad=HEAD
    + "class ModelNew(nn.Module):\n    def __init__(self, eps):\n        super().__init__()\n"
    "        self.epsilon = eps\n    def forward(self, x):\n        return x / self.eps\n",
    good=HEAD + "class ModelNew(nn.Module):\n    size = 3\n    def __init__(self, eps):\n"
    "        super().__init__()\n        self.eps, self.n = eps, 2\n"
    '        self.register_buffer("scale", torch.ones(1))\n        self.lin = nn.Linear(3, 3)\n'
    "    def helper(self, x):\n        return x\n    def forward(self, x):\n"
    "        if self.training and hasattr(self, 'late'):\n            x = x + self.late\n"
    "        return self.helper(x) / self.eps * self.scale * self.size + self.n\n",
    detects=("text", "build"),
    guards="Only for classes that derive from nn.Module alone; __getattr__, setattr and __dict__ make it silent, as do attributes that "
    "the program asks for first.",
    fix="Keeps the constructor's parameter of that name, reads the attribute that the constructor sets and nobody reads, or the one that is spelled alike.",
    check=check,
    certain_from_text=True,
)

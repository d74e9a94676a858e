"""EXT007: forward reads an attribute of self that nothing sets."""

import ast
from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Source, nodes_under
from grader.source.analysis.diagnostics import confirming
from grader.source.python_code import Function, PythonCode, python_code

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
UNSEEN = {"setattr", "vars", "exec", "__getattr__", "__getattribute__", "__dict__"}
"""What sets or finds attributes whose names no text shows."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the attributes that ModelNew reads with those that it or nn.Module sets."""
    code = python_code(source)
    model = code.model if code is not None else None
    if code is None or model is None or model.decorator_list:
        return
    known = _set(code, model)
    if known is None or [code.canonical(base) for base in model.bases] != ["torch.nn.Module"]:
        return
    seen = {*known, *MODULE}
    for function in code.reached:
        for node in _reads(function):
            tried = any(isinstance(outer, ast.Try) for outer in code.ancestors(node))
            if node.attr not in seen and not node.attr.startswith("_") and not tried:
                seen.add(node.attr)
                yield RULE.finding(
                    source.place(node),
                    f"self.{node.attr} is read here, and nothing sets it: AttributeError when forward runs",
                    evidence=confirming(context, ("python-attribute",), (node.attr,), run=True),
                    names=(node.attr,),
                )


def _set(code: PythonCode, model: ast.ClassDef) -> set[str] | None:
    """Return the attributes that the class sets or asks for; None where it may set others."""
    names: set[str] = set()
    for node in nodes_under(model):
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                names.add(name)
            case (
                ast.Attribute(attr=name, ctx=ast.Store() | ast.Del())
                | ast.Name(id=name, ctx=ast.Store())
            ):
                names.add(name)
            case ast.Attribute(attr="__dict__"):
                names.add("__dict__")
            case ast.Call(func=func, args=[first, *_]):
                called = code.canonical(func)
                names |= {called} & UNSEEN
                if called.rsplit(".", 1)[-1] in SETTERS:
                    names.add(str(first.value) if isinstance(first, ast.Constant) else "setattr")
    for assign in code.of(ast.Assign):
        attributes = (target for target in assign.targets if isinstance(target, ast.Attribute))
        names |= {one.attr for one in attributes if code.canonical(one.value) == "ModelNew"}
    for name, call in code.calls:
        if name in {"hasattr", "getattr"} and len(call.args) > 1:
            names |= {str(one.value) for one in call.args[1:2] if isinstance(one, ast.Constant)}
    return None if names & UNSEEN else names


def _reads(function: ast.AST) -> Iterator[ast.Attribute]:
    """Yield what a method reads of its self."""
    first = function.args.args[:1] if isinstance(function, Function) else []
    for node in nodes_under(function) if first and first[0].arg == "self" else ():
        match node:
            case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Load()):
                yield node


HEAD = "import torch\nfrom torch import nn\n"
RULE = Rule(
    code="EXT007",
    name="attribute-never-set",
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

"""Answers that are a C++ extension and no Python, as Sakana's AI CUDA Engineer and robust-kbench ask for.

Their harness loads the file and hands its `forward` to a reference that takes the operation as an argument:
`def forward(self, x, fn=module_fn)`. The program that does the same is written here: the reference's class,
called `ModelNew`, with the extension's function in that place. A reference of KernelBench's own form says less:
there the function must take what `forward` takes, or that and what the constructor takes.
"""

from __future__ import annotations

import ast
import copy
import re
from typing import NamedTuple

from grader.languages.language import Wrapping
from grader.source import read_python

MODULE = re.compile(r"^[ \t]*PYBIND11_MODULE\s*\(\s*\w+\s*,\s*(?P<handle>\w+)\s*\)", re.MULTILINE)
_BOUND = r"\b{}\s*\.\s*def\s*\(\s*\"(?P<name>[A-Za-z_]\w*)\"\s*,\s*&\s*(?P<function>[\w:]+)"
_EXTENSION = "_extension"
_SOURCE = "_source"
FIRST_WORDS = ("#", "//", "/*", "using ", "namespace ", "template", "__", "extern")
_GIVEN = frozenset({"get_inputs", "get_init_inputs"})


class _Binding(NamedTuple):
    name: str
    """What Python calls it."""
    parameters: tuple[str, ...] | None
    """As C++ declares them; None where the definition was not found."""


def program_around(code: str, reference: str | None, model: str) -> Wrapping | None:
    """Return the program around a module that binds a function; None where it can't be told.

    `reference` is the source of the task's `Model`, if the sample holds one; `model` what the class is called.
    """
    binding = _binding(code)
    if binding is None or '"""' in code:
        return None
    caller = _class(binding, reference, model)
    if caller is None:
        return None
    before = (
        "import torch",
        "import torch.nn as nn",
        "from torch.utils.cpp_extension import load_inline",
        f'{_SOURCE} = r"""',
    )
    after = (
        '"""',
        f'{_EXTENSION} = load_inline(name="answer", cpp_sources="", cuda_sources={_SOURCE})',
        *caller.split("\n"),
    )
    return Wrapping(before, after, binding.name)


def _binding(code: str) -> _Binding | None:
    """Return the function called `forward`, or the only one that is bound."""
    module = next(iter(MODULE.finditer(code)), None)
    if module is None:
        return None
    bound = re.compile(_BOUND.format(module["handle"]))
    found = {one["name"]: one["function"] for one in bound.finditer(code, module.end())}
    name = "forward" if "forward" in found else next(iter(found), "")
    if not name or (name != "forward" and len(found) > 1):
        return None
    return _Binding(name, _parameters(code, found[name].rsplit("::", 1)[-1]))


def _parameters(code: str, function: str) -> tuple[str, ...] | None:
    definition = re.search(rf"\b{function}\s*\((?P<inside>[^(){{}};]*)\)\s*\{{", code)
    if definition is None:
        return None
    plain = re.sub(r"//[^\n]*|/\*.*?\*/|<[^<>]*>", "", definition["inside"], flags=re.DOTALL)
    return tuple(one.strip() for one in plain.split(",") if one.strip() not in ("", "void"))


def _class(binding: _Binding, reference: str | None, model: str) -> str | None:
    found, _ = read_python(reference) if reference else (None, None)
    tree = copy.deepcopy(found)  # it is kept for others, and changed here
    theirs = _model_class(tree) if tree is not None else None
    forward = _method(theirs, "forward")
    if tree is None or theirs is None or forward is None:
        tensors = binding.parameters is not None and all("ensor" in p for p in binding.parameters)
        return _plain(binding.name, model, "*inputs") if tensors else None
    operation = _operation(tree, forward)
    if operation is not None:
        return _rewritten(tree, theirs, forward, operation, binding.name, model)
    return _plain_call(binding, theirs, forward, model)


def _plain(name: str, model: str, given: str) -> str:
    return (
        f"class {model}(nn.Module):\n"
        "    def __init__(self, *settings):\n"
        "        super().__init__()\n"
        "        self.settings = settings\n\n"
        "    def forward(self, *inputs):\n"
        f"        return {_EXTENSION}.{name}({given})"
    )


def _plain_call(
    binding: _Binding, theirs: ast.ClassDef, forward: ast.FunctionDef, model: str
) -> str | None:
    """Return a class that passes inputs on, and the constructor's arguments if just they are missing."""
    inputs = len(forward.args.args) - 1
    constructor = _method(theirs, "__init__")
    settings = len(constructor.args.args) - 1 if constructor else 0
    taken = len(binding.parameters) if binding.parameters is not None else -1
    if taken == inputs:
        return _plain(binding.name, model, "*inputs")
    has_weights = any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "nn"
        for node in ast.walk(constructor or theirs)
    )
    if taken == inputs + settings and not has_weights:
        return _plain(binding.name, model, "*inputs, *self.settings")
    return None


def _model_class(tree: ast.Module) -> ast.ClassDef | None:
    named = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Model"]
    return named[-1] if named else None


def _method(owner: ast.ClassDef | None, name: str) -> ast.FunctionDef | None:
    body = owner.body if owner else []
    return next((n for n in body if isinstance(n, ast.FunctionDef) and n.name == name), None)


def _operation(tree: ast.Module, forward: ast.FunctionDef) -> str | None:
    """Return the argument of `forward` whose default is a function of the file: the operation."""
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    defaults = forward.args.defaults
    named = zip(forward.args.args[len(forward.args.args) - len(defaults) :], defaults, strict=True)
    return next(
        (arg.arg for arg, value in named if isinstance(value, ast.Name) and value.id in functions),
        None,
    )


def _rewritten(
    tree: ast.Module,
    theirs: ast.ClassDef,
    forward: ast.FunctionDef,
    operation: str,
    name: str,
    model: str,
) -> str:
    """Return the reference's class, with what else of the file it needs, calling the extension."""
    at = [arg.arg for arg in forward.args.args].index(operation)
    del forward.args.defaults[at - len(forward.args.args)]
    del forward.args.args[at]
    _Call(operation, name).visit(forward)
    _Renamed(theirs.name, model).visit(theirs)
    kept: list[ast.stmt] = [theirs]
    while needed := [n for n in tree.body if n not in kept and _bound(n) & _used(kept)]:
        kept = [n for n in tree.body if n in kept or n in needed]
    return ast.unparse(ast.Module(kept, []))


def _used(nodes: list[ast.stmt]) -> set[str]:
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)} - _GIVEN


def _bound(node: ast.stmt) -> set[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return {(alias.asname or alias.name).split(".")[0] for alias in aliases}
        case ast.Assign(targets=targets):
            return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return set()


class _Call(ast.NodeTransformer):
    """Puts the extension's function where the operation was named."""

    def __init__(self, operation: str, name: str) -> None:
        self._operation = operation
        self._name = name

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self._operation:
            return node
        return ast.Attribute(ast.Name(_EXTENSION, ast.Load()), self._name, ast.Load())


class _Renamed(ast.NodeTransformer):
    def __init__(self, old: str, new: str) -> None:
        self._old = old
        self._new = new

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self.generic_visit(node)
        node.name = self._new if node.name == self._old else node.name
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._new, node.ctx) if node.id == self._old else node

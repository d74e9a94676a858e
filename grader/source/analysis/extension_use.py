"""Uses of extensions in a submission's Python: the variables that hold one."""

import ast
from collections.abc import Collection, Iterator

from grader.source import Source, dotted_name, nodes_under
from grader.source.analysis.data_flow import FILLING
from grader.source.analysis.triton import kernels as triton_kernels
from grader.source.python_code import MODEL, PythonCode

TORCH_COMPUTE = ("torch.", "torch.nn.functional.")
NO_COMPUTE = ("torch.cuda", "torch.backends", "torch.ops", "torch.jit")
FREE = {
    "empty", "zeros", "ones", "empty_like", "zeros_like", "ones_like", "full", "tensor", "device",
    "Size", "is_tensor", "no_grad", "inference_mode", "enable_grad", "cuda", "float32",
    "manual_seed",
    "get_device", "is_available", "current_device", "synchronize", "current_stream", "as_tensor",
}  # fmt: skip
"""Functions of torch that compute nothing worth replacing."""
OWNERS = ("self", "cls", MODEL)
"""Attributes through which a nested class is reached."""
CALLED_BY_TORCH = {"forward", "__call__", "backward"}
"""Methods that a module's or an autograd function's users call by another name."""


def holders(source: Source, code: PythonCode) -> set[str]:
    """Return every name and `self.` attribute that may hold an extension or one of its functions, or a Triton kernel.

    Follows assignments, what lists of modules are filled with, functions and methods that return an extension or a
    module made with one, and functions that launch a Triton kernel.
    """
    kernels = {one.name for one in triton_kernels(source)}
    builders = {one.in_function for one in source.extensions if one.in_function}
    names = kernels | {one.variable for one in source.extensions if one.variable}
    names |= {name for name in builders if name in code.functions}
    names |= {f"self.{name}" for name in builders}
    while more := {*_made_with(code, names, launching=bool(kernels))} - names - {""}:
        names |= more
    return names


def _made_with(code: PythonCode, names: set[str], *, launching: bool) -> Iterator[str]:
    """Yield names that are assigned, filled, returned or constructed with one of some names."""
    for node in code.of(ast.Assign):
        if mentions(node.value, names) or calls_builder(code, node.value):
            yield from map(dotted_name, node.targets)
    for call in code.of(ast.Call):
        filled = isinstance(call.func, ast.Attribute) and call.func.attr in FILLING
        if filled and any(mentions(argument, names) for argument in call.args):
            yield dotted_name(call.func.value)  # type: ignore[attr-defined]
    for function in code.of(ast.FunctionDef):
        handed = _returns_one(function, names) or (launching and _calls_one(function, names))
        if handed and function.name not in CALLED_BY_TORCH:
            yield _call_name(code, function)
    for name, owner in code.classes.items():
        if name != MODEL and any(mentions(node, names) for node in owner.body):
            yield from (name, *(f"{around}.{name}" for around in OWNERS))


def _call_name(code: PythonCode, function: ast.FunctionDef) -> str:
    """Return the name in a call of a function: `self.name` for a method."""
    method = isinstance(code.parents.get(function), ast.ClassDef)
    return f"self.{function.name}" if method else function.name


def _returns_one(function: ast.FunctionDef, names: set[str]) -> bool:
    return any(
        isinstance(node, ast.Return) and node.value is not None and mentions(node.value, names)
        for node in nodes_under(function)
    )


def _calls_one(function: ast.FunctionDef, names: set[str]) -> bool:
    calls = (node for node in nodes_under(function) if isinstance(node, ast.Call))
    return any(mentions(call.func, names) for call in calls)


def mentions(node: ast.AST, names: set[str]) -> bool:
    """Whether an expression or statement refers to one of the names."""
    return any(refers(inner, names) for inner in nodes_under(node))


def refers(node: ast.AST, names: set[str]) -> bool:
    """Whether a node itself is one of the names."""
    return dotted_name(node) in names


def uses_operators(code: PythonCode) -> bool:
    """Whether kernels are called as `torch.ops.name.function`, which no variable shows."""
    return any(code.canonical(node).startswith("torch.ops") for node in code.of(ast.Attribute))


def computes_with_torch(code: PythonCode, node: ast.AST) -> Iterator[ast.AST]:
    """Yield the places under a node where PyTorch computes: functions, operators, layers."""
    for inner in nodes_under(node):
        if isinstance(inner, ast.Call):
            name = code.canonical(inner.func)
            free = name.rsplit(".", 1)[-1] in FREE or name.startswith(NO_COMPUTE)
            if name.startswith(TORCH_COMPUTE) and not free:
                yield inner
        elif isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.MatMult):
            yield inner


def calls_builder(code: PythonCode, value: ast.AST, builders: Collection[str] = ()) -> bool:
    """Whether an extension is built under a node, by torch or by one of the file's own builders."""
    calls = (node for node in nodes_under(value) if isinstance(node, ast.Call))
    names = (code.canonical(call.func) for call in calls)
    return any(
        name.rsplit(".", 1)[-1] in {"load_inline", "load", *builders}
        and not name.startswith("triton.")
        for name in names
    )

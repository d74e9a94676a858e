"""Taint analysis of a Python function: names whose values come from given sources."""

import ast
from collections.abc import Callable, Iterable, Iterator

from grader.source import nodes_under
from grader.source.python_code import Function, PythonCode

FORM_ONLY = {
    "shape", "size", "dim", "ndim", "numel", "device", "dtype", "is_cuda", "stride", "layout",
    "requires_grad", "is_contiguous", "element_size", "new_empty", "new_zeros", "new_ones",
    "new_full", "options", "nelement", "__class__",
}  # fmt: skip
"""Attributes and methods of a tensor that do not depend on its values."""
MAKERS = {
    "empty", "zeros", "ones", "empty_like", "zeros_like", "ones_like", "full_like", "full", "rand",
    "randn", "rand_like", "randn_like", "arange", "eye", "empty_strided", "len", "isinstance",
    "type",
}  # fmt: skip
"""Functions whose result depends on the form of their arguments only."""

FILLING = {"append", "appendleft", "extend", "insert", "add", "update", "setdefault", "add_module"}
"""Methods that store their argument in their object."""

Starts = Callable[[ast.AST], bool]


def parameters(function: Function) -> tuple[str, ...]:
    """Return the names of a method's parameters without self."""
    arguments = function.args
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    extra = [one.arg for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return tuple(name for name in (*names, *extra) if name not in {"self", "cls"})


def tainted_names(function: Function, names: set[str], starts: Starts) -> set[str]:
    """Return the names that may hold a value from one of `names` or from a node that `starts`.

    A call taints its result, and the plain names that it gets as arguments beside a tainted one:
    an extension may write through them. Statements are processed until nothing changes, so the order of branches and
    loops does not matter.
    """
    known = set(names)
    while True:
        before = len(known)
        for node in nodes_under(function):
            known.update(_made_by(node, known, starts))
        if len(known) == before:
            return known


def depends(node: ast.AST | None, names: set[str], starts: Starts) -> bool:
    """Whether the value of an expression may come from one of the names, or from a start.

    Iterative: generated code may nest deeper than Python's stack.
    """
    todo = [node] if node is not None else []
    while todo:
        here = todo.pop()
        if starts(here) or _is_one(here, names):
            return True
        if not _form_only(here):
            todo += ast.iter_child_nodes(here)
    return False


def _is_one(node: ast.AST, names: set[str]) -> bool:
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return f"self.{name}" in names
        case _:
            return False


def _form_only(node: ast.AST) -> bool:
    """Whether an expression depends only on the shapes and types of its operands, not on values."""
    match node:
        case ast.Attribute(attr=name):
            return name in FORM_ONLY
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in FORM_ONLY | MAKERS
        case ast.Call(func=ast.Name(id=name)):
            return name in MAKERS
        case _:
            return False


def _made_by(node: ast.AST, names: set[str], starts: Starts) -> Iterator[str]:
    match node:
        case ast.Assign(targets=targets, value=value):
            pass
        case (
            ast.AugAssign(target=target, value=value)
            | ast.NamedExpr(target=target, value=value)
            | ast.AnnAssign(target=target, value=value)
            | ast.For(target=target, iter=value)
            | ast.comprehension(target=target, iter=value)
            | ast.withitem(optional_vars=ast.AST() as target, context_expr=value)
        ):
            targets = [target]
        case ast.Call():
            yield from _written_by_call(node, names, starts)
            return
        case _:
            return
    for one in targets if depends(value, names, starts) else ():
        yield from _stored_names(one)


def _written_by_call(call: ast.Call, names: set[str], starts: Starts) -> Iterator[str]:
    """Yield the names that a call may write: its arguments, and its object."""
    given = [*call.args, *(word.value for word in call.keywords)]
    if not (starts(call) or any(depends(one, names, starts) for one in given)):
        return
    for one in given:
        if isinstance(one, ast.Name | ast.Attribute):
            yield from _stored_names(one)
    if isinstance(call.func, ast.Attribute) and (
        call.func.attr.endswith("_") or call.func.attr in FILLING
    ):
        yield from _stored_names(call.func.value)


def _stored_names(target: ast.AST) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            yield f"self.{name}"
        case ast.Subscript(value=value) | ast.Starred(value=value):
            yield from _stored_names(value)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _stored_names(element)
        case _:
            return


def assignments(function: ast.AST, name: str) -> list[ast.Assign]:
    """Return the assignments to a plain name, in the order of the text."""
    found = (node for node in nodes_under(function) if isinstance(node, ast.Assign))
    return [
        one for one in found if any(isinstance(t, ast.Name) and t.id == name for t in one.targets)
    ]


def bound_names(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a statement binds, each with its value; several names may be parts of one."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _bound_names(target, value)
        case (
            ast.AugAssign(target=ast.Name() as target, value=value)
            | ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.For(target=target, iter=value)
        ):
            yield from _bound_names(target, value)


def _bound_names(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List):
        several = value.elts if isinstance(value, ast.Tuple | ast.List) else ()
        values = several if len(several) == len(target.elts) else [value] * len(target.elts)
        for part, one in zip(target.elts, values, strict=True):
            yield from _bound_names(part, one)


def last_value(function: ast.AST, name: str, before: int) -> tuple[ast.expr, int] | None:
    """Return the last value of a name before a line, and the line that sets it."""
    every = (node for node in nodes_under(function) if isinstance(node, ast.Assign) and node.lineno < before)  # fmt: skip
    found = [
        (value, node.lineno) for node in every for one, value in bound_names(node) if one == name
    ]
    return max(found, key=lambda one: one[1], default=None)


def returns(code: PythonCode, function: Function) -> list[tuple[ast.Return, ast.expr]]:
    """Return the values that a function returns, without nested functions."""
    found = (node for node in nodes_under(function) if isinstance(node, ast.Return))
    return [(one, one.value) for one in found if one.value and code.function_of(one) is function]


def methods(functions: Iterable[ast.AST]) -> set[str]:
    """Return the names of the methods that functions call."""
    calls = (node for one in functions for node in nodes_under(one) if isinstance(node, ast.Call))
    return {call.func.attr for call in calls if isinstance(call.func, ast.Attribute)}

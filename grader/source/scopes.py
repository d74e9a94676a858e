"""Static bindings of Python names, scope by scope."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Block = ast.Module | ast.ClassDef | FunctionNode
LIST_METHODS = frozenset(
    {"append", "extend", "insert", "remove", "pop", "clear", "reverse", "sort"}
)
"""Methods that change a list in place."""


class Binding(NamedTuple):
    """One assignment to a name."""

    value: ast.expr
    at: tuple[int, int]
    """Line and column of the statement."""
    augmented: bool
    """`name += value` rather than `name = value`."""
    conditional: bool
    """Whether it is under an `if`, a loop, a `try` or a `match`, so that it may not have happened."""


@dataclass(eq=False)
class Scope:
    """A module, class or function with the names bound in it."""

    node: Block
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    functions: dict[str, FunctionNode] = field(default_factory=dict)
    parameters: dict[str, tuple[ast.expr, Scope]] = field(default_factory=dict)
    """Arguments of a call: the expression and its scope."""

    @property
    def name(self) -> str | None:
        """Name of the function or class; None for the module."""
        return None if isinstance(self.node, ast.Module) else self.node.name


@lru_cache(maxsize=256)
def nodes_under(node: ast.AST) -> tuple[ast.AST, ...]:
    """Return a node and all below it, breadth first; cached, since every rule uses it."""
    return tuple(ast.walk(node))


def read_scope(node: Block, parent: Scope | None) -> Scope:
    """Collect the names bound directly in a block, not in the functions and classes inside it."""
    scope = Scope(node, parent)
    for statement, conditional in _statements(node.body):
        if isinstance(statement, FunctionNode):
            scope.functions[statement.name] = statement
        for target, value, augmented in _assignments(statement, conditional=conditional):
            at = (statement.lineno, statement.col_offset)
            scope.bindings.setdefault(target, []).append(Binding(value, at, augmented, conditional))
    return scope


def call_scope(callee: FunctionNode, call: ast.Call, caller: Scope, defined_in: Scope) -> Scope:
    """Return the scope of one call of a function: its parameters bound to the arguments."""
    scope = read_scope(callee, defined_in)
    arguments = callee.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    defaults = dict(zip(reversed(names), reversed(arguments.defaults), strict=False))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            defaults[argument.arg] = default
    scope.parameters = {name: (value, defined_in) for name, value in defaults.items()}
    for name, value in zip(names, call.args, strict=False):
        if isinstance(value, ast.Starred):
            break
        scope.parameters[name] = (value, caller)
    for keyword in call.keywords:
        if keyword.arg is not None:
            scope.parameters[keyword.arg] = (keyword.value, caller)
    return scope


def class_names(scope: Scope) -> list[str]:
    """Return the names of the classes around a scope, the innermost first."""
    names: list[str] = []
    here: Scope | None = scope
    while here is not None:
        if isinstance(here.node, ast.ClassDef):
            names.append(here.node.name)
        here = here.parent
    return names


def add_instance_attributes(scope: Scope) -> None:
    """Add what methods assign to `self.x` to the names of the class."""
    for function in scope.functions.values():
        inner = read_scope(function, scope)
        for name, bindings in inner.bindings.items():
            owner, _, attribute = name.partition(".")
            if owner in {"self", "cls"} and attribute:
                scope.bindings.setdefault(attribute, []).extend(bindings)


def dotted_name(node: ast.AST | None) -> str:
    """Return `a.b.c` for such a chain of attributes, else an empty string."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join((node.id, *reversed(names)))


def _statements(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield the statements of a block in order, each with whether it is conditional."""
    stack = [(statement, False) for statement in reversed(body)]
    while stack:
        statement, conditional = stack.pop()
        yield statement, conditional
        if isinstance(statement, (ast.ClassDef, FunctionNode)):
            continue
        plain = isinstance(statement, (ast.With, ast.AsyncWith))
        inner: list[ast.stmt] = []
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            for child in getattr(statement, name, ()):
                inner += child.body if not isinstance(child, ast.stmt) else [child]
        stack += [(child, conditional or not plain) for child in reversed(inner)]


def _assignments(statement: ast.stmt, *, conditional: bool) -> Iterator[tuple[str, ast.expr, bool]]:
    """Yield (name, value, augmented); attributes of `self` are named `self.x`."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        yield from _grow_list(statement.value, conditional=conditional)
    elif isinstance(statement, ast.AugAssign):
        if isinstance(statement.op, ast.Add) and (name := dotted_name(statement.target)):
            yield name, statement.value, True
    elif isinstance(statement, ast.AnnAssign):
        if statement.value is not None and (name := dotted_name(statement.target)):
            yield name, statement.value, False
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _unpack(target, statement.value)


def _grow_list(call: ast.Call, *, conditional: bool) -> Iterator[tuple[str, ast.expr, bool]]:
    """Yield a call's change of a list: `x.append(y)` is `x += [y]`, and unknown in a loop or a branch."""
    function = call.func
    if not isinstance(function, ast.Attribute) or not (name := dotted_name(function.value)):
        return
    if function.attr not in LIST_METHODS:
        return
    if conditional or len(call.args) != 1 or function.attr not in {"append", "extend"}:
        yield name, call, False
    elif function.attr == "append":
        yield name, ast.copy_location(ast.List(elts=call.args, ctx=ast.Load()), call), True
    else:
        yield name, call.args[0], True


def _unpack(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr, bool]]:
    if name := dotted_name(target):
        yield name, value, False
    elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        for one, part in zip(target.elts, value.elts, strict=False):
            if name := dotted_name(one):
                yield name, part, False


def needed_statements(body: Sequence[ast.stmt], names: Iterable[str]) -> list[ast.stmt]:
    """Return the statements that bind these names, directly or as dependencies, in order."""
    asked, kept = set(names), set[ast.stmt]()
    while more := [one for one in body if one not in kept and _bound_names(one) & asked]:
        kept.update(more)
        asked = asked.union(*map(names_used, more))
    return [one for one in body if one in kept]


def names_used(node: ast.AST) -> set[str]:
    """Return every name in a part of a program."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _bound_names(node: ast.stmt) -> set[str]:
    """Return the names that a definition, an import or an assignment binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(one.asname or one.name).split(".")[0] for one in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else ()
    return {name for target in targets for name in names_used(target)}

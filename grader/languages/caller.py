"""Writes a class that calls a function of an answer as the reference's `Model` would."""

from __future__ import annotations

import ast
import copy
from typing import NamedTuple

from grader.source import read_python
from grader.source.scopes import names_used, needed_statements

_GIVEN = frozenset({"get_inputs", "get_init_inputs"})
_WITH_WEIGHTS = "_WithWeights"


class Callee(NamedTuple):
    """A function of an answer that has no class."""

    name: str
    """Python expression of the function: `_extension.forward`."""
    least: int
    """Number of required arguments."""
    most: int
    """Largest number of arguments; below `least` where unknown."""
    alone: bool
    """Whether it can be called with a task's inputs where no reference defines them."""
    names: tuple[str, ...] = ()
    """Names of its arguments, as far as known."""

    def takes(self, count: int) -> bool:
        """Whether it can be called with this number of arguments."""
        return self.least <= count <= self.most


def class_calling(callee: Callee, reference: str | None, model: str) -> str | None:
    """Return a class whose `forward` calls a function; None where the arguments are unclear."""
    found, _ = read_python(reference) if reference else (None, None)
    tree = copy.deepcopy(found)  # a copy, since the tree is shared and changed here
    theirs = _model_class(tree) if tree is not None else None
    forward = _method(theirs, "forward")
    if tree is None or theirs is None or forward is None:
        return _plain(callee.name, model, "*inputs") if callee.alone else None
    operation = _operation(tree, forward)
    if operation is not None:
        return _rewrite_class(tree, theirs, forward, operation, callee.name, model)
    plain = _plain_call(callee, theirs, forward, model)
    return plain or _with_weights(tree, theirs, forward, callee, model)


def _plain(callee: str, model: str, given: str) -> str:
    return (
        f"class {model}(nn.Module):\n"
        "    def __init__(self, *settings):\n"
        "        super().__init__()\n"
        "        self.settings = settings\n\n"
        "    def forward(self, *inputs):\n"
        f"        return {callee}({given})"
    )


def _plain_call(
    callee: Callee, theirs: ast.ClassDef, forward: ast.FunctionDef, model: str
) -> str | None:
    """Return a class that passes inputs on, and the constructor's arguments if exactly those are missing."""
    inputs = len(forward.args.args) - 1
    constructor = _method(theirs, "__init__")
    settings = len(constructor.args.args) - 1 if constructor else 0
    if settings and not _has_weights(theirs) and callee.takes(inputs + settings):
        return _plain(callee.name, model, "*inputs, *self.settings")
    if callee.takes(inputs):
        return _plain(callee.name, model, "*inputs")
    return None


def _has_weights(theirs: ast.ClassDef) -> bool:
    """Whether a class's constructor names something of `torch.nn`."""
    constructor = _method(theirs, "__init__")
    attributes = (n for n in ast.walk(constructor or theirs) if isinstance(n, ast.Attribute))
    return any(isinstance(one.value, ast.Name) and one.value.id == "nn" for one in attributes)


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


def _rewrite_class(
    tree: ast.Module,
    theirs: ast.ClassDef,
    forward: ast.FunctionDef,
    operation: str,
    callee: str,
    model: str,
) -> str:
    """Return the reference's class, changed to call the answer's function, with the other statements it needs."""
    at = [arg.arg for arg in forward.args.args].index(operation)
    del forward.args.defaults[at - len(forward.args.args)]
    del forward.args.args[at]
    _Named(operation, callee).visit(forward)
    return _with_what_it_needs(tree, theirs, model)


def _with_weights(
    tree: ast.Module, theirs: ast.ClassDef, forward: ast.FunctionDef, callee: Callee, model: str
) -> str | None:
    """Return the reference's class with a `forward` that passes its weights on too: `f(x, proj_weight, proj_bias, dim=4)`.

    Weights are passed by name, or in order where names differ; settings of the constructor by name.
    """
    inputs, init = len(forward.args.args) - 1, _method(theirs, "__init__")
    asked, optional = callee.names[inputs : callee.least], callee.names[callee.least :]
    settings = tuple(arg.arg for arg in init.args.args[1:]) if init else ()
    if not asked or not _has_weights(theirs):
        return None
    theirs.body.remove(forward)
    given = _with_what_it_needs(tree, theirs, _WITH_WEIGHTS)
    return (
        f"{given}\n\n\n"
        f"class {model}({_WITH_WEIGHTS}):\n"
        "    def __init__(self, *settings):\n"
        "        super().__init__(*settings)\n"
        f"        named = dict(zip({settings!r}, settings))\n"
        f"        self.settings = {{n: named[n] for n in {optional!r} if n in named}}\n\n"
        "    def forward(self, *inputs):\n"
        "        own = [*self.named_parameters(), *self.named_buffers()]\n"
        "        named = {name.replace('.', '_'): value for name, value in own}\n"
        f"        weights = [named[n] for n in {asked!r} if n in named]\n"
        f"        if len(weights) < {len(asked)}:\n"
        f"            weights = [value for _, value in own][:{len(asked)}]\n"
        f"        return {callee.name}(*inputs, *weights, **self.settings)"
    )


def _with_what_it_needs(tree: ast.Module, theirs: ast.ClassDef, name: str) -> str:
    """Return a class under a new name, with the other statements of its file that it uses."""
    _Named(theirs.name, name).visit(theirs)
    theirs.name = name
    uses = names_used(theirs) - _GIVEN
    rest = [one for one in needed_statements(tree.body, uses) if one is not theirs]
    return ast.unparse(ast.Module([*rest, theirs], []))


class _Named(ast.NodeTransformer):
    """Replaces a name by an expression."""

    def __init__(self, name: str, instead: str) -> None:
        self._name = name
        self._instead = instead

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return node if node.id != self._name else ast.parse(self._instead, mode="eval").body

"""The fix of weights of an answer's own making: made by the reference's layer, as it makes them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.records import Edit, Fix
from grader.source import Source, nodes_under
from grader.source.analysis.reference_text import last_name
from grader.source.code_edits import delete_statement, fix

RANDOM = ("Conv", "Linear")
"""Layers that draw a `weight` and a `bias`."""


@dataclass(frozen=True)
class _Own:
    """A parameter that the answer makes itself: `self.name = nn.Parameter(...)`."""

    name: str
    statement: ast.stmt
    value: ast.expr


def reference_layers_weights(
    source: Source, model: ast.ClassDef, reference: ast.AST
) -> tuple[Fix, ...]:
    """Return the fix that makes each layer the reference has, in its order, and takes its weights."""
    theirs, ours = _constructor(_class(reference, "Model")), _constructor(model)
    if theirs is None or ours is None or source.python is None:
        return ()
    made = {name for name, _ in _layers(ours)}
    layers = [(name, call) for name, call in _layers(theirs) if name not in made]
    taken = {one.name for one in _own(theirs)}
    own = [one for one in _own(ours) if one.name not in taken]
    weights = [one for one in own if one.name.endswith("weight") and _is_drawn(one.value)]
    if not layers or len(weights) != len(layers):
        return ()
    renamed = dict(zip(_arguments(theirs), _arguments(ours), strict=False))
    used = {node.id for node in nodes_under(source.python) if isinstance(node, ast.Name)}
    edits: list[Edit | None] = []
    for (name, call), weight in zip(layers, weights, strict=True):
        words = _made(call, renamed)
        bias = next((o for o in own if o.name == weight.name.removesuffix("weight") + "bias"), None)
        if words is None:
            return ()
        local = name if name not in used else f"{name}_layer"
        edits += _edits(source, local, words, weight, bias)
    replaced = {f"self.{weight.name.removesuffix('weight')}{k}" for weight in weights for k in ("weight", "bias")}  # fmt: skip
    edits += [delete_statement(source, node) for node in _drawing(ours, replaced)]
    return fix("make the reference's layer, and take the weights that it draws", edits)


def _edits(
    source: Source, layer: str, words: str, weight: _Own, bias: _Own | None
) -> Iterator[Edit | None]:
    start = source.span(weight.statement)[0]
    indent = " " * weight.statement.col_offset
    yield Edit(start=start, end=start, text=f"{layer} = {words}\n{indent}")
    for own, attribute in ((weight, "weight"), (bias, "bias")):
        if own is not None:
            first, last = source.span(own.value)
            yield Edit(start=first, end=last, text=f"{layer}.{attribute}")


def _class(tree: ast.AST, name: str) -> ast.ClassDef | None:
    found = (n for n in nodes_under(tree) if isinstance(n, ast.ClassDef) and n.name == name)
    return next(found, None)


def _constructor(model: ast.ClassDef | None) -> ast.FunctionDef | None:
    found = (n for n in (model.body if model else ()) if isinstance(n, ast.FunctionDef))
    return next((n for n in found if n.name == "__init__"), None)


def _arguments(function: ast.FunctionDef) -> list[str]:
    return [one.arg for one in function.args.args[1:]]


def _layers(function: ast.FunctionDef) -> list[tuple[str, ast.Call]]:
    found = []
    for node in nodes_under(function):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr=name)], value=ast.Call(func=made) as call):
                if last_name(made).startswith(RANDOM):
                    found.append((name, call))
    return sorted(found, key=lambda item: item[1].lineno)


def _own(function: ast.FunctionDef) -> list[_Own]:
    found = []
    for node in nodes_under(function):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr=name)], value=ast.Call(func=made) as value):
                if last_name(made) == "Parameter":
                    found.append(_Own(name, node, value))
    return sorted(found, key=lambda one: one.statement.lineno)


def _is_drawn(value: ast.AST) -> bool:
    """Whether a parameter is made of random numbers, or of memory that an initialiser then fills."""
    names = {last_name(n.func) for n in nodes_under(value) if isinstance(n, ast.Call)}
    return bool(names & {"randn", "rand", "empty", "Tensor", "zeros"})


def _made(call: ast.Call, renamed: Mapping[str, str]) -> str | None:
    """Return the layer's making in the answer's names; None where it needs more than the arguments."""
    text = ast.parse(ast.unparse(call), mode="eval").body
    for node in nodes_under(text):
        if isinstance(node, ast.Name):
            if node.id not in {"nn", "torch", *renamed}:
                return None
            node.id = renamed.get(node.id, node.id)
    return ast.unparse(text)


def _drawing(function: ast.FunctionDef, names: set[str]) -> Iterator[ast.stmt]:
    """Yield the statements that fill one of these parameters anew."""
    for node in nodes_under(function):
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=called), args=[first, *_])):
                if called.endswith("_") and ast.unparse(first) in names:
                    yield node

"""Views that forward passes to the extension, whose memory order differs from their sizes."""

import ast

from grader.source import Source, nodes_under
from grader.source.analysis.data_flow import last_value
from grader.source.functions import Function

VIEWS = frozenset({"permute", "transpose", "t", "expand", "swapaxes", "movedim"})
KEEPING = frozenset({"detach", "cuda", "unsqueeze", "squeeze"})
"""Calls that keep the memory order."""
MOST_NAMES = 8


def passed_views(source: Source, function: Function) -> dict[str, str]:
    """Return the parameters of a host function that get a view from forward, with the call that makes it."""
    forward = source.module.method("forward")
    if forward is None:
        return {}
    called = _known_as(source, function.name)
    found: dict[str, str] = {}
    for node in nodes_under(forward):
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=args) if (
                name in called
            ):
                for parameter, given in zip(function.parameters, args, strict=False):
                    if made := _maker(forward, given, node.lineno):
                        found[parameter.name] = made
    return found


def _known_as(source: Source, name: str) -> set[str]:
    """Return a host function's name and its aliases in Python: `self.op = extension.run`."""
    names = {name}
    for node in source.walk(ast.Assign):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(attr=other) | ast.Name(id=other)],
                value=ast.Attribute(attr=bound),
            ) if bound == name:
                names.add(other)
    return names


def _maker(forward: ast.AST, value: ast.expr, before: int, depth: int = 0) -> str:
    """Return the last call that made an expression a view; empty for none."""
    match value:
        case ast.Attribute(attr=("T" | "mT") as name):
            return name
        case ast.Call(func=ast.Attribute(attr=name)) if name in VIEWS:
            return name
        case ast.Call(func=ast.Attribute(attr=name, value=base)) if name in KEEPING:
            return _maker(forward, base, before, depth)
        case ast.Name(id=name) if depth < MOST_NAMES:
            last = last_value(forward, name, before)
            return _maker(forward, *last, depth + 1) if last is not None else ""
    return ""

"""Views that forward passes to the extension: their memory is in another order than their sizes say."""

import ast

from grader.source import Source, nodes_under
from grader.source.functions import Function

VIEWS = frozenset({"permute", "transpose", "t", "expand", "swapaxes", "movedim"})
KEEPING = frozenset({"detach", "cuda", "unsqueeze", "squeeze"})
"""What leaves the order of the memory as it is."""
MOST_NAMES = 8


def passed_views(source: Source, function: Function) -> dict[str, str]:
    """Return the parameters of a host function to which forward passes a view, with what makes it."""
    forward = source.method("ModelNew", "forward")
    if forward is None:
        return {}
    called, makers = _known_as(source, function.name), _Makers(forward)
    found: dict[str, str] = {}
    for node in nodes_under(forward):
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=args) if (
                name in called
            ):
                for parameter, given in zip(function.parameters, args, strict=False):
                    if made := makers.of(given, node.lineno):
                        found[parameter.name] = made
    return found


def _known_as(source: Source, name: str) -> set[str]:
    """Return a host function's name and those that Python gives it: `self.op = extension.run`."""
    names = {name}
    for node in source.walk(ast.Assign):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(attr=other) | ast.Name(id=other)],
                value=ast.Attribute(attr=bound),
            ) if bound == name:
                names.add(other)
    return names


class _Makers:
    """What put the memory of forward's tensors in another order, last."""

    def __init__(self, forward: ast.AST) -> None:
        self.assigned = [node for node in nodes_under(forward) if isinstance(node, ast.Assign)]

    def of(self, value: ast.expr, before: int, depth: int = 0) -> str:
        """Return the call that made an expression a view, or nothing."""
        match value:
            case ast.Attribute(attr=("T" | "mT") as name):
                return name
            case ast.Call(func=ast.Attribute(attr=name)) if name in VIEWS:
                return name
            case ast.Call(func=ast.Attribute(attr=name, value=base)) if name in KEEPING:
                return self.of(base, before, depth)
            case ast.Name(id=name) if depth < MOST_NAMES:
                return self._name(name, before, depth)
        return ""

    def _name(self, name: str, before: int, depth: int) -> str:
        last = max(
            (node for node in self.assigned if _binds(node, name) and node.lineno < before),
            key=lambda node: node.lineno,
            default=None,
        )
        match last:
            case ast.Assign(targets=[ast.Name()], value=value):
                return self.of(value, last.lineno, depth + 1)
        return ""


def _binds(node: ast.Assign, name: str) -> bool:
    return any(
        isinstance(part, ast.Name) and part.id == name
        for target in node.targets
        for part in ast.walk(target)
    )

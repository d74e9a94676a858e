"""The reference's operations, read from its Python text."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from grader.records import Context
from grader.source import Source, nodes_under

NORMS = (
    "LayerNorm",
    "BatchNorm",
    "InstanceNorm",
    "GroupNorm",
    "RMSNorm",
    "layer_norm",
    "batch_norm",
    "group_norm",
)


@dataclass(frozen=True)
class Reference:
    """The reference's text and tree."""

    text: str
    tree: ast.Module

    def calls(self) -> Iterator[ast.Call]:
        """Yield all calls."""
        return (node for node in nodes_under(self.tree) if isinstance(node, ast.Call))

    def names(self) -> frozenset[str]:
        """Return the last names of all calls."""
        return frozenset(last_name(call.func) for call in self.calls())

    def has(self, *beginnings: str) -> bool:
        """Whether there is a call whose name starts with a prefix."""
        return any(name.startswith(beginnings) for name in self.names())

    def epsilon(self) -> str:
        """Return whether the reference adds its epsilon `inside` or `outside` the root; empty if it has none."""
        if self.has(*NORMS):
            return "inside"
        for call in self.calls():
            if last_name(call.func) in {"sqrt", "rsqrt"} and any(
                _is_epsilon(n) for a in call.args for n in nodes_under(a)
            ):
                return "inside"
        for node in nodes_under(self.tree):
            if (
                isinstance(node, ast.BinOp)
                and isinstance(node.op, ast.Add)
                and _is_epsilon(node.right)
            ):
                inner = [
                    last_name(c.func) for c in nodes_under(node.left) if isinstance(c, ast.Call)
                ]
                if {"sqrt", "norm"} & set(inner):
                    return "outside"
        return ""


def _is_epsilon(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return "eps" in name.lower()
        case ast.Constant(value=float(number)):
            return 0 < number < 1e-2
    return False


def last_name(node: ast.AST) -> str:
    """Return `sqrt` for `torch.sqrt`."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


@lru_cache(maxsize=32)
def _parse_reference(text: str) -> Reference | None:
    try:
        return Reference(text, ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def reference_of(source: Source, context: Context) -> Reference | None:
    """Return the reference: the task's, the prompt's, or a class Model in the submission."""
    if context.task is not None and context.task.reference.strip():
        return _parse_reference(context.task.reference)
    if context.extraction is not None and context.extraction.reference:
        return _parse_reference(context.extraction.reference)
    model = source.module.classes.get("Model")
    if model is not None:
        lines = source.lines[model.lineno - 1 : model.end_lineno]
        return _parse_reference("\n".join(lines))
    return None


def reference_parameters(context: Context, name: str) -> tuple[str, ...]:
    """Return the parameters of the reference's method of that name, without self."""
    found = _parse_reference(context.task.reference) if context.task is not None else None
    models = [n for n in found.tree.body if isinstance(n, ast.ClassDef)] if found else []
    body = [item for one in models if one.name == "Model" for item in one.body]
    methods = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == name]
    return tuple(one.arg for one in methods[0].args.args[1:]) if methods else ()

"""Where a submission computes gradients: the `backward` of its autograd functions, or of the model itself."""

import ast
from collections.abc import Iterator

from grader.source import Source, nodes_under
from grader.source.python_code import Function


def backwards(source: Source) -> Iterator[Function]:
    """Yield every class's `backward`, in the order of the text."""
    for name in source.module.classes:
        found = source.module.method("backward", name)
        if isinstance(found, Function):
            yield found


def upstream_names(function: Function) -> tuple[str, ...]:
    """Return the arguments for upstream gradients: those after `ctx`, or after `self`."""
    return tuple(argument.arg for argument in function.args.args[1:])


def returned_at(function: Function) -> ast.AST:
    """Return a function's return statement; the function itself if it has none."""
    found = [node for node in nodes_under(function) if isinstance(node, ast.Return)]
    return found[-1] if found else function


def where_gradients_are_made(source: Source) -> ast.AST | None:
    """Return the first backward's return, else what the model's forward returns."""
    function = next(backwards(source), None)
    function = function or source.module.method("forward")
    return returned_at(function) if function else None

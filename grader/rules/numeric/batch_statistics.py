"""The mend of running statistics in training mode: those of the batch, taken where they are handed over."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Edit, Fix
from grader.rules.mending import fix
from grader.source import nodes_under

if TYPE_CHECKING:
    from grader.source import Source

OVER = "[d for d in range({x}.dim()) if d != 1]"
"""All dimensions but the channels'."""
TAKEN = {
    "running_mean": f"{{x}}.mean({OVER})",
    "running_var": f"{{x}}.var({OVER}, unbiased=False)",
}
MOVED = frozenset({"contiguous", "detach", "clone", "data", "float"})


def batch_statistics(source: Source, model: ast.ClassDef) -> tuple[Fix, ...]:
    """Return the fix that hands over the batch's mean and variance while the module is in training mode.

    What is normalised is taken to be the first argument of the call that is handed the statistics.
    """
    edits = []
    for call in nodes_under(model):
        first = call.args[0] if isinstance(call, ast.Call) and call.args else None
        if not isinstance(call, ast.Call) or not isinstance(first, ast.Name):
            continue
        for argument in call.args[1:]:
            read = next((node for node in _inside(argument) if node.attr in TAKEN), None)
            if read is not None:
                words = TAKEN[read.attr].format(x=first.id)
                start, end = source.span(argument)
                text = f"({words} if self.training else {source.code[start:end]})"
                edits.append(Edit(start=start, end=end, text=text))
    return fix("normalise with the batch's statistics in training mode", edits)


def _inside(argument: ast.expr) -> Iterator[ast.Attribute]:
    """Yield the attributes that an argument is made of, from the outside in."""
    while True:
        if isinstance(argument, ast.Call):
            argument = argument.func
        if not isinstance(argument, ast.Attribute):
            return
        yield argument
        if argument.attr not in MOVED:
            return
        argument = argument.value

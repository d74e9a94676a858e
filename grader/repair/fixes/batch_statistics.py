"""The fix of running statistics in training mode: those of the batch, taken where they are handed over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source, nodes_under
from grader.source.code_edits import fix

OVER = "[d for d in range({x}.dim()) if d != 1]"
"""All dimensions but the channels'."""
TAKEN = {
    "mean": f"{{x}}.mean({OVER})",
    "var": f"{{x}}.var({OVER}, unbiased=False)",
}
STATISTIC = re.compile(r"(?:running|moving|bn\d*|batch_?norm\d*)_(mean|var)$")
"""What running statistics are called, a layer's or an answer's own."""
MOVED = frozenset({"contiguous", "detach", "clone", "data", "float"})


def batch_statistics(source: Source, model: ast.ClassDef) -> tuple[Fix, ...]:
    """Return the fix that hands over the batch's mean and variance while the module is in training mode.

    What is normalised is the first argument of the call that is handed the statistics.
    """
    edits: list[Edit] = []
    for call in nodes_under(model):
        for argument in call.args[1:] if isinstance(call, ast.Call) else ():
            read = next((node for node in _inside(argument) if _taken(node)), None)
            if read is not None and isinstance(call, ast.Call):
                words = _taken(read).format(x=source.text(call.args[0]))
                start, end = source.span(argument)
                text = f"({words} if self.training else {source.code[start:end]})"
                edits.append(Edit(start=start, end=end, text=text))
    return fix("normalise with the batch's statistics in training mode", edits)


def _taken(read: ast.Attribute) -> str:
    """Return how a statistic is taken from a batch, by the end of its name; empty where it is none."""
    found = STATISTIC.search(read.attr)
    return TAKEN[found[1]] if found else ""


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


def propose(_finding: Finding, source: Source, _context: Context) -> tuple[Fix, ...]:
    """Return the fixes of the submission's model."""
    model = source.classes.get("ModelNew")
    return batch_statistics(source, model) if model is not None else ()


FIX = FixMaker(codes=("NUM005",), propose=propose)

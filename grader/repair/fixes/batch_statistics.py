"""The fix of running statistics in training mode: the batch's statistics are passed instead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source, nodes_under
from grader.source.code_edits import fix, replace

OVER = "[d for d in range({x}.dim()) if d != 1]"
"""All dimensions but the channels'."""
TAKEN = {
    "mean": f"{{x}}.mean({OVER})",
    "var": f"{{x}}.var({OVER}, unbiased=False)",
}
STATISTIC = re.compile(
    r"(?<![a-z])(?:running|moving|bn\d*|batch_?norm\d*)_(mean|var)(?:\.(?:contiguous|detach|clone|float)\(\)|\.data)*$"
)
"""What running statistics are called, a layer's or an answer's own, and what is made of them on the way."""


def propose(_finding: Finding, source: Source, _context: Context) -> Iterator[Fix]:
    """Yield the fix that passes the batch's mean and variance while the module is in training mode.

    The normalised tensor is the first argument of the call with the statistics.
    """
    model = source.module.classes.get("ModelNew")
    label = "normalise with the batch's statistics in training mode"
    yield from fix(label, list(_edits(source, model)) if model is not None else ())


def _edits(source: Source, model: ast.ClassDef) -> Iterator[Edit]:
    for call in nodes_under(model):
        for argument in call.args[1:] if isinstance(call, ast.Call) else ():
            found = STATISTIC.search(source.text(argument))
            if found is not None and isinstance(call, ast.Call):
                words = TAKEN[found[1]].format(x=source.text(call.args[0]))
                given = source.text(argument)
                yield replace(source, argument, f"({words} if self.training else {given})")


FIX = FixMaker(codes=("NUM005",), propose=propose)

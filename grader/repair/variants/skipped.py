"""A step of the reference's that the answer leaves out after one that both have."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Edit
from grader.repair.variants.finish import told
from grader.repair.variants.methods import Change, forward_of

if TYPE_CHECKING:
    from grader.source import Source
    from grader.source.python_code import PythonCode

COST = 1.6
"""Of one step; a little more for each further one."""


def skipped(
    source: Source, code: PythonCode, forward: ast.FunctionDef, reference: str
) -> Iterator[Change]:
    """Yield `forward` with more and more of the reference's steps put in where they come there."""
    theirs = forward_of(reference, "Model")
    if theirs is None:
        return
    ours = {ast.dump(statement): statement for statement in forward.body}
    for at, statement in enumerate(theirs.body):
        shared = ours.get(ast.dump(statement))
        name = _assigned(statement)
        if shared is None or not name:
            continue
        steps: list[ast.stmt] = []
        for step in theirs.body[at + 1 :]:
            if ast.dump(step) in ours or _assigned(step) != name:
                break
            steps.append(step)
            lines = told(code, forward, theirs, steps, name)
            if lines is None:
                break
            end, indent = source.span(shared)[1], " " * shared.col_offset
            text = "".join(f"\n{indent}{line}" for line in lines)
            label = f"do what the reference does next: `{'; '.join(lines)[:100]}`"
            yield label, [Edit(start=end, end=end, text=text)], COST + 0.1 * len(steps)


def _assigned(statement: ast.stmt) -> str:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""

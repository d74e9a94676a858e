"""Reductions along the other axis: the axis, and how the result is laid beside the block again, both at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.repair.candidates.candidate import Candidate
from grader.repair.candidates.triton.function import names_in, target_of
from grader.repair.candidates.triton.scope import Scope

TURNED = 0.8
"""Cost of a reduction along the other axis."""
LAYS = ("[None, :]", "[:, None]")
"""How what is reduced along axis 0, and along axis 1, is laid beside a block of two axes."""


def turned(scope: Scope) -> Iterator[Candidate]:
    """Yield the reductions of a kernel's statements along the other axis, with all that lays their results out."""
    for statement in scope.statements:
        name = target_of(statement) if isinstance(statement, ast.Assign) else ""
        for node, axis in _axes(statement) if name else ():
            lays = [one for one in scope.expressions if _lays(scope, one, name, LAYS[axis])]
            words = [scope.source.text(one)[: -len(LAYS[axis])] + LAYS[1 - axis] for one in lays]
            if lays:
                both = zip(lays, words, strict=True)
                yield scope.changes(TURNED, "index", (node, str(1 - axis)), *both)


def _axes(statement: ast.stmt) -> list[tuple[ast.expr, int]]:
    """Return the only axis that a statement reduces along, 0 or 1, in a list; nothing for several."""
    words = [one for one in ast.walk(statement) if isinstance(one, ast.keyword)]
    axes = [(w.value, int(ast.unparse(w.value))) for w in words if w.arg == "axis" and ast.unparse(w.value) in {"0", "1"}]  # fmt: skip
    return axes if len(axes) == 1 else []


def _lays(scope: Scope, node: ast.expr, name: str, lay: str) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and name in names_in(node.value)
        and scope.source.text(node).endswith(lay)
    )

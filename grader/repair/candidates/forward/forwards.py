"""Small changes of `forward`: what it hands to the kernels, what it does before and after them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field

from grader.repair.candidates.candidate import Candidate
from grader.repair.candidates.forward.methods import forward_of
from grader.repair.candidates.forward.slips import rewrite_forward
from grader.source import Source, edits, nodes_under
from grader.source.python_code import Function


@dataclass(frozen=True, eq=False)
class Forward(Candidate):
    """A change of ModelNew's `forward`, which a woven program calls in its place."""

    definition: ast.FunctionDef = field(kw_only=True)
    """The method as it then is."""

    def function(self, name: str) -> str:
        """Return the method as a function of that name."""
        named = copy(self.definition)
        named.name = name
        return ast.unparse(named)


def forwards(source: Source) -> Iterator[Forward]:
    """Yield the changes of a submission's `forward`."""
    code = source.module
    forward = code.method("forward") if code is not None else None
    if code is None or not isinstance(forward, ast.FunctionDef) or _says_super(forward):
        return
    for one in rewrite_forward(source, code, forward):
        fix = one.fix()
        made = forward_of(edits.apply(source.code, fix.edits), "ModelNew") if fix else None
        if made is not None and ast.dump(made) != ast.dump(forward):
            yield Forward(one.pieces, one.cost, one.touches, said=one.said, definition=made)


def _says_super(forward: Function) -> bool:
    """Whether a method needs its class around it."""
    names = {node.id for node in nodes_under(forward) if isinstance(node, ast.Name)}
    return bool(names & {"super", "__class__"})

"""The dimension that a kernel works along brought to the end, where the kernel takes rows for granted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.repair.variants.sites import INTEGERS, Scope, plain_type
from grader.repair.variants.variant import Piece, Variant
from grader.rules.cuda_code import text
from grader.rules.statements import statement

MOVES = re.compile(r"\b(?:movedim|transpose|permute|swapaxes)\s*\(")
FIXED = ("1", "0")
"""Dimensions that are tried where the function is not told one."""


def moved(scope: Scope) -> Iterator[Variant]:
    """Yield `x = x.movedim(dim, -1).contiguous();` before a launch, for each tensor whose data it takes."""
    function = scope.function
    if function.runs != "host" or MOVES.search(text(function.body)):
        return
    named = [p.name for p in function.parameters if plain_type(p.type) in INTEGERS]
    dims = [name for name in named if name in {"dim", "axis"}] or FIXED
    tensors = [p.name for p in function.parameters if p.type.endswith("Tensor") and p.name]
    for launch in scope.unit.launches:
        if launch.host_function is not function:
            continue
        given = " ".join(text(argument) for argument in launch.arguments)
        for name in tensors:
            if re.search(rf"\b{re.escape(name)}\s*\.(?:mutable_|const_)?data_ptr", given):
                for dim in dims:
                    new = f"{name} = {name}.movedim({dim}, -1).contiguous();"
                    yield Variant((Piece(scope.unit, statement(launch.node), "before", new),), 2.6)

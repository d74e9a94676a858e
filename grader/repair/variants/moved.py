"""The dimension that a kernel works along brought to the end, where the kernel takes rows for granted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.repair.variants.sites import INTEGERS, Scope, plain_type
from grader.repair.variants.variant import Piece, Variant
from grader.source.cuda_code import descendants, text
from grader.source.statements import statement

MOVES = re.compile(r"\b(?:movedim|transpose|permute|swapaxes)\s*\(")
DEEP = re.compile(r"\bsize\(\s*[234]\s*\)")
"""A tensor of several dimensions: rows are rarely what it is made of."""
WEIGHT = re.compile(r"weight|kernel|filter|^w$")
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
                    piece = Piece(scope.unit, statement(launch.node), "before", new)
                    cost = 1.8 if DEEP.search(text(function.body)) else 2.6
                    yield Variant((piece,), cost)
                    back = _moved_back(scope, name, dim)
                    if back:
                        yield Variant((piece, *back), cost)


def turned(scope: Scope) -> Iterator[Variant]:
    """Yield `weight = weight.transpose(0, 1).contiguous();` before all else: a transposed convolution's has the input first."""
    body = scope.function.body
    statements = [node for node in body.named_children if node.type != "comment"] if body else []
    if scope.function.runs != "host" or not statements:
        return
    for p in scope.function.parameters:
        if (
            plain_type(p.type).endswith("Tensor")
            and "const" not in p.type
            and WEIGHT.search(p.name)
        ):
            new = f"{p.name} = {p.name}.transpose(0, 1).contiguous();"
            yield Variant((Piece(scope.unit, statements[0], "before", new),), 1.5)


def _moved_back(scope: Scope, name: str, dim: str) -> tuple[Piece, ...]:
    """Return the pieces that bring the dimension back in a result that is made like the tensor.

    The kernel fills it in the order of the moved tensor, whose shape `name` has by then.
    """
    body = scope.function.body
    made = {
        text(node.child_by_field_name("declarator"))
        for node in (descendants(body, "init_declarator") if body is not None else ())
        if re.search(rf"_like\(\s*{re.escape(name)}\b", text(node.child_by_field_name("value")))
    }
    values = [
        node.named_children[0]
        for node in (descendants(body, "return_statement") if body is not None else ())
        if node.named_children
    ]
    return tuple(
        Piece(
            scope.unit, value, "replace", f"{text(value)}.view({name}.sizes()).movedim(-1, {dim})"
        )
        for value in values
        if value.type == "identifier" and text(value) in made
    )

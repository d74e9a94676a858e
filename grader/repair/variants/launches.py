"""The launch that a kernel's own index computation asks for: as many threads along each axis as it has bounds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.repair.variants.sites import Scope
from grader.repair.variants.variant import Piece, Variant
from grader.source.cuda_code import descendants, text

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.source import Kernel, Launch

THREADS = {1: (256,), 2: (16, 16), 3: (8, 8, 8)}
"""Threads of a block along x, y, z, by the number of axes."""
GUARD = r"\b{name}\s*(?:<|>=)\s*(\w+)"


def launches(scope: Scope) -> Iterator[Variant]:
    """Yield the grid and block that a kernel's guarded indices ask for, for each launch."""
    for launch in scope.unit.launches:
        kernels = [k for k in scope.unit.kernels if k.name == launch.kernel]
        if launch.host_function is scope.function and len(kernels) == 1:
            yield from _by_bounds(scope, kernels[0], launch)
            yield from _over_blocks(scope, kernels[0], launch)
            yield from _a_block_each(scope, kernels[0], launch)


def _by_bounds(scope: Scope, kernel: Kernel, launch: Launch) -> Iterator[Variant]:
    """Launch as many threads along each axis as the index along it is compared with."""
    indices, given = _indices(kernel), _given(kernel, launch)
    axes = "xyz"[: len(indices)]
    if not indices or set(axes) != set(indices):
        return
    words = text(kernel.body)
    bounds = [_bound(words, indices[axis].name, given) for axis in axes]
    if all(bounds):
        usual = THREADS[len(axes)]
        threads = [indices[axis].width or str(k) for axis, k in zip(axes, usual, strict=True)]
        blocks = [f"({n} + {k} - 1) / {k}" for n, k in zip(bounds, threads, strict=True)]
        pieces = _configured(scope, launch, blocks, threads)
        if pieces:
            yield Variant(pieces, 1.5)


def _over_blocks(scope: Scope, kernel: Kernel, launch: Launch) -> Iterator[Variant]:
    """Spread over blocks in y what one block has too few threads for: `i = threadIdx.x` up to a size."""
    words = text(kernel.body)
    if launch.grid is None or re.search(r"(?:blockIdx|gridDim)\.[yz]|__shared__", words):
        return
    for declared in descendants(kernel.node, "init_declarator"):
        value = declared.child_by_field_name("value")
        if value is None or text(value) != "threadIdx.x":
            continue
        bound = _bound(
            words, text(declared.child_by_field_name("declarator")), _given(kernel, launch)
        )
        if bound:
            sizes = _declared(scope, launch.grid) or [launch.grid]
            grid = [text(sizes[0]), f"({bound} + 255) / 256"]
            index = Piece(scope.unit, value, "replace", "(blockIdx.y * blockDim.x + threadIdx.x)")
            yield Variant((*_configured(scope, launch, grid, ["256"]), index), 1.6)


def _a_block_each(scope: Scope, kernel: Kernel, launch: Launch) -> Iterator[Variant]:
    """Launch as many blocks along an axis as `row = blockIdx.x` is compared with."""
    words, given = text(kernel.body), _given(kernel, launch)
    grid = launch.grid
    sizes = (_declared(scope, grid) or [grid]) if grid is not None else []
    for declared in descendants(kernel.node, "init_declarator"):
        value = text(declared.child_by_field_name("value"))
        axis = "xyz".find(value.removeprefix("blockIdx."))
        bound = _bound(words, text(declared.child_by_field_name("declarator")), given)
        alone = value.startswith("blockIdx.") and 0 <= axis < len(sizes)
        if alone and bound and _plain(text(sizes[axis])) != _plain(bound):
            yield Variant((Piece(scope.unit, sizes[axis], "replace", bound),), 1.5)


def _configured(
    scope: Scope, launch: Launch, grid: Sequence[str], block: Sequence[str]
) -> tuple[Piece, ...]:
    """Give a launch other sizes: where its `dim3` is declared, if it is, else in the launch itself."""
    return tuple(
        piece
        for node, sizes in ((launch.grid, grid), (launch.block, block))
        if node is not None
        for piece in _sized(scope, node, sizes)
    )


def _sized(scope: Scope, node: Node, sizes: Sequence[str]) -> Iterator[Piece]:
    declared = _declared(scope, node)
    if len(declared) == len(sizes):
        for old, new in zip(declared, sizes, strict=True):
            if _plain(text(old)) != _plain(new):
                yield Piece(scope.unit, old, "replace", new)
    else:
        yield Piece(scope.unit, node, "replace", f"dim3({', '.join(sizes)})")


def _plain(words: str) -> str:
    """Return a size in one spelling: `(n+15)/16` for `(n + 16 - 1) / 16`."""
    counted = re.sub(r"(\d+) - 1\b", lambda found: str(int(found[1]) - 1), words)
    return "".join(counted.split())


def _declared(scope: Scope, node: Node) -> list[Node]:
    """Return the sizes in the `dim3 grid(a, b);` that a launch names; none where it names no such thing.

    `dim3 block(TILE, TILE);` reads like a function's declaration as well, and may have been taken for one.
    """
    body = scope.function.body
    kinds = ("init_declarator", "function_declarator")
    last: Node | None = None
    for declared in descendants(body, *kinds) if body is not None else ():
        own = text(declared.child_by_field_name("declarator")) == text(node)
        if own and (declared.end_byte <= node.start_byte):
            last = declared if last is None else max(last, declared, key=lambda n: n.start_byte)
    if last is None:
        return []
    value = last.child_by_field_name("value" if last.type == "init_declarator" else "parameters")
    listed = value is not None and value.type in {"argument_list", "parameter_list"}
    return value.named_children if value is not None and listed else []


def _given(kernel: Kernel, launch: Launch) -> Mapping[str, str]:
    """Return what a launch passes for each of the kernel's parameters."""
    pairs = zip(kernel.parameters, launch.arguments, strict=False)
    return {parameter.name: _factor(text(argument)) for parameter, argument in pairs}


def _bound(words: str, index: str, given: Mapping[str, str]) -> str:
    """Return what an index is compared with, in the host's words; empty where that can't be told."""
    guard = re.search(GUARD.format(name=re.escape(index)), words)
    if guard is None and re.search(rf"\b{re.escape(index)}\s*==\s*0\b", words):
        return "1"
    return given.get(guard[1], guard[1] if guard[1].isdigit() else "") if guard else ""


def _factor(words: str) -> str:
    return words if re.fullmatch(r"\w+", words) else f"({words})"


@dataclass(frozen=True)
class _Index:
    """A variable that holds a thread's number along one axis of the whole grid."""

    name: str
    width: str
    """Threads of a block along that axis, where the text fixes them: `16`, `TILE`; else empty."""


def _indices(kernel: Kernel) -> Mapping[str, _Index]:
    """Return such variables by axis."""
    found: dict[str, _Index] = {}
    for declared in descendants(kernel.node, "init_declarator"):
        value = text(declared.child_by_field_name("value"))
        for axis in "xyz":
            width = re.search(
                rf"blockIdx\.{axis} \* (blockDim\.{axis}|[A-Z_][A-Z_0-9]*|\d+)", value
            )
            if width and f"threadIdx.{axis}" in value:
                name = text(declared.child_by_field_name("declarator"))
                fixed = "" if width[1].startswith("blockDim") else width[1]
                found.setdefault(axis, _Index(name, fixed))
    return found

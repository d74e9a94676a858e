"""The launch that a kernel's own index computation asks for: as many threads along each axis as it has bounds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from grader.repair.candidates.candidate import Candidate, Piece
from grader.repair.candidates.cuda.scope import Scope
from grader.repair.candidates.cuda.tree import factor
from grader.source import Kernel, Launch
from grader.source.cpp_reading import variables
from grader.source.cuda_code import descendants, text

THREADS = {1: ("256",), 2: ("16", "16"), 3: ("8", "8", "8")}
"""Threads of a block along x, y, z, by the number of axes."""
_INDEX = re.compile(r"blockIdx\.([xyz]) \* (?:blockDim\.\1|([A-Z_][A-Z_0-9]*|\d+))")


def launches(scope: Scope) -> Iterator[Candidate]:
    """Yield the grid and block that a kernel's guarded indices ask for, for each launch of a host function."""
    for launch in scope.text.launches:
        kernels = [k for k in scope.text.kernels if k.name == launch.kernel and k.body is not None]
        if scope.on_host and launch.host_function is scope.function and len(kernels) == 1:
            asked = _Asked(scope, kernels[0], launch)
            yield from asked.by_bounds()
            yield from asked.over_blocks()
            yield from asked.a_block_each()


@dataclass(frozen=True)
class _Asked:
    """What one kernel asks of one launch."""

    scope: Scope
    kernel: Kernel
    launch: Launch

    @property
    def words(self) -> str:
        return text(self.kernel.body)

    @property
    def made(self) -> Iterator[tuple[str, Node]]:
        """Name and value of each variable of the kernel."""
        return ((o.name, o.value) for o in variables(self.kernel.node) if o.value is not None)

    @property
    def given(self) -> Mapping[str, str]:
        """What the launch passes for each of the kernel's parameters."""
        pairs = zip(self.kernel.parameters, self.launch.arguments, strict=False)
        return {parameter.name: factor(argument) for parameter, argument in pairs}

    def bound(self, index: str) -> str:
        """Return what an index is compared with, in the host's words; empty where that can't be told."""
        guard = re.search(rf"\b{re.escape(index)}\s*(?:<|>=)\s*(\w+(?:\s*\*\s*\w+)*)", self.words)
        if guard is None:
            return "1" if re.search(rf"\b{re.escape(index)}\s*==\s*0\b", self.words) else ""
        factors = re.split(r"\s*\*\s*", guard[1])
        known = [self.given.get(one, one if one.isdigit() else "") for one in factors]
        return " * ".join(known) if all(known) else ""

    def by_bounds(self) -> Iterator[Candidate]:
        """Launch as many threads along each axis as the index along it is compared with."""
        indices: dict[str, tuple[str, str]] = {}
        for name, value in self.made:
            found = _INDEX.search(text(value))
            if found and f"threadIdx.{found[1]}" in text(value):
                indices.setdefault(found[1], (self.bound(name), found[2] or ""))
        axes = "xyz"[: len(indices)]
        if not indices or set(axes) != set(indices) or not all(b for b, _ in indices.values()):
            return
        usual = zip(axes, THREADS[len(axes)], strict=True)
        threads = [indices[axis][1] or count for axis, count in usual]
        sizes = zip((indices[axis][0] for axis in axes), threads, strict=True)
        blocks = [f"({n} + {k} - 1) / {k}" for n, k in sizes]
        if pieces := self.configured(blocks, threads):
            yield Candidate(pieces, 1.5, "launch")

    def over_blocks(self) -> Iterator[Candidate]:
        """Spread over blocks in y what one block has too few threads for: `i = threadIdx.x` up to a size."""
        grid = self.launch.grid
        if grid is None or re.search(r"(?:blockIdx|gridDim)\.[yz]|__shared__", self.words):
            return
        for name, value in self.made:
            bound = self.bound(name) if text(value) == "threadIdx.x" else ""
            if bound:
                first = text((self.declared(grid) or [grid])[0])
                index = "(blockIdx.y * blockDim.x + threadIdx.x)"
                sizes = self.configured([first, f"({bound} + 255) / 256"], ["256"])
                piece = self.scope.piece(value, index)
                yield Candidate((*sizes, piece), 1.6, "launch")

    def a_block_each(self) -> Iterator[Candidate]:
        """Launch as many blocks along an axis as `row = blockIdx.x` is compared with."""
        grid = self.launch.grid
        sizes = (self.declared(grid) or [grid]) if grid is not None else []
        for name, value in self.made:
            axis = re.fullmatch(r"blockIdx\.([xyz])", text(value))
            at = "xyz".index(axis[1]) if axis else len(sizes)
            bound = self.bound(name) if at < len(sizes) else ""
            if bound and _plain(text(sizes[at])) != _plain(bound):
                yield self.scope.change(sizes[at], bound, 1.5, "launch")

    def configured(self, grid: Sequence[str], block: Sequence[str]) -> tuple[Piece, ...]:
        """Give the launch other sizes: where its `dim3` is declared, if it is, else in the launch itself."""
        pairs = ((self.launch.grid, grid), (self.launch.block, block))
        return tuple(
            p for node, new in pairs if node is not None for p in self._size_pieces(node, new)
        )

    def _size_pieces(self, node: Node, sizes: Sequence[str]) -> Iterator[Piece]:
        declared = self.declared(node)
        if len(declared) != len(sizes):
            yield self.scope.piece(node, f"dim3({', '.join(sizes)})")
            return
        for old, new in zip(declared, sizes, strict=True):
            if _plain(text(old)) != _plain(new):
                yield self.scope.piece(old, new)

    def declared(self, node: Node) -> list[Node]:
        """Return the sizes in the `dim3 grid(a, b);` that a launch names; none where it names no such thing.

        `dim3 block(TILE, TILE);` reads like a function's declaration as well, and may have been taken for one.
        """
        fields = {"init_declarator": "value", "function_declarator": "parameters"}
        made = descendants(self.scope.body, *fields)
        named = (m for m in made if text(m.child_by_field_name("declarator")) == text(node))
        before = [one for one in named if one.end_byte <= node.start_byte]
        last = before[-1].child_by_field_name(fields[before[-1].type]) if before else None
        listed = last is not None and last.type in {"argument_list", "parameter_list"}
        return last.named_children if last is not None and listed else []


def _plain(words: str) -> str:
    """Return a size in one spelling: `(n+15)/16` for `(n + 16 - 1) / 16`."""
    counted = re.sub(r"(\d+) - 1\b", lambda found: str(int(found[1]) - 1), words)
    return "".join(counted.split())

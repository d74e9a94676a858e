"""The launch that a kernel's own index computation asks for: as many threads along each axis as it has bounds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from grader.repair.variants.sites import Scope
from grader.repair.variants.variant import Piece, Variant
from grader.rules.cuda_code import descendants, text

if TYPE_CHECKING:
    from grader.source import Kernel, Launch

THREADS = {1: (256,), 2: (16, 16), 3: (8, 8, 8)}
"""Threads of a block along x, y, z, by the number of axes."""
GUARD = r"\b{name}\s*(?:<|>=)\s*(\w+)"


def launches(scope: Scope) -> Iterator[Variant]:
    """Yield, for each launch of a kernel with one guarded index for each axis, the grid and block for those."""
    for launch in scope.unit.launches:
        kernels = [k for k in scope.unit.kernels if k.name == launch.kernel]
        if launch.host_function is not scope.function or len(kernels) != 1:
            continue
        if launch.grid is None or launch.block is None:
            continue
        bounds = _bounds(kernels[0], launch)
        if bounds:
            threads = THREADS[len(bounds)]
            blocks = [f"({n} + {k - 1}) / {k}" for n, k in zip(bounds, threads, strict=True)]
            yield Variant(
                (
                    Piece(scope.unit, launch.grid, "replace", f"dim3({', '.join(blocks)})"),
                    Piece(
                        scope.unit, launch.block, "replace", f"dim3({', '.join(map(str, threads))})"
                    ),
                ),
                1.5,
            )


def _bounds(kernel: Kernel, launch: Launch) -> list[str]:
    """Return how many threads each axis needs, in the host's words; empty where that can't be told."""
    indices = _indices(kernel)
    given = {
        p.name: f"({text(a)})" for p, a in zip(kernel.parameters, launch.arguments, strict=False)
    }
    words = text(kernel.body)
    found = []
    for axis in "xyz"[: len(indices)]:
        guard = re.search(GUARD.format(name=indices.get(axis, "?")), words)
        bound = given.get(guard[1], guard[1] if guard[1].isdigit() else "") if guard else ""
        if not bound:
            return []
        found.append(bound)
    return found


def _factor(words: str) -> str:
    return words if re.fullmatch(r"\w+", words) else f"({words})"


def _indices(kernel: Kernel) -> Mapping[str, str]:
    """Return the variables that hold a thread's number along each axis of the whole grid."""
    found: dict[str, str] = {}
    for declared in descendants(kernel.node, "init_declarator"):
        value = text(declared.child_by_field_name("value"))
        used = set(re.findall(r"\b(threadIdx|blockIdx|blockDim)\.([xyz])", value))
        axes = {axis for _, axis in used}
        if len(used) == 3 and len(axes) == 1:
            found.setdefault(axes.pop(), text(declared.child_by_field_name("declarator")))
    return found

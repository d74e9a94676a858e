"""A fix: tiles of shared memory that are larger than the block that fills them, one cell a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.source.code_edits import fix
from grader.source.constants import fold
from grader.source.cuda_code import cuda_code, descendants, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from grader.records import Edit, Fix
    from grader.source import Kernel, SharedArray
    from grader.source.analysis.walks import Case


def as_large_as_the_block(case: Case) -> tuple[Fix, ...]:
    """Give the names that a kernel's tiles are sized by the block's own extents.

    Only where each thread stores the cell of its own coordinates, and no tile is smaller than the block.
    """
    kernel = next((one for one in case.unit.kernels if one.name == case.kernel), None)
    if kernel is None or kernel.body is None:
        return ()
    wanted: dict[str, int] = {}
    for dim, extent in _extents(case, kernel):
        size = fold(case.unit, dim)
        name = text(dim)
        if dim.type != "identifier" or size is None or size < extent:
            return ()
        if wanted.setdefault(name, extent) != extent:
            return ()
    smaller = {name: extent for name, extent in wanted.items() if _value(case, name) != str(extent)}
    edits = [_redefined(case, name, extent) for name, extent in smaller.items()]
    sizes = ", ".join(f"{name} is {extent}" for name, extent in smaller.items())
    return fix(f"make the tiles as large as the block that fills them: {sizes}", edits)


def _extents(case: Case, kernel: Kernel) -> Iterator[tuple[Node, int]]:
    """Yield the extent of the block along each dim of a tile that is stored to by thread coordinates."""
    axes = _coordinates(kernel)
    block = dict(zip("xyz", case.launch.block, strict=True))
    for array in kernel.shared:
        for indices in _stores(kernel, array):
            for dim, index in zip(array.dims, indices, strict=False):
                extent = block.get(axes.get(index, ""))
                if extent is not None:
                    yield dim, extent


def _coordinates(kernel: Kernel) -> dict[str, str]:
    """Return the axis of each text that is a thread's coordinate: `threadIdx.x`, and names for it."""
    found = {f"threadIdx.{axis}": axis for axis in "xyz"}
    for declared in descendants(kernel.node, "init_declarator"):
        axis = found.get(text(declared.child_by_field_name("value")))
        if axis:
            found[text(declared.child_by_field_name("declarator"))] = axis
    return found


def _stores(kernel: Kernel, array: SharedArray) -> Iterator[tuple[str, ...]]:
    """Yield the indices of each store to an array, the outermost first."""
    for node in descendants(kernel.node, "assignment_expression"):
        here = node.child_by_field_name("left")
        indices: list[str] = []
        while here is not None and here.type == "subscript_expression":
            indices.insert(0, text(here.child_by_field_name("indices"))[1:-1].strip())
            here = here.child_by_field_name("argument")
        if indices and text(here) == array.name:
            yield tuple(indices)


def _definition(case: Case, name: str) -> Node | None:
    """Return the value in `#define NAME value`, or in `constexpr int NAME = value`."""
    code = cuda_code(case.unit)
    for node in code.of("preproc_def"):
        if text(node.child_by_field_name("name")) == name:
            return node.child_by_field_name("value")
    for node in code.of("init_declarator"):
        if text(node.child_by_field_name("declarator")) == name:
            return node.child_by_field_name("value")
    return None


def _value(case: Case, name: str) -> str:
    return text(_definition(case, name)).split("//", maxsplit=1)[0].strip()


def _redefined(case: Case, name: str, extent: int) -> Edit | None:
    node = _definition(case, name)
    if node is None:
        return None
    begin = node.start_byte
    lead = len(text(node)) - len(text(node).lstrip())
    return case.unit.edit(begin + lead, begin + lead + len(_value(case, name)), str(extent))

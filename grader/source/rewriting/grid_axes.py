"""The fix of a grid that is too long in y or z: that axis goes into x, in the launch and in the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.records import Fix
from grader.source.code_edits import fix
from grader.source.cuda_code import descendants, read_call, text

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.source import Launch, Source


def into_x(source: Source, kernel: str, axis: int) -> tuple[Fix, ...]:
    """Return the fix that exchanges an axis (1 or 2) of a kernel's grid with x; empty where it has several launches."""
    found = [(u, launch) for u in source.cuda for launch in u.launches if launch.kernel == kernel]
    defined = [one for unit in source.cuda for one in unit.kernels if one.name == kernel]
    if len(found) != 1 or len(defined) != 1:
        return ()
    unit, launch = found[0]
    sizes = _sizes(launch)
    if len(sizes) <= axis or not any(one is defined[0] for one in unit.kernels):
        return ()
    first, other = sizes[0], sizes[axis]
    letters = {"x": "xyz"[axis], "xyz"[axis]: "x"}
    edits = [
        unit.edit(first.start_byte, first.end_byte, text(other)),
        unit.edit(other.start_byte, other.end_byte, text(first)),
    ]
    for field in descendants(defined[0].node, "field_expression"):
        owner, _, letter = text(field).partition(".")
        if owner in {"blockIdx", "gridDim"} and letter in letters:
            new = f"{owner}.{letters[letter]}"
            edits.append(unit.edit(field.start_byte, field.end_byte, new))
    return fix(f"put the grid's {'xyz'[axis]} axis into x, and x there", edits)


def _sizes(launch: Launch) -> list[Node]:
    """Return the expressions of a grid's sizes, where the launch or a `dim3` before it tells them."""
    grid = launch.grid
    if grid is not None and grid.type == "call_expression" and read_call(grid).name == "dim3":
        return list(read_call(grid).arguments)
    body = launch.host_function.body if launch.host_function is not None else None
    for made in (
        descendants(body, "init_declarator") if body is not None and grid is not None else ()
    ):
        value = made.child_by_field_name("value")
        same = text(made.child_by_field_name("declarator")) == text(grid)
        if same and value is not None and value.type in {"argument_list", "initializer_list"}:
            return [child for child in value.named_children if child.type != "comment"]
    return []

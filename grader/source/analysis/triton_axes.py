"""The length and the grid axis of each block of indices in a Triton kernel."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.source.analysis.triton import Kernel, Launch, launches


@dataclass(frozen=True)
class Cut:
    """A block of indices, such as `rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)`."""

    index: str
    block: str
    """The expression of the block's length."""
    axis: int | None
    """The only grid axis that it depends on."""
    lengths: tuple[str, ...]
    """Parameters that it is compared with as bounds, the surest first."""


def cuts(kernel: Kernel) -> tuple[Cut, ...]:
    """Return the blocks of indices of a kernel that have a name, in the order of the text."""
    found = []
    for name, values in kernel.assigned.items():
        parts = (part for value in values for part in ast.walk(value))
        ranges = [one for one in parts if isinstance(one, ast.Call) and one.args and kernel.language_name(one) == "arange"]  # fmt: skip
        if ranges:
            axes = {axis for value in values for axis in axes_of(kernel, value)}
            block = kernel.source.text(ranges[0].args[-1])
            axis = next(iter(axes)) if len(axes) == 1 else None
            found.append(Cut(name, block, axis, _lengths(kernel, name, block)))
    return tuple(found)


def whole_blocks(launch: Launch) -> Iterator[ast.expr]:
    """Yield a launch's block lengths of a kernel without loops or programs over them, which have to cover whole rows."""
    found, steps = cuts(launch.kernel), {of for _, of in _counted_lengths(launch.kernel)}
    made = [o for o in ast.walk(launch.host) if isinstance(o, ast.Assign)] if launch.host else []
    for cut in found if all(one.axis is None for one in found) else ():
        if cut.block not in steps and cut.block in launch.arguments:
            given = launch.arguments[cut.block]
            named = [one.value for one in made if ast.unparse(one.targets[0]) == ast.unparse(given)]
            yield (named or [given])[-1]


def axes_of(kernel: Kernel, value: ast.expr) -> set[int]:
    """Return the grid axes that a value depends on."""
    return {axis for part in kernel.made_of(value) if (axis := _axis(kernel, part)) is not None}


def axes_used(kernel: Kernel) -> dict[int, ast.Call]:
    """Return the grid axes of a kernel's `program_id` calls, and the calls."""
    calls = ((_axis(kernel, call), call) for call in kernel.calls("program_id"))
    return {axis: call for axis, call in calls if axis is not None}


def _axis(kernel: Kernel, node: ast.expr) -> int | None:
    if not isinstance(node, ast.Call) or kernel.language_name(node) != "program_id":
        return None
    given = [*node.args, *(word.value for word in node.keywords if word.arg == "axis")]
    value = given[0].value if given and isinstance(given[0], ast.Constant) else None
    return value if isinstance(value, int) else None


def _lengths(kernel: Kernel, name: str, block: str) -> tuple[str, ...]:
    """Return the lengths that an index, or a similar one, is compared with, and those its block is counted in."""
    made = {kernel.source.text(value) for value in kernel.assigned[name]}
    alike = [
        other
        for other, values in kernel.assigned.items()
        if any(words in kernel.source.text(value) for value in values for words in made)
    ]
    found = (
        *_held_below(kernel, {name}),
        *_held_below(kernel, set(alike)),
        *(length for length, of in _counted_lengths(kernel) if of == block),
    )
    return tuple(one for one in dict.fromkeys(found) if one in kernel.parameters)


def _held_below(kernel: Kernel, names: set[str]) -> Iterator[str]:
    """Yield the bounds or moduli of some names."""
    for node in ast.walk(kernel.node):
        match node:
            case ast.Compare(left=left, ops=[ast.Lt()], comparators=[bound]):
                pass
            case ast.BinOp(left=left, op=ast.Mod(), right=bound):
                pass
            case _:
                continue
        if {one.id for one in ast.walk(left) if isinstance(one, ast.Name)} & names:
            yield from (one.id for one in ast.walk(bound) if isinstance(one, ast.Name))
    made = {part for name in names for value in kernel.assigned[name] for part in ast.walk(value)}
    for node in made:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            yield from (one.id for one in ast.walk(node.right) if isinstance(one, ast.Name))


def _counted_lengths(kernel: Kernel) -> Iterator[tuple[str, str]]:
    """Yield lengths with the blocks that they are counted in: by the kernel, and by the grids of its launches."""
    text = kernel.source.text
    yield from ((text(a), text(b)) for a, b in _quotients(kernel.node))
    for launch in launches(kernel.source):
        if launch.kernel is kernel:
            names = {text(value): name for name, value in launch.arguments.items()}
            for a, b in _quotients(launch.grid):
                of = b.slice.value if isinstance(b, ast.Subscript) and isinstance(b.slice, ast.Constant) else names.get(text(b))  # fmt: skip
                if text(a) in names and isinstance(of, str):
                    yield names[text(a)], of


def _quotients(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    for part in ast.walk(node):
        match part:
            case ast.Call(args=[a, b]) if _last_word(part) == "cdiv":
                yield a, b
            case ast.Call(args=[_, a, b]) if _last_word(part) == "range":
                yield a, b


def _last_word(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def axes_given(launch: Launch) -> int | None:
    """Return the number of axes of a launch's grid in the text; None where unclear."""
    grid = launch.grid.body if isinstance(launch.grid, ast.Lambda) else launch.grid
    starred = isinstance(grid, ast.Tuple) and any(isinstance(o, ast.Starred) for o in grid.elts)
    return len(grid.elts) if isinstance(grid, ast.Tuple) and not starred else None

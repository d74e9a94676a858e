"""The whole numbers of a problem file that are its sizes: their places, their names, and the text with other numbers."""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from grader.tasks.bare_shapes import names_by_place

BATCH = re.compile(r"batch|n_?samples", re.IGNORECASE)
SPATIAL = re.compile(
    r"height|width|depth|length|dim\d|^[hwd]$|^[hwd]_?in$|seq|image|img|^size|spatial",
    re.IGNORECASE,
)
MAKERS = frozenset({"get_inputs", "get_init_inputs"})


@dataclass(frozen=True)
class SizeNumber:
    """A whole number of the text that may be changed."""

    line: int
    column: int
    end: int
    value: int
    name: str
    """Name of the constant that it belongs to; empty inside a function."""

    @property
    def batch(self) -> bool:
        """Whether it is the size of a batch."""
        return BATCH.search(self.name) is not None

    @property
    def spatial(self) -> bool:
        """Whether it is a height, a width or a length."""
        return SPATIAL.search(self.name) is not None


def changeable_numbers(text: str) -> tuple[SizeNumber, ...] | None:
    """Return the numbers that variants may change; None for a text that is not Python."""
    try:
        tree = ast.parse(text)
        own = _read_by_model(symtable.symtable(text, "problem", "exec"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tuple(number for number in _numbers(tree) if number.name not in own)


def named_by_place(
    text: str, numbers: tuple[SizeNumber, ...], floor: int
) -> tuple[SizeNumber, ...]:
    """Return the numbers; unnamed ones above `floor` get a name by their place in a shape."""
    names = names_by_place(ast.parse(text), MAKERS, floor)
    return tuple(
        number if number.name else replace(number, name=names.get((number.line, number.column), ""))
        for number in numbers
    )


def _read_by_model(table: symtable.SymbolTable) -> frozenset[str]:
    """Return the module's names that code outside `get_inputs` and `get_init_inputs` reads.

    A model that reads `batch_size` itself runs on that batch only.
    """
    found: set[str] = set()
    for inner in table.get_children():
        if inner.get_name() not in MAKERS:
            found |= {s.get_name() for s in inner.get_symbols() if s.is_global()}
            found |= _read_by_model(inner)
    return frozenset(found)


def _numbers(tree: ast.Module) -> Iterator[SizeNumber]:
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield from _assigned_numbers(target, node.value)
        elif isinstance(node, ast.FunctionDef) and node.name in MAKERS:
            for statement in node.body:
                yield from _literals(statement, "")


def _assigned_numbers(target: ast.expr, value: ast.expr) -> Iterator[SizeNumber]:
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=False))
    for name, item in pairs:
        yield from _literals(item, name.id if isinstance(name, ast.Name) else "")


def _literals(node: ast.AST, name: str) -> Iterator[SizeNumber]:
    """Yield the whole numbers in a piece of code; `2048 * 2` is one."""
    value = _whole_number(node)
    if value is None:
        for child in ast.iter_child_nodes(node):
            yield from _literals(child, name)
    elif isinstance(node, ast.expr) and node.end_col_offset and node.lineno == node.end_lineno:
        yield SizeNumber(node.lineno, node.col_offset, node.end_col_offset, value, name)


def _whole_number(node: ast.AST) -> int | None:
    """Return the value of a literal, or of a product of literals; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _whole_number(node.left), _whole_number(node.right)
        return None if left is None or right is None else left * right
    return None


def edit_numbers(
    text: str, numbers: tuple[SizeNumber, ...], change: Callable[[SizeNumber], int]
) -> str:
    """Return the text with each number replaced by its new value."""
    lines = [line.encode() for line in text.split("\n")]
    for number in sorted(numbers, key=lambda n: (n.line, n.column), reverse=True):
        line = lines[number.line - 1]
        new = str(change(number)).encode()
        lines[number.line - 1] = line[: number.column] + new + line[number.end :]
    return "\n".join(line.decode() for line in lines)

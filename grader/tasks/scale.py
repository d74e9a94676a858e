"""Smaller and odd-sized variants of a problem file, made by changing its numbers.

KernelBench's problems name their sizes in constants of the module (`batch_size = 112`) or write
them in `get_inputs` and `get_init_inputs`. Equal numbers are changed to equal numbers, so that what
fits together still does; `Model` itself is left alone, and so is what it reads of the module.
"""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Callable, Iterator
from dataclasses import dataclass

FLOOR = 32
"""Numbers up to this (kernel sizes, strides, groups, heads, classes) stay as they are."""
LOW_FLOOR = 8
"""The same where less than the usual work is wanted."""
SPATIAL_FLOOR = 4
"""Heights, widths and lengths may become as small as this."""
BATCHES = (64, 16, 4, 2, 1)
ODD_BATCH = 3
BATCH = re.compile(r"batch|n_?samples", re.IGNORECASE)
SPATIAL = re.compile(
    r"height|width|depth|length|dim\d|^[hwd]$|^[hwd]_?in$|seq|image|img|^size|spatial",
    re.IGNORECASE,
)
SHARERS = re.compile(r"(heads?|groups)$", re.IGNORECASE)
"""Names of how many share a width: heads of attention, groups of a norm."""
FEWEST_SHARERS = 2
SHARES = range(2, 257)
"""Widths that a kernel gives to a block's threads: a head's columns, a group's channels."""
LONG_BATCHES = (1, 2)
LONG = 1024
"""A number above it may pass a limit of a launch: threads in a block, shared memory."""
FACTORS = tuple(2**power for power in range(15, -1, -1))
_MAKERS = {"get_inputs", "get_init_inputs"}


@dataclass(frozen=True)
class Variant:
    """A problem's text with other numbers."""

    text: str
    batch: int
    factor: int
    """By how much the large numbers were divided."""


@dataclass(frozen=True)
class Chain:
    """Variants of one kind, the smallest first."""

    kind: str
    """`spatial` (channels and features kept), `all` (every large number), `odd`, or `long`: one
    large number kept as it is and all others as small as may be."""
    variants: tuple[Variant, ...]


@dataclass(frozen=True)
class _Number:
    """One whole number of the text that may be changed."""

    line: int
    column: int
    end: int
    value: int
    name: str
    """Of the constant that it belongs to; empty inside a function."""


@dataclass(frozen=True)
class _Sharing:
    """Heads or groups and the widths that they share: of fewer, each stays as wide as it was."""

    count: int = 0
    widths: frozenset[int] = frozenset()

    def covers(self, number: _Number) -> bool:
        """Whether it is the number of heads or groups, or a width that they share."""
        named = number.value == self.count and SHARERS.search(number.name) is not None
        return bool(self.widths) and (named or number.value in self.widths)

    def changed(self, number: _Number, kind: str, factor: int) -> int:
        """Return the number where there are fewer of them."""
        fewer = max(self.count // factor, FEWEST_SHARERS)
        if kind == "odd":
            fewer = min(fewer | 1, self.count)
        return number.value // self.count * fewer


def floor_at(share: float) -> int:
    """Return up to where numbers stay as they are, at a share of the usual work."""
    return FLOOR if share >= 1 else LOW_FLOOR


def sizes_of(text: str, floor: int = FLOOR) -> frozenset[int]:
    """Return the numbers of a text that its variants change; none for one that is no Python."""
    found = _changeable(text) or ()
    return frozenset(
        n.value for n in found if n.value > (SPATIAL_FLOOR if SPATIAL.search(n.name) else floor)
    )


def chains(text: str, kept: frozenset[int] = frozenset(), floor: int = FLOOR) -> tuple[Chain, ...]:
    """Return smaller and odd-sized variants of a text; none for one that is no Python.

    `kept` are numbers that stay as they are, but in the odd-sized ones; numbers up to `floor` stay too.
    """
    found = _changeable(text)
    if found is None:
        return ()
    if kept:
        return _around(text, found, kept, floor)
    numbers = found
    named = any(BATCH.search(number.name) for number in numbers)
    batches = BATCHES if named else BATCHES[-1:]
    sharing = _sharing(numbers)
    made = [
        Chain(kind, tuple(_chain(text, numbers, kind, batch, sharing, floor)))
        for kind in ("spatial", "all")
        for batch in batches
    ]
    made += [Chain("long", variants) for variants in _long(text, numbers, sharing)]
    return (*made, Chain("odd", tuple(_chain(text, numbers, "odd", ODD_BATCH, sharing))))


def _changeable(text: str) -> tuple[_Number, ...] | None:
    """Return the numbers that variants may change; None for a text that is no Python."""
    try:
        tree = ast.parse(text)
        own = _read_by_model(symtable.symtable(text, "problem", "exec"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tuple(number for number in _numbers(tree) if number.name not in own)


def _around(
    text: str, numbers: tuple[_Number, ...], kept: frozenset[int], floor: int
) -> tuple[Chain, ...]:
    """Return the variants in which some numbers stay, whoever shares them; and the odd ones."""
    free = tuple(number for number in numbers if number.value not in kept)
    alone = _Sharing()
    made = [
        Chain(kind, tuple(_chain(text, free, kind, batch, alone, floor)))
        for kind in ("spatial", "all")
        for batch in BATCHES
    ]
    return (*made, Chain("odd", tuple(_chain(text, numbers, "odd", ODD_BATCH, _sharing(numbers)))))


def _sharing(numbers: tuple[_Number, ...]) -> _Sharing:
    """Return what shares a width; nothing where the text names none, or several numbers of them."""
    named = {n.value for n in numbers if SHARERS.search(n.name) and n.value >= FEWEST_SHARERS}
    if len(named) != 1:
        return _Sharing()
    count = named.pop()
    large = (n for n in numbers if n.value > FLOOR and n.name and not BATCH.search(n.name))
    widths = (n.value for n in large if not SPATIAL.search(n.name) and n.value % count == 0)
    return _Sharing(count, frozenset(width for width in widths if width // count in SHARES))


def _long(
    text: str, numbers: tuple[_Number, ...], sharing: _Sharing
) -> Iterator[tuple[Variant, ...]]:
    """Yield for each large number texts with that number kept, for each batch.

    A kernel that gives each element of a row a thread of its own is right on short rows only.
    """
    large = {n.value: n for n in numbers if n.value > LONG and not BATCH.search(n.name)}
    for kept in large.values():
        yield tuple(_with_one_kept(text, numbers, kept, batch, sharing) for batch in LONG_BATCHES)


def _with_one_kept(
    text: str, numbers: tuple[_Number, ...], kept: _Number, batch: int, sharing: _Sharing
) -> Variant:
    kind = "spatial" if SPATIAL.search(kept.name) else "all"

    shared = kept.value in sharing.widths

    def change(number: _Number) -> int:
        if number.value == kept.value and not BATCH.search(number.name):
            return number.value
        if shared and sharing.covers(number):
            return number.value
        return _changed(number, kind, batch, FACTORS[0], sharing)

    return Variant(_edited(text, numbers, change), batch, FACTORS[0])


def _chain(
    text: str,
    numbers: tuple[_Number, ...],
    kind: str,
    batch: int,
    sharing: _Sharing,
    floor: int = FLOOR,
) -> Iterator[Variant]:
    seen = set()
    for factor in FACTORS:

        def change(number: _Number, factor: int = factor) -> int:
            return _changed(number, kind, batch, factor, sharing, floor)

        made = _edited(text, numbers, change)
        if made not in seen:
            yield Variant(made, batch, factor)
        seen.add(made)


def _changed(
    number: _Number, kind: str, batch: int, factor: int, sharing: _Sharing, floor: int = FLOOR
) -> int:
    if BATCH.search(number.name):
        return min(number.value, batch)
    spatial = SPATIAL.search(number.name) is not None
    if kind == "spatial" and not spatial:
        return number.value
    if not spatial and sharing.covers(number):
        return sharing.changed(number, kind, factor)
    smaller = divided(number.value, factor, SPATIAL_FLOOR if spatial else floor)
    return smaller | 1 if kind == "odd" and number.value > FLOOR else smaller


def divided(value: int, factor: int, floor: int) -> int:
    """Return a smaller number of the same kind: a power of two, a multiple of 32, or neither.

    No number gets smaller than `floor`, and none that is smaller changes.
    """
    if factor == 1 or value <= floor:
        return value
    smaller = max(value // factor, floor)
    if value & (value - 1) == 0:
        return 1 << (smaller.bit_length() - 1)
    if value % 32 == 0:
        return (
            max(smaller - smaller % 32, 32) if smaller > 32 else max(smaller - smaller % 4, floor)
        )
    return smaller | 1


def _read_by_model(table: symtable.SymbolTable) -> frozenset[str]:
    """Return the module's names that code outside `get_inputs` and `get_init_inputs` reads.

    A model that reads `batch_size` itself only runs on that batch.
    """
    found: set[str] = set()
    for inner in table.get_children():
        if inner.get_name() not in _MAKERS:
            found |= {s.get_name() for s in inner.get_symbols() if s.is_global()}
            found |= _read_by_model(inner)
    return frozenset(found)


def _numbers(tree: ast.Module) -> Iterator[_Number]:
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield from _assigned(target, node.value)
        elif isinstance(node, ast.FunctionDef) and node.name in _MAKERS:
            for statement in node.body:
                yield from _literals(statement, "")


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[_Number]:
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=False))
    for name, item in pairs:
        yield from _literals(item, name.id if isinstance(name, ast.Name) else "")


def _literals(node: ast.AST, name: str) -> Iterator[_Number]:
    for item in ast.walk(node):
        if isinstance(item, ast.Constant) and type(item.value) is int and item.end_col_offset:
            yield _Number(item.lineno, item.col_offset, item.end_col_offset, item.value, name)


def _edited(text: str, numbers: tuple[_Number, ...], change: Callable[[_Number], int]) -> str:
    lines = [line.encode() for line in text.split("\n")]
    for number in sorted(numbers, key=lambda n: (n.line, n.column), reverse=True):
        line = lines[number.line - 1]
        new = str(change(number)).encode()
        lines[number.line - 1] = line[: number.column] + new + line[number.end :]
    return "\n".join(line.decode() for line in lines)

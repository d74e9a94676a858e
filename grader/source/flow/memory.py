"""Memory regions, the host's tensors behind them, and the shadow of shared memory, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from grader.source.flow.races import Last
from grader.source.flow.tree import Node
from grader.source.flow.values import Bits, Ints, Value

MAX_CELLS = 1 << 17


@dataclass(slots=True)
class Tensor:
    """A host tensor: where it came from and its sizes, as far as they are known."""

    name: str
    sizes: tuple[int, ...] | None = None
    origin: str = "input"
    """`input`, `empty`, `zeros`, `filled`, `clone`, `contiguous`, `derived`."""
    source: Tensor | None = None
    """The tensor that it was made from."""
    node: Node = None
    guessed: bool = False
    """Nobody said what sizes it has: they are only usual ones."""
    touched: set[str] = field(default_factory=set)
    """What the host did with it: `zero_`, `copy_`, ..., or `library` where one got it."""

    @property
    def numel(self) -> int | None:
        """Number of elements."""
        if self.sizes is None:
            return None
        out = 1
        for size in self.sizes:
            out *= size
        return out


@dataclass(slots=True, eq=False)
class Region:
    """A stretch of memory that pointers lead into."""

    name: str
    space: str
    """`global`, `shared` or `local`."""
    type: str = "?"
    dims: tuple[int, ...] = ()
    cells: int | None = None
    node: Node = None
    tensor: Tensor | None = None
    dynamic: bool = False
    escaped: bool = False
    """Something that isn't followed (a library call, a cast) may have accessed it."""
    shadow: Shadow | None = None
    values: dict[int, Value] = field(default_factory=dict)
    """Of a local array: what its cells hold."""
    summary: Value | None = None
    crossed: bool = False
    """Threads read what others stored in it."""
    stores: int = 0
    loads: int = 0
    atomics: int = 0


class Shadow:
    """Per cell of a shared array: whether it was accessed, or written (2: surely, 1: perhaps), and whose data it holds."""

    def __init__(self, cells: int, words: int) -> None:
        self.cells, self.words = cells, words
        self.state = np.zeros(cells, np.int8)
        self.accessed = np.zeros(cells, np.bool_)
        self.owner = np.zeros(cells, np.int64)
        self.reads, self.stores, self.atomics = Last(cells), Last(cells), Last(cells)
        self.parts: Bits | None = None

    def write(self, cells: Ints, parts: Bits | None, *, atomic: bool) -> int:
        """Note a store to these cells; return how many were not surely written before."""
        new = int((self.state[cells] < 2).sum())
        self.state[cells] = 2
        if atomic:
            self.add_parts(cells, parts)
        elif parts is not None or self.parts is not None:
            self._known_parts()[cells] = 0 if parts is None else parts
        return new

    def add_parts(self, cells: Ints, parts: Bits | None) -> None:
        """Note data that is added to cells, or may be."""
        if parts is not None:
            np.bitwise_or.at(self._known_parts(), cells, parts)

    def _known_parts(self) -> Bits:
        if self.parts is None:
            self.parts = np.zeros((self.cells, self.words), np.uint64)
        return self.parts

    def maybe_all(self) -> None:
        """Note that any cell may have been written."""
        np.maximum(self.state, 1, out=self.state)

    def maybe(self, cells: Ints) -> None:
        """Note that these cells may have been written."""
        self.state[cells] = np.maximum(self.state[cells], 1)


def everything(parts: Bits | None) -> Bits | None:
    """Return the union over all rows, as one row."""
    return None if parts is None else np.bitwise_or.reduce(parts, axis=0, keepdims=True)

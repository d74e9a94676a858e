"""Memory regions, and the host's tensors behind them."""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.source.cpp import Node
from grader.source.flow.values import Value


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
    values: dict[int, Value] = field(default_factory=dict)
    """Of a local array: what its cells hold."""
    stores: int = 0
    loads: int = 0
    atomics: int = 0

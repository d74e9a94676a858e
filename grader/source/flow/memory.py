"""Memory regions, and the host's tensors behind them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

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
        return None if self.sizes is None else prod(self.sizes)


@dataclass(slots=True, eq=False)
class Region:
    """What pointers lead to: a tensor's memory, an array of the host, or something that isn't known."""

    name: str
    tensor: Tensor | None = None
    values: dict[int, Value] = field(default_factory=dict)
    """Of an array: what its cells hold."""

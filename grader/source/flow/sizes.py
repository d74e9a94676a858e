"""The sizes that host code is run for."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sizes:
    """Sizes to try: of each tensor that a host function takes, and its plain numbers."""

    name: str
    tensors: tuple[tuple[int, ...] | None, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    by_rank: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """For tensors of which only the number of dimensions can be told."""
    number: int = 300
    """For plain integers of which nothing is known."""
    real: bool = False
    """Whether they are the task's own."""
    function: str = ""
    """The host function that they are for; empty for all."""
    complete: bool = False
    """Whether all of them, plain numbers included, are the task's own."""

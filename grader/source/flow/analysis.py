"""What the host code of a CUDA text launches, computed once for each set of sizes."""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from grader.source.flow.host import HostRun, roots, run_host
from grader.source.flow.launch import Launch, assume_block
from grader.source.flow.sizes import Sizes
from grader.source.functions import Function
from grader.source.units import Unit

USUAL = Sizes(
    "usual",
    by_rank={
        1: (5003,),
        2: (70, 2100),
        3: (40, 70, 1100),
        4: (20, 300, 10, 12),
        5: (2, 20, 6, 10, 12),
    },
    number=2100,
)
EVEN = Sizes(
    "usual even",
    by_rank={1: (8192,), 2: (128, 512), 3: (4, 64, 128), 4: (2, 64, 16, 16), 5: (2, 16, 4, 8, 16)},
    number=512,
)
"""For host code that refuses the usual ones: powers of two, and shorter rows."""
ODD = Sizes(
    "odd",
    by_rank={1: (1001,), 2: (35, 100), 3: (20, 100, 7), 4: (20, 100, 3, 5), 5: (2, 20, 3, 5, 7)},
    number=100,
)
LONG = Sizes(
    "long",
    by_rank={
        1: (1 << 20,),
        2: (40, 200_003),
        3: (20, 5, 200_003),
        4: (20, 9001, 3, 64),
        5: (2, 9001, 3, 5, 7),
    },
    number=200_003,
)


@dataclass(frozen=True, eq=False)
class Flow:
    """One CUDA text with the launches of its host code."""

    unit: Unit
    _hosts: dict[str, tuple[HostRun, ...]] = field(default_factory=dict)
    _launched: dict[str, tuple[Launch, ...]] = field(default_factory=dict)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """Names of the host functions that are called from Python and launch kernels."""
        return tuple(f.name for f in self._roots)

    @cached_property
    def _roots(self) -> tuple[Function, ...]:
        return roots(self.unit)

    def host(self, sizes: Sizes) -> tuple[HostRun, ...]:
        """Return what the host functions do for these sizes."""
        if sizes.name not in self._hosts:
            self._hosts[sizes.name] = tuple(
                run_host(self.unit, f, sizes) for f in self._roots if sizes.function in {"", f.name}
            )
        return self._hosts[sizes.name]

    def launches(self, sizes: Sizes) -> tuple[Launch, ...]:
        """Return the launches for these sizes, in order, one a place."""
        found: dict[tuple[int, tuple[str, ...]], Launch] = {}
        for run in self.host(sizes):
            for launch in run.launches:
                found.setdefault((launch.call.node.id, launch.template), launch)
        return tuple(found.values())[:MOST_LAUNCHES]

    def launched(self, sizes: Sizes) -> tuple[Launch, ...]:
        """Return the launches of kernels that are here, with a block size put in where none is known."""
        if sizes.name not in self._launched:
            self._launched[sizes.name] = tuple(
                assume_block(launch)
                for launch in self.launches(sizes)
                if (kernel := self.unit.named(launch.kernel)) and kernel.runs == "kernel"
            )
        return self._launched[sizes.name]


MOST_LAUNCHES = 64
"""Places of one text whose launches are followed for one set of sizes; real answers have up to thirty."""


@lru_cache(maxsize=8)
def flow(unit: Unit) -> Flow:
    """Return the flow analysis of a unit, kept while it is being reviewed."""
    return Flow(unit)

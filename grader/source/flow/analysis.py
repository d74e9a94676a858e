"""The launches of a CUDA text's host code, computed once for each set of sizes."""

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from grader.source.flow.host import HostRun, Launch, Sizes, roots, run_host
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


@dataclass(frozen=True, eq=False)
class Flow:
    """One CUDA text with the launches of its host code."""

    unit: Unit
    _hosts: dict[str, tuple[HostRun, ...]] = field(default_factory=dict)

    @cached_property
    def roots(self) -> tuple[Function, ...]:
        """The host functions that are called from Python and launch kernels."""
        return roots(self.unit)

    def host(self, sizes: Sizes) -> tuple[HostRun, ...]:
        """Return the host functions' runs for these sizes."""
        if sizes.name not in self._hosts:
            asked = (f for f in self.roots if sizes.function in {"", f.name})
            self._hosts[sizes.name] = tuple(run_host(self.unit, f, sizes) for f in asked)
        return self._hosts[sizes.name]

    def launches(self, sizes: Sizes) -> tuple[Launch, ...]:
        """Return the launches of this text's kernels, one for each place, with a default for an unknown block size."""
        found: dict[tuple[int, tuple[str, ...]], Launch] = {}
        for launch in (one for run in self.host(sizes) for one in run.launches):
            kernel = self.unit.function_named(launch.kernel)
            if kernel is not None and kernel.runs == "kernel":
                found.setdefault((launch.call.node.id, launch.template), _assume_block(launch))
        return tuple(found.values())[:MOST_LAUNCHES]


MOST_LAUNCHES = 64
"""Most launches of one text followed for one set of sizes; real answers have up to thirty."""


def _assume_block(launch: Launch, threads: int = 256) -> Launch:
    x, y, z = launch.block
    known = launch.threads is not None
    return launch if known else replace(launch, block=(x or threads, y or 1, z or 1))


@lru_cache(maxsize=8)
def flow(unit: Unit) -> Flow:
    """Return the flow analysis of a unit, cached during its review."""
    return Flow(unit)

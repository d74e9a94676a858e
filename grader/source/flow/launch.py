"""A kernel launch as host code makes it for one set of sizes."""

from dataclasses import dataclass, replace

from grader.source.cpp import LaunchCall
from grader.source.flow.values import Value
from grader.source.functions import Function


class StopWalkError(Exception):
    """The walk can't go on: out of budget, or past something that isn't understood."""


@dataclass(slots=True)
class Launch:
    """One launch."""

    call: LaunchCall
    host: Function
    kernel: str
    grid: tuple[int | None, int | None, int | None]
    block: tuple[int | None, int | None, int | None]
    shared: int | None
    arguments: tuple[Value, ...]
    template: tuple[str, ...]
    sure: bool
    """False in a branch of the host code whose condition isn't known."""

    @property
    def threads(self) -> int | None:
        """Threads a block."""
        x, y, z = self.block
        return None if x is None or y is None or z is None else x * y * z


def assume_block(launch: Launch, threads: int = 256) -> Launch:
    """Return the launch with a block size put in where it isn't known."""
    x, y, z = launch.block
    known = launch.threads is not None
    return launch if known else replace(launch, block=(x or threads, y or 1, z or 1))

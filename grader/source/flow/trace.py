"""What following one thread of a launch showed."""

from dataclasses import dataclass, field

from grader.source.cpp import LaunchCall, Node
from grader.source.flow.memory import Region
from grader.source.flow.values import Value
from grader.source.functions import Function


class StopWalkError(Exception):
    """The walk can't go on: out of budget, or past something that isn't understood."""


@dataclass(slots=True)
class Event:
    """An operation that must not happen, or only at a price: `int-overflow`, `double-math`."""

    kind: str
    node: Node
    value: int = 0
    """The number that its type can't hold; the loops around an operation in double."""


@dataclass(slots=True)
class Access:
    """One access to global or shared memory."""

    kind: str
    """`load`, `store`, `atomic`."""
    region: Region
    node: Node
    call: Node
    """The outermost call in the kernel when `node` is in a helper function."""
    offset: int | None
    """In elements of the region; None when not known."""
    sure: bool
    """False under a condition on data, which may or may not hold."""
    loops: tuple[tuple[int, int], ...]
    """Node id and turn of the loops around it, outermost first."""
    scale: int = 1
    value: Value | None = None
    """What is stored."""

    @property
    def key(self) -> tuple[int, int, tuple[tuple[int, int], ...]]:
        """What another thread's access has in common that is made at the same place in the same turn."""
        return self.node.id, self.call.id if self.call is not None else 0, self.loops


@dataclass(slots=True)
class Meeting:
    """An exchange of a warp that a thread came to."""

    node: Node
    call: Node
    """The outermost call in the kernel when `node` is in a helper function."""
    accesses: int
    """How many accesses to memory the thread had made."""
    kind: str = ""
    """Who has the lanes' common result, `one` of them or `all`; empty: a result of its own each."""
    steps: int = 0
    """How many exchanges the value has come through; one alone moves it."""

    @property
    def place(self) -> tuple[int, int]:
        """What another thread's exchange has in common that is at the same place."""
        return self.node.id, self.call.id if self.call is not None else 0


@dataclass(slots=True)
class Launch:
    """A kernel launch as the host code makes it for one set of sizes."""

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


def never_launched(function: Function, node: Node) -> Launch:
    """Return the launch of a thread that nothing launched: of host code, or of the compiler."""
    call, one = LaunchCall(node, "", (), (), ()), (1, 1, 1)
    return Launch(call, function, "", one, one, 0, (), (), sure=True)


@dataclass(slots=True)
class Walk:
    """One thread of one launch, followed."""

    kernel: Function
    launch: Launch
    block_index: tuple[int, int, int] = (0, 0, 0)
    thread: int = 0
    events: list[Event] = field(default_factory=list)
    memory: list[Access] = field(default_factory=list)
    """All accesses, in order."""
    regions: list[Region] = field(default_factory=list)
    barriers: int = 0
    """How many it came to."""
    stopped: str = ""
    """Why the walk ended before the kernel did."""
    steps: int = 0

    @property
    def threads(self) -> int:
        """Threads in the block."""
        return self.launch.threads or 0

    def twin(self, access: Access) -> Access | None:
        """Return this thread's access at the place and in the turn of another thread's."""
        return next((one for one in self.memory if one.key == access.key), None)

    @property
    def accesses(self) -> list[Access]:
        """The accesses to global memory."""
        return [one for one in self.memory if one.region.space == "global"]

    @property
    def shared(self) -> list[Access]:
        """The accesses to shared memory whose cells are known."""
        known = (one for one in self.memory if one.region.space == "shared")
        return [one for one in known if not one.region.escaped and one.offset is not None]

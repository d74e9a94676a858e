"""What each kind of observation holds besides its place: a closed union of small records, told apart by `kind`.

Stages ask these fields; the sentence beside them (`Evidence.text`) is only for people.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from grader.records.base import Record
from grader.records.provenance import Counterfactual, Dependence, Slice, Touched

Triple = tuple[int, int, int]
Limit = Literal[
    "", "grid", "block", "shared-memory", "launch-bounds", "registers", "resident-blocks"
]
"""What a launch asked too much of; "" where the kernel itself is not there."""
MemoryUse = Literal["", "read", "write", "atomic"]
BuildTool = Literal["compiler", "ptxas", "python", "link"]


class Actor(Record):
    """A thread of a launch that took part."""

    thread: Triple | None = None
    block: Triple | None = None
    did: str = ""
    """What it did, as the simulator says it ("write"); empty where that goes without saying."""


# ---------------------------------------------------------------- builds, and what Python raised


class ToolMessage(Record):
    """An error or warning of a compiler, assembler or linker."""

    kind: Literal["tool-message"] = "tool-message"
    said: str
    """The tool's own words, without its name."""
    tool: str = ""
    file: str = ""
    """The file's name alone, as the tool saw it."""
    line: int = 0
    """1-based line of that file; 0 where it named none."""
    warning: bool = False


class Raised(Record):
    """An exception of Python's, or of a library through it."""

    kind: Literal["raised"] = "raised"
    said: str
    """Its own words, the type first."""
    traceback: str = ""
    stage: str = ""


class LinkedName(Record):
    """A name that a built extension imports or defines."""

    kind: Literal["linked-name"] = "linked-name"
    name: str


# ---------------------------------------------------------------- around and inside kernels


class LaunchRefused(Record):
    """A launch that the driver refused."""

    kind: Literal["launch-refused"] = "launch-refused"
    error: str
    """CUDA's name of the error."""
    limit: Limit = ""
    asked: int = 0
    """What the launch asked for: blocks, threads, bytes or registers."""
    most: int = 0
    """What it may have, in the same unit."""
    checked: bool = False
    """Whether the host code asked for the error."""


class NotDeviceMemory(Record):
    """An argument of a kernel that points to no memory of the GPU."""

    kind: Literal["not-device-memory"] = "not-device-memory"
    parameter: int
    """From 0."""


class HostAccess(Record):
    """An access of host code to the GPU's memory."""

    kind: Literal["host-access"] = "host-access"
    write: bool
    size: int
    """Bytes of the tensor."""


class MemoryAccess(Record):
    """An access of a kernel that goes where it must not: out of bounds, misaligned, to an input."""

    kind: Literal["memory-access"] = "memory-access"
    access: MemoryUse = ""
    offset: int | None = None
    """Bytes from the start of what it should have hit; negative before it, None where that isn't known."""
    size: int = 0
    """Bytes of what it should have hit."""
    width: int = 0
    """Bytes of the access."""
    wrapped: bool = False
    """Whether the address is what a 32-bit index gives after it overflows."""
    region: str = ""


class GuardZoneWritten(Record):
    """Bytes beside an allocation that a kernel wrote."""

    kind: Literal["guard-zone-written"] = "guard-zone-written"
    role: str
    """What lies there: `output 1`, `input 2`; empty for other memory."""
    size: int
    """Bytes of the allocation."""
    first: int
    """Offset of the first byte written, from the allocation's start."""
    last: int
    count: int


class Race(Record):
    """Two accesses that nothing orders."""

    kind: Literal["race"] = "race"
    conflict: str = ""
    """`write-read`, `read-write`, `write-write`, `atomic-plain`, `plain-atomic`: the first access, then the second."""
    within_warp: bool = False
    """Whether the tool calls it a hazard inside a warp only."""
    within_program: bool = False
    """Whether warps of one Triton program make it, in global memory."""


class UnwrittenRead(Record):
    """A read of memory that nothing was written to."""

    kind: Literal["unwritten-read"] = "unwritten-read"
    use: str = ""
    """What became of the value, in one participle."""
    copied: bool = False
    """Whether an asynchronous copy was to fill it, which had not been waited for."""


class Waiting(Record):
    """Threads that wait for others."""

    kind: Literal["waiting"] = "waiting"
    at: Literal["barrier", "warp"] = "barrier"
    threads: int = 0
    exited: int = 0
    """How many of the threads had returned."""
    blocks: int = 0


class LaneMask(Record):
    """The mask of a warp-synchronous operation."""

    kind: Literal["lane-mask"] = "lane-mask"
    mask: int


class UnwrittenOutput(Record):
    """A result with bytes that nobody wrote."""

    kind: Literal["unwritten-output"] = "unwritten-output"
    output: int
    """From 0."""
    shape: tuple[int, ...] = ()
    missing: int
    """Bytes that were never written."""
    size: int
    """Bytes of the result."""


class SectorCounts(Record):
    """32-byte sectors that a line's accesses touched."""

    kind: Literal["sector-counts"] = "sector-counts"
    sectors: int
    ideal: int
    requests: int


# ---------------------------------------------------------------- results against the reference


class CountMismatch(Record):
    """Another number of tensors than expected."""

    kind: Literal["count-mismatch"] = "count-mismatch"
    got: int
    want: int


class MissingGradient(Record):
    """A gradient that was asked for and did not come."""

    kind: Literal["missing-gradient"] = "missing-gradient"
    of: str
    """`input 1`, or a parameter's name."""
    all: bool
    """Whether none came: the results have no graph that leads to anything that was asked."""


class OtherGradient(Record):
    """A wrong gradient that is something else that is known."""

    kind: Literal["other-gradient"] = "other-gradient"
    of: str
    """`input 1`, or a parameter's name."""
    equals: str
    """`gradient of input 2`; `upstream`; or `no upstream`, where its product with that is right."""


class ContainerMismatch(Record):
    """Tensors wrapped otherwise than expected: `tensor`, `tuple`, `list`, ..."""

    kind: Literal["container-mismatch"] = "container-mismatch"
    got: str
    want: str


class ShapeMismatch(Record):
    """A tensor of another shape than expected."""

    kind: Literal["shape-mismatch"] = "shape-mismatch"
    got: tuple[int, ...]
    want: tuple[int, ...]


class DtypeMismatch(Record):
    """A tensor of another dtype than expected, by torch's names."""

    kind: Literal["dtype-mismatch"] = "dtype-mismatch"
    got: str
    want: str


class DeviceMismatch(Record):
    """A tensor on another device than expected."""

    kind: Literal["device-mismatch"] = "device-mismatch"
    got: str
    want: str


class WrongValues(Record):
    """What the wrong elements of a result have in common; fields that don't apply are None."""

    kind: Literal["wrong-values"] = "wrong-values"
    share: float | None = None
    """Share of the wrong elements that it holds for."""
    whole: bool | None = None
    """Whether all of the output is so, right elements included."""
    bits: str = ""
    """The bits that all of the NaNs have, in hexadecimal."""
    factor: float | None = None
    offset: float | None = None
    value: float | None = None
    dim: int | None = None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    """Largest error, relative to the size."""
    max_error: float | None = None
    """Largest |a - r|."""
    input: int | None = None
    """The input whose values they are, from 0."""


class WrongRegion(Record):
    """Where the wrong elements of a result stand: indices along one dim, or in flat order."""

    kind: Literal["wrong-region"] = "wrong-region"
    dim: int | None = None
    """None in flat order."""
    size: int | None = None
    """How many indices there are; None where a period says it."""
    first_wrong: int | None = None
    first_right: int | None = None
    last_right: int | None = None
    period: int | None = None
    wrong: tuple[int, ...] = ()
    """Indices that are wrong (within a period where there is one), at most 32."""


class ProbedInput(Record):
    """What was seen when one input was changed."""

    kind: Literal["probed-input"] = "probed-input"
    input: int
    """From 0."""


class LaunchEnlarged(Record):
    """What more blocks or threads than a program launches make right."""

    kind: Literal["launch-enlarged"] = "launch-enlarged"
    axis: Literal["x", "y", "z"]
    of: Literal["grid", "block"]
    wrong: int
    """Elements that are wrong as it is."""
    left: int
    """Of these the ones that stay wrong."""


FormMismatch = (
    CountMismatch
    | ContainerMismatch
    | ShapeMismatch
    | DtypeMismatch
    | DeviceMismatch
    | MissingGradient
)
"""What is wrong with a result before any of its values counts."""
Details = Annotated[
    ToolMessage
    | Raised
    | LinkedName
    | LaunchRefused
    | NotDeviceMemory
    | HostAccess
    | MemoryAccess
    | GuardZoneWritten
    | Race
    | UnwrittenRead
    | Waiting
    | LaneMask
    | UnwrittenOutput
    | SectorCounts
    | CountMismatch
    | ContainerMismatch
    | ShapeMismatch
    | DtypeMismatch
    | DeviceMismatch
    | MissingGradient
    | OtherGradient
    | WrongValues
    | WrongRegion
    | ProbedInput
    | LaunchEnlarged
    | Touched
    | Dependence
    | Slice
    | Counterfactual,
    Field(discriminator="kind"),
]

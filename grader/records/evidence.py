"""The details of each kind of observation: a closed union of small records, told apart by `kind`.

Later stages read these fields; the sentence beside them (`Evidence.text`) is only for people.
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
"""The resource that a launch asked too much of; "" where the kernel itself is missing."""
MemoryUse = Literal["", "read", "write", "atomic"]
BuildTool = Literal["compiler", "ptxas", "python", "link"]


class Actor(Record):
    """A thread that took part in an observation."""

    thread: Triple | None = None
    block: Triple | None = None
    did: str = ""
    """Its operation, in the simulator's words ("write"); empty where the kind of evidence implies it."""


# ---------------------------------------------------------------- builds, and Python exceptions


class ToolMessage(Record):
    """An error or warning of a compiler, assembler or linker."""

    kind: Literal["tool-message"] = "tool-message"
    said: str
    """The tool's own words, without its name."""
    tool: str = ""
    file: str = ""
    """The file's name without its folder, as the tool saw it."""
    line: int = 0
    """1-based line of that file; 0 where the tool named none."""
    warning: bool = False


class Raised(Record):
    """A Python exception, perhaps raised by a library."""

    kind: Literal["raised"] = "raised"
    said: str
    """The exception's text, its type first."""
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
    """The limit, in the same unit."""
    checked: bool = False
    """Whether the host code queried the error."""


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
    """An invalid access of a kernel: out of bounds, misaligned, or a write to an input."""

    kind: Literal["memory-access"] = "memory-access"
    access: MemoryUse = ""
    offset: int | None = None
    """Bytes from the start of the tensor it was meant for; negative before it, None where unknown."""
    size: int = 0
    """Size in bytes of the tensor it was meant for."""
    width: int = 0
    """Bytes of the access."""
    wrapped: bool = False
    """Whether the address is that of a 32-bit index after overflow."""
    region: str = ""


class GuardZoneWritten(Record):
    """Bytes beside an allocation that a kernel wrote."""

    kind: Literal["guard-zone-written"] = "guard-zone-written"
    role: str
    """The allocation: `output 1`, `input 2`; empty for other memory."""
    size: int
    """Bytes of the allocation."""
    first: int
    """Offset of the first byte written, from the allocation's start."""
    last: int
    count: int


class Race(Record):
    """Two accesses without an order between them."""

    kind: Literal["race"] = "race"
    conflict: str = ""
    """`write-read`, `read-write`, `write-write`, `atomic-plain`, `plain-atomic`: the first access, then the second."""
    within_warp: bool = False
    """Whether the tool calls it a hazard inside a warp only."""
    within_program: bool = False
    """Whether the two accesses are by warps of one Triton program, in global memory."""


class UnwrittenRead(Record):
    """A read of memory that was never written."""

    kind: Literal["unwritten-read"] = "unwritten-read"
    use: str = ""
    """The use made of the value, as a participle."""
    copied: bool = False
    """Whether an asynchronous copy should have filled it, and the program had not waited for that copy."""


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
    """A result with bytes that were never written."""

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
    """A requested gradient that was not returned."""

    kind: Literal["missing-gradient"] = "missing-gradient"
    of: str
    """`input 1`, or a parameter's name."""
    all: bool
    """Whether no gradient was returned: the results have no graph to any requested tensor."""


class OtherGradient(Record):
    """A wrong gradient that equals another known tensor."""

    kind: Literal["other-gradient"] = "other-gradient"
    of: str
    """`input 1`, or a parameter's name."""
    equals: str
    """`gradient of input 2`; `upstream`; or `no upstream`, where its product with the upstream gradient is right."""


class ContainerMismatch(Record):
    """Tensors in another container than expected: `tensor`, `tuple`, `list`, ..."""

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
    """Whether it holds for all of the output, right elements included."""
    bits: str = ""
    """The bits that all of the NaNs have, in hexadecimal."""
    factor: float | None = None
    offset: float | None = None
    value: float | None = None
    dim: int | None = None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    """Largest error, relative to the value."""
    max_error: float | None = None
    """Largest |a - r|."""
    input: int | None = None
    """The input that the values are copies of, from 0."""


class WrongRegion(Record):
    """The region of a result's wrong elements: indices along one dim, or in flat order."""

    kind: Literal["wrong-region"] = "wrong-region"
    dim: int | None = None
    """None in flat order."""
    size: int | None = None
    """Number of indices along the dim; None for a periodic region."""
    first_wrong: int | None = None
    first_right: int | None = None
    last_right: int | None = None
    period: int | None = None
    wrong: tuple[int, ...] = ()
    """Indices that are wrong (within a period where there is one), at most 32."""


class ProbedInput(Record):
    """The observation after one input was changed."""

    kind: Literal["probed-input"] = "probed-input"
    input: int
    """From 0."""


class LaunchEnlarged(Record):
    """A run with more blocks or threads than the program launches, and what it made right."""

    kind: Literal["launch-enlarged"] = "launch-enlarged"
    axis: Literal["x", "y", "z"]
    of: Literal["grid", "block"]
    wrong: int
    """Elements that are wrong in the unchanged program."""
    left: int
    """Those of them that stay wrong."""


FormMismatch = (
    CountMismatch
    | ContainerMismatch
    | ShapeMismatch
    | DtypeMismatch
    | DeviceMismatch
    | MissingGradient
)
"""A defect in a result's form, which is checked before its values."""
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

"""What happened when a submission was built and run."""

from __future__ import annotations

from typing import Literal

from grader.records.base import JsonValue, Name, Record
from grader.records.evidence import FormMismatch
from grader.records.finding import Evidence

BuildStatus = Literal["built", "failed", "timeout", "crashed", "grader_error"]
RunStatus = Literal[
    "ran", "raised", "crashed", "hung", "timeout", "out_of_memory", "not_run", "grader_error"
]


class KernelResources(Record):
    """Resources of one kernel, as ptxas reports them."""

    kernel: str
    """Demangled name, where available."""
    symbol: str = ""
    """The name as the device code has it."""
    registers: int
    shared_bytes: int
    """Static shared memory."""
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    constant_bytes: int = 0


class Build(Record):
    """The outcome of compiling a submission for a device."""

    status: BuildStatus
    device: Name
    mode: Literal["fast", "stock"] = "fast"
    """Which build decided: by our drivers, or by torch's own, unchanged."""
    key: str = ""
    """Content address of the artifact folder in the store; empty unless built."""
    errors: tuple[Evidence, ...] = ()
    """The errors that matter, in order."""
    warnings: tuple[Evidence, ...] = ()
    resources: tuple[KernelResources, ...] = ()
    log: str = ""
    """Everything that the build printed, cut in the middle beyond 200 kB."""
    reason: str = ""
    """Why, for anything but `built`."""
    seconds: float = 0.0
    lazy: bool = False
    """A part of it is compiled only when it is constructed or called."""


class LineCount(Record):
    """The simulator's counts at one line of a kernel."""

    kernel: str
    line: int
    """Line of the submission."""
    instructions: int = 0
    accesses: int = 0
    """Lane accesses to global memory."""
    sectors: int = 0
    """32-byte sectors that the warps' accesses touched."""
    ideal_sectors: int = 0
    requests: int = 0
    """Warp-level global accesses."""
    shared_accesses: int = 0
    bank_conflicts: int = 0
    """Extra shared-memory passes."""
    divergent: int = 0
    atomics: int = 0
    stores: int = 0
    bytes: int = 0


class Launch(Record):
    """One kind of kernel launch that a run made."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    """Dynamic shared memory."""
    count: int = 1
    limits: dict[str, JsonValue] = {}
    """Occupancy: blocks per multiprocessor, limiter, share of warps."""


class Narrowed(Record):
    """Operands of torch's operators that were rounded because the program enabled it."""

    precision: Literal["tf32", "float16", "bfloat16"]
    operator: str
    """E.g. `aten::mm`."""
    count: int


class Autotuned(Record):
    """A kernel whose configuration was chosen in a run."""

    kernel: str
    config: str
    """In Triton's words: the fastest on a GPU; elsewhere the first that launched."""
    of: int
    """Number of configurations."""
    seconds: float | None = None
    """Time to measure them; None on a device without a clock."""


class Run(Record):
    """The outcome of one execution on one workload; the outputs themselves travel beside it."""

    workload: str
    device: Name
    status: RunStatus
    reason: str = ""
    """Why, for anything but `ran`; for `not_run` which feature, and its line."""
    evidence: tuple[Evidence, ...] = ()
    launches: tuple[Launch, ...] = ()
    counts: tuple[LineCount, ...] = ()
    blind: bool = False
    """Whether kernels stored values, while neither a kernel nor a CUDA copy read any."""
    operators: dict[str, int] = {}
    """torch operators that ran inside forward, by name."""
    unguarded: str = ""
    """Why the run had no guard zones, on a GPU where runs normally have them."""
    switches: tuple[str, ...] = ()
    """Switches of torch for fewer digits that were on after forward, e.g. `torch.backends.cuda.matmul.allow_tf32`."""
    narrowed: tuple[Narrowed, ...] = ()
    """Their effect inside forward, on a device that observes it: the simulator rounds as a GPU does."""
    autotuned: tuple[Autotuned, ...] = ()
    """Kernels that autotuning ran with one of several configurations."""
    seconds: float = 0.0
    """Wall time by the host's clock."""
    output: str = ""
    """What it printed, cut beyond 20 kB; shown, never believed."""


class WrongMap(Record):
    """Where an output is wrong, in cells."""

    rows: tuple[str, ...]
    """A digit a cell: 0 where every element is right, 9 where every one is wrong."""
    down: str
    """Meaning of the rows; empty where there is one."""
    across: str


class Mismatch(Record):
    """How an output differs from the reference."""

    kind: Literal["values", "shape", "dtype", "device", "count", "type", "nonfinite", "unwritten"]
    text: str
    result: str = ""
    """Which of several results it is, e.g. `gradient of input 1`; empty where there is one."""
    extent: str = ""
    """How many elements are wrong, in words; empty where the form is already wrong."""
    fraction: float = 0.0
    """Share of the elements that are out of tolerance."""
    max_error: float = 0.0
    """Largest |a - r|."""
    worst_index: tuple[int, ...] = ()
    worst_value: float | None = None
    worst_reference: float | None = None
    form: FormMismatch | None = None
    """How the result's form differs; None where its values do."""
    patterns: tuple[Evidence, ...] = ()
    """What the wrong elements have in common: a factor, zeros, a region, a dimension."""
    where: WrongMap | None = None
    """None where every element is wrong, and for what is not a matter of values."""


class Comparison(Record):
    """One workload's outputs against the reference."""

    workload: str
    role: str
    equal: bool
    decides: bool = True
    """Whether it is part of the verdict (not where the reference is NaN or infinite)."""
    mismatch: Mismatch | None = None
    half_precision: bool = False
    """Wrong by float32's tolerance, right by half precision's."""
    kernelbench_equal: bool | None = None
    """Under KernelBench's own tolerance (allclose with atol = rtol = 1e-4 for float32)."""
    note: str = ""


class Timing(Record):
    """A distribution of times, in milliseconds, by a clock that the host holds."""

    what: str
    """`submission`, `eager`, `compile`, `reference kernel`, `floor`."""
    workload: str
    median: float
    low: float
    """Lower end of the 95% bootstrap interval of the median."""
    high: float
    iqr: float
    samples: int
    converged: bool
    """Whether the interval fell under 2% within the budget."""
    on_gpu: float | None = None
    """Milliseconds a call with its launches queued ahead, by the guest's own events: the excess of `median` over it is
    launch overhead. Shown, never believed."""
    peak_bytes: int | None = None
    """Most memory of torch's allocator in one call, beside its inputs, as the guest says."""
    note: str = ""


class Work(Record):
    """The work of a call of the reference at the timed size, and the peaks of this GPU."""

    workload: str
    bytes: int
    """Inputs and outputs, once each."""
    products: int = 0
    """Floating-point operations of products and convolutions, by torch's formulas."""
    others: int = 0
    """Operations of everything else, one for each element: estimated."""
    bandwidth: float
    """Bytes a second that a copy of 1 GiB moves, counted both ways; measured in the same run."""
    rate: float | None = None
    """Operations a second of a product of two square matrices; None where there are no products."""

    @property
    def seconds(self) -> float:
        """Return the floor: no call is faster unless it computes something else."""
        return max(self.bytes / self.bandwidth, self.products / self.rate if self.rate else 0.0)


class KernelProfile(Record):
    """Nsight Compute's counters for one kernel, over its launches in one call."""

    kernel: str
    launches: int
    milliseconds: float
    """At the profiler's own clocks, each launch alone: not comparable with a timing."""
    dram_bytes: int
    sectors: int
    """32-byte sectors of global loads and stores."""
    requests: int
    """Warp-level global loads and stores."""
    operations: int
    """float32 and float64 operations of ordinary cores; a fused multiply-add is two."""
    occupancy: float
    """Achieved occupancy: average share of a multiprocessor's warps that were resident."""

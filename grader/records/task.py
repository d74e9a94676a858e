"""Tasks: the reference, the inputs, the tolerances."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Final, Literal

from pydantic import Field

from grader.records.base import JsonValue, Record, digest

DType = Literal[
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
]
Distribution = Literal[
    "normal",
    "uniform",
    "signed_uniform",
    "heavy_tailed",
    "skewed",
    "zeros",
    "ones",
    "constant",
    "large",
    "ramp",
    "one_hot",
    "randint",
    "spike",
    "range",
    "ascending",
    "increasing",
    "permutation",
]
"""Of integers along the last dim: a `range` counts from `low` on, `ascending` and `increasing` (each number at most once) go from `low` to the last
below `high`, a `permutation` has each number from `low` on once."""
Structure = Literal["none", "upper", "lower", "symmetric", "simplex"]
"""Triangular and symmetric in the last two dims; `simplex`: each row (last dim) sums to one."""
FillerPlace = Literal["anywhere", "tail", "upper", "strictly-upper", "lower", "strictly-lower"]
"""Where fillers are placed: at random, at the end of each row (last dim), or in a whole triangle of the last two
dims."""
Weights = Literal["initial", "drawn"]
Role = Literal["nominal", "general", "stress", "full"]
DECIDING: Final[frozenset[Role]] = frozenset({"nominal", "stress"})
"""Roles of the workloads that `correct` rests on."""


class TensorSpec(Record):
    """How one input tensor is made on the host."""

    shape: tuple[int, ...]
    dtype: DType = "float32"
    distribution: Distribution = "normal"
    low: float = 0.0
    """Lower bound, mean, or constant, depending on the distribution."""
    high: float = 1.0
    """Upper bound (exclusive for randint), standard deviation or scale."""
    order: tuple[int, ...] = ()
    """The dims as they lie in memory, the outermost first; empty where that is their own order."""
    structure: Structure = "none"
    """A structure imposed on the drawn elements (on the last one or two dims)."""
    step: float = 0.0
    """Step that all values are multiples of; 0 for any values."""
    filler: float | None = None
    """A value put in place of others: a label to ignore, minus infinity in a mask; None if there is none."""
    share: float = 0.0
    """Share of the elements that are fillers, for `anywhere`."""
    place: FillerPlace = "anywhere"

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie in memory in the order of their indices."""
        return not self.order


class Backward(Record):
    """How gradients are requested from a call: comes after the arguments of `forward` and the upstream gradients."""

    kind: Literal["backward"] = "backward"
    by: tuple[str, ...]
    """What results are differentiated by, in the order of the returned gradients: `input 1`, or a parameter's name."""
    upstream: int = 1
    """How many upstream gradients there are, one for each result of floating point: the last tensors of the inputs.
    One with a dim of 1 is expanded to its result's shape, as the gradient of a sum is."""
    in_order: bool = True
    """Whether their elements lie one after the other: neither expanded nor transposed."""
    way: Literal["once", "twice", "without grad"] = "once"
    """`twice`: the gradients of a second pass through the same graph. `without grad`: results alone, under
    `no_grad`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the returned gradients, in order."""
        return () if self.way == "without grad" else tuple(f"gradient of {one}" for one in self.by)


class Workload(Record):
    """One concrete input of a task, but for its seed."""

    name: str
    """Short and unique in its task, e.g. `16x1000`, `16x1000 zeros`."""
    role: Role
    """`nominal`: the sizes the task names, or reduced ones that stand for them; decides `correct`.
    `general`: other sizes; decides `general`. `stress`: other values at nominal sizes; decides
    `correct` too. `full`: full size, for timing on a GPU."""
    inputs: tuple[
        Annotated[TensorSpec | Backward | JsonValue, Field(union_mode="left_to_right")], ...
    ]
    """Arguments of `forward`: tensors to make, or plain values. Where gradients are asked, upstream gradients
    and a `Backward` follow."""
    init: tuple[JsonValue, ...] = ()
    """Arguments of the constructor."""
    weights: Weights = "initial"
    """`initial`: as the reference's constructor leaves them under the seed (KernelBench's way);
    `drawn`: parameters and running statistics drawn anew, so that none is 0 or 1 by default."""
    costly: bool = False
    """A run of it may take minutes on a CPU: it is the only workload, and races are not looked for."""
    reference_may_be_nonfinite: bool = False
    """The reference itself gives NaN or infinity here; reported, and not part of the verdict."""

    @property
    def arguments(self) -> tuple[TensorSpec | JsonValue, ...]:
        """The arguments of `forward`: the inputs without those that request gradients."""
        asked = self.backward
        return self.inputs[: -1 - asked.upstream] if asked else self.inputs

    @property
    def backward(self) -> Backward | None:
        """How gradients are requested; None where they are not."""
        last = self.inputs[-1] if self.inputs else None
        return last if isinstance(last, Backward) else None


class Tolerance(Record):
    """When two numbers count as equal: |a - r| <= absolute * scale + relative * |r|."""

    relative: float
    absolute: float
    """In units of the reference output's root mean square (`scale`)."""
    few: float = 0.0
    """Share of the elements that may differ by any amount: for choices between values within rounding of each other."""
    one_off: float = 0.0
    """Share of the elements that may be one step of their type off: for whole numbers and 8-bit floats that come from
    rounding."""
    why: str


class Task(Record):
    """One problem with everything needed to judge an answer to it."""

    name: str
    title: str
    source: Literal["builtin", "kernelbench", "embedded", "file", "own-inputs"]
    """`own-inputs`: the task isn't known, and the inputs are the answer's own."""
    reference: str
    """Python text with `Model`; runs in a guest of its own, never on the host."""
    workloads: tuple[Workload, ...]
    tolerance: Tolerance | None = None
    """Overrides the one derived from dtype and reduction length."""
    precision: DType | None = None
    """The dtype that both modules are cast to after construction, as KernelBench does for its `precision`."""
    reduction_length: str = ""
    """Number of terms summed in one output: a number, or a product of dims such as `d1` or `d1*d2`, where `dK` is
    dimension K of the first input."""
    backward: bool = False
    """Whether gradients are judged as well; a draft's workloads then ask for them."""
    family: str = ""
    """Family of reference-fixed kernels, e.g. `row-norm`."""
    parameters: dict[str, JsonValue] = {}
    """Parameters of the family, e.g. `{"p": 2, "mean": false}`."""
    prompt: str = ""
    """The question to a model, in a sentence."""
    rules_out: tuple[str, ...] = (
        "zeros",
        "the input",
        "a constant multiple",
        "a skipped reduction",
    )
    weak: tuple[str, ...] = ()
    """Why its verdicts are weak, where an audit found that it can't tell wrong programs apart."""
    notes: tuple[str, ...] = ()

    @property
    def expects(self) -> bool:
        """Whether it defines the right results; where it doesn't, only the behaviour of runs is judged."""
        return self.source != "own-inputs"

    @property
    def judged(self) -> tuple[Workload, ...]:
        """The workloads that verdicts rest on: all but the full-size ones, which are for timing."""
        return tuple(workload for workload in self.workloads if workload.role != "full")

    @property
    def full(self) -> Workload | None:
        """The workload of full size, if the task has one."""
        return next((workload for workload in self.workloads if workload.role == "full"), None)

    @cached_property
    def key(self) -> str:
        """Content address: changes with everything that could change a verdict."""
        return digest("task", self.model_dump_json())


class TaskChoice(Record):
    """Which task a sample answers, and how that was found."""

    task: Task | None
    how: Literal["option", "side-file", "kernelbench", "embedded", "inferred", "none"]
    reason: str
    """For the review: the reasons for it (and against others)."""
    confidence: float = 1.0
    """0 to 1; only `inferred` is below 1."""

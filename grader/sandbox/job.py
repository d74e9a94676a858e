"""A guest's job, and its reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from grader.records import JsonValue, RunStatus


@dataclass(frozen=True)
class Part:
    """Some rows (of the first dim) of a tensor whose other rows are unwritten."""

    array: np.ndarray
    rows: int
    """Number of rows of the whole tensor."""
    at: int = 0
    """Index of the first of them in the whole tensor."""


Argument = np.ndarray | Part | JsonValue
"""An array is sent as a tensor, a part as one that the guest enlarges; others as JSON."""


@dataclass(frozen=True)
class GuestWorkload:
    """Arguments of one call of forward."""

    name: str
    args: tuple[Argument, ...]
    deadline: float | None = None
    """Seconds for this call, by the host's clock; None for the job's remaining time."""
    rows: int | None = None
    """Number of rows of each result to return; None: all.

    The reply then also has how each element was written (0: not at all, 1: in any way, 2: by a kernel), and how many
    bytes kernels stored to the result at all.
    """
    at: int = 0
    """The first of these rows."""
    elements: int = 0
    """Its size, from which its time is predicted by that of others; 0: unknown."""
    spare: bool = False
    """Whether it is skipped where it would not end in time."""


@dataclass(frozen=True)
class GuestJob:
    """One program and the instructions for a guest."""

    role: Literal["submission", "reference"]
    code: str
    entry: str
    """Name of the class: `ModelNew` or `Model`."""
    device: str
    """A device's name, or `cpu` for a reference."""
    workloads: tuple[GuestWorkload, ...] = ()
    init: tuple[Argument, ...] | None = None
    """Arguments of the constructor; None with `build_only` means: import only."""
    seed: int = 0
    """Seed of torch in the guest, independent of the seed of the inputs."""
    state: Mapping[str, np.ndarray] | None = None
    """Weights to load, by name."""
    initial: Mapping[str, np.ndarray] | None = None
    """The reference's weights before `state` is loaded, under the same names, to match tensors by value."""
    build_only: bool = False
    double: bool = False
    """Run in float64."""
    want_state: bool = False
    describe: bool = False
    """Import, then hand the module to `grader.guest.describe`."""
    artifact: Path | None = None
    """Folder of built extensions, from an earlier `keep_artifact`."""
    keep_artifact: Path | None = None
    """Folder to write the built extensions to, after success."""
    env: Mapping[str, str] = field(default_factory=dict)
    read_only: tuple[Path, ...] = ()
    preload: tuple[Path, ...] = ()
    """Libraries loaded first, so that their symbols take precedence."""
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    """For the simulator, `describe`, `log_operators` (count torch operators in forward), and `plain`
    (run the program as a plain script does, without any of our instrumentation)."""
    threads: int = 1
    under: tuple[str, ...] = ()
    """A program and its arguments that starts the guest and watches it, e.g. compute-sanitizer."""


@dataclass(frozen=True)
class GuestOutput:
    """One tensor (or number) that forward returned. All but `array` is the guest's claim."""

    array: np.ndarray
    """The values; float64 where the protocol lacks `dtype`."""
    device: str
    strides: tuple[int, ...]
    """In elements."""
    type_name: str
    aliases: int | None
    """Position of the argument that it shares memory with."""
    dtype: str = ""
    """Torch's name of the dtype, e.g. `float32`."""


@dataclass(frozen=True)
class GuestResult:
    """One call of forward."""

    name: str
    status: RunStatus
    reason: str = ""
    outputs: tuple[GuestOutput, ...] = ()
    structure: str = "none"
    """`tensor`, `tuple`, `list`, `dict`, `number` or `none`."""
    mutated_inputs: tuple[int, ...] = ()
    """Positions of arguments whose values changed."""
    report: JsonValue = None
    """`{"operators": {name: count}, "simulator": ...}`; explains, and decides nothing."""
    seconds: float = 0.0
    """By the host's clock, from the last byte of input to the first of the answer."""
    traceback: str = ""
    line: int | None = None
    """Deepest line of the submission in the traceback."""
    spared: bool = False
    """Whether it was skipped, as it would not have ended in time."""
    changed_later: bool = False
    """Whether a returned tensor had changed after all workloads."""

    @property
    def returned_inputs(self) -> frozenset[int]:
        """Return the positions of arguments that share memory with results."""
        return frozenset(o.aliases for o in self.outputs if o.aliases is not None)


@dataclass(frozen=True)
class GuestReply:
    """The complete reply to a job."""

    status: Literal["done", "raised", "crashed", "timeout", "killed", "grader_error"]
    reason: str = ""
    traceback: str = ""
    line: int | None = None
    stage: Literal["import", "construct", "forward"] = "import"
    """The last stage that started."""
    results: tuple[GuestResult, ...] = ()
    """One for each workload, in order; `not_run` for those that were never reached."""
    state: Mapping[str, np.ndarray] = field(default_factory=dict)
    loaded: str = ""
    """A description of how weights were matched."""
    description: JsonValue = None
    log: str = ""
    """Its output, cut in the middle; never believed."""
    seconds: float = 0.0
    exit_signal: int | None = None
    skipped_files: tuple[str, ...] = ()
    """Entries of the artifact folder that were skipped: links, devices, odd names."""
    out_of_memory: bool = False
    sandbox: str = ""
    """Name of the sandbox form."""

"""A run's options: flags override the environment, then `pyproject.toml`, then defaults."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import Field, ValidationError
from pydantic.fields import FieldInfo

from grader.errors import UsageError
from grader.plugins import names
from grader.records import Record

PREFIX = "KERNEL_GRADER_"
TABLE = "kernel-grader"
NOT_IN_FILES = ("unsafe_no_sandbox", "cache", "seed")
"""Options on which trust in a verdict depends; never taken from a folder, which may be a stranger's."""


if TYPE_CHECKING:
    DeviceChoice = str
else:
    DeviceChoice = Literal["auto", *names("devices"), "none"]


class Options(Record):
    """Everything that a user may set, with its default."""

    device: DeviceChoice = "auto"
    """Where submissions run: a real GPU, the CPU simulator, or nowhere (review of text and build)."""
    gpu: str = "h100"
    """The GPU that the simulator models."""
    jobs: int = Field(0, ge=0)
    """Samples graded at once; 0 means one for each core, and one more where fewer than four simulate."""
    out: Path = Path("reviews")
    """Folder for reviews and results."""
    task: str | None = None
    """Name of the task that all samples answer."""
    dtype: Literal["bf16", "fp16"] | None = None
    """Dtype of the task: modules and inputs are cast to it; the task's own when not given."""
    tasks: Path | None = None
    """Folder with KernelBench-style problem files."""
    select: tuple[str, ...] = ()
    """Rules to use: codes or prefixes of codes."""
    ignore: tuple[str, ...] = ()
    """Rules not to use: codes or prefixes of codes."""
    only: str | None = None
    """Grade only the samples whose id matches this glob."""
    fail_on: Literal["error", "incorrect", "never"] = "never"
    """When to exit with 1: any finding of severity error, any verdict but correct (`unsound` as well), or never."""
    backward: bool | None = None
    """Judge gradients as well, or never; when not given, where the problem file says `backward = True`, the task's
    name ends in `-backward`, or the task is inferred and the answer has a backward of its own."""
    policy: Literal["any", "custom-only"] = "any"
    """Whether the work may be left to library calls."""
    shapes: Literal["nominal", "any"] = "nominal"
    """Whether `correct` requires right results at the task's own sizes or at any size."""
    settle_early: bool | None = None
    """Stop after the smallest workload that decides, if its result is wrong; when not given, rewards do and reviews
    don't."""
    seed: int | None = None
    """Seed of the inputs; drawn anew for a new run folder and recorded there when not given."""
    build: Literal["fast", "stock"] = "fast"
    """Our compiler drivers, or torch's own, unchanged."""
    repair: bool = True
    """Look for a fix that passes and write the reference-fixed kernel."""
    sanitize: bool | None = None
    """On a GPU, run every program under compute-sanitizer, or none and no check on the simulator either; when not
    given, programs that went wrong."""
    repair_tries: int = Field(12, ge=0)
    """Most candidate fixes that are tried for one sample."""
    build_seconds: float = Field(300.0, gt=0)
    """Most wall time of one build."""
    run_seconds: float = Field(60.0, gt=0)
    """Most wall time of the runs of one program."""
    sample_seconds: float = Field(60.0, gt=0)
    """Most wall time on the simulator for a sample without its repair; steps beyond it are left out, the costliest
    first, and named in the review."""
    explain_seconds: float = Field(8.0, ge=0)
    """Most CPU time on the simulator for counterfactual runs, which try small changes of a wrong program to see which
    makes it right; rewards try none."""
    memory_gb: float = Field(8.0, gt=0)
    """Most memory of one guest."""
    unsafe_no_sandbox: bool = False
    """Run generated code without any isolation."""
    llm: str | None = None
    """Model that may propose repairs and summarise, through an OpenAI-compatible server."""
    cache: Path | None = None
    """Folder of the store; the user's cache folder when not given."""
    fresh: bool = False
    """Grade samples again that have been graded."""
    ray: str | None = None
    """Ray cluster to grade on: an address, `auto`, or `local`; this process alone when not given."""
    timing: bool = True
    """Measure time where there is a GPU."""
    torch_compile: bool = True
    """Measure torch.compile's time as well, once a task."""
    exact: bool = False
    """On the simulator, also compare with the reference in exact arithmetic: equal but for rounding, or not shown to
    be."""
    profile: bool = False
    """On a GPU, count the memory traffic of a correct program's kernels with Nsight Compute."""


class Setting(Record):
    """One option's value and where it comes from."""

    name: str
    value: str
    origin: str


def load(
    flags: Mapping[str, Any], folder: Path | None = None, *, origin: str = "flag"
) -> tuple[Options, tuple[Setting, ...]]:
    """Merge the layers; return the options and the origin of each value.

    `origin` is the name of `flags` in messages.

    Raises UsageError for an unknown key, with the nearest one, and for an invalid value.
    """
    layers = (
        (f"{folder or Path.cwd()}/pyproject.toml", _from_file(folder or Path.cwd())),
        ("environment", _from_environment()),
        (origin, {name: value for name, value in flags.items() if value is not None}),
    )
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer, values in layers:
        for name, value in values.items():
            if _known_device(name, layer) in NOT_IN_FILES and layer.endswith(".toml"):
                raise UsageError(
                    f"{layer} may not set '{name}'",
                    "use the flag, or a variable of the environment",
                )
            merged[_known_device(name, layer)] = value
            origins[_known_device(name, layer)] = layer
    options = _validate_options(merged, origins)
    return options, tuple(
        Setting(name=name, value=str(getattr(options, name)), origin=origins.get(name, "default"))
        for name in Options.model_fields
    )


def _known_device(name: str, origin: str) -> str:
    key = name.replace("-", "_")
    if key in Options.model_fields:
        return key
    near = difflib.get_close_matches(key, Options.model_fields, n=1)
    suggestion = f"did you mean '{near[0].replace('_', '-')}'?" if near else "see: config"
    raise UsageError(f"unknown option '{name}' in {origin}", suggestion)


def _validate_options(values: dict[str, Any], origins: dict[str, str]) -> Options:
    try:
        return Options.model_validate(values)
    except ValidationError as error:
        raise value_error(
            error,
            lambda name: f"option '{name}' from {origins.get(name.replace('-', '_'), 'defaults')}",
        ) from error


def value_error(error: ValidationError, named: Callable[[str], str]) -> UsageError:
    """Return an error for the first invalid value, with the nearest valid one."""
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else "?"
    value = first["input"]
    choices = [c for c in get_args(_annotation(name)) if isinstance(c, str)]
    if choices:
        near = difflib.get_close_matches(str(value), choices, n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(choices)}"
    else:
        said = first["msg"].split(", unable")[0].removeprefix("Input ")
        hint = f"it {said}"
    return UsageError(f"{named(name.replace('_', '-'))} can't be {value!r}", hint)


def _annotation(name: str) -> Any:
    field = Options.model_fields.get(name)
    return field.annotation if field else None


def _from_file(folder: Path) -> dict[str, Any]:
    path = folder / "pyproject.toml"
    if not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} can't be read: {error}") from error
    values = table.get("tool", {}).get(TABLE, {})
    return values if isinstance(values, dict) else {}


def _from_environment() -> dict[str, Any]:
    found = {
        name.removeprefix(PREFIX).lower(): value
        for name, value in os.environ.items()
        if name.startswith(PREFIX)
    }
    return {
        name: tuple(value.split(",")) if _is_list(Options.model_fields.get(name)) else value
        for name, value in found.items()
    }


def _is_list(field: FieldInfo | None) -> bool:
    return field is not None and isinstance(field.default, tuple)

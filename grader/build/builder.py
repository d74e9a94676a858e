"""Build of one submission: its own load_inline call in a guest, and evidence from the log."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from grader.build import host_fault
from grader.build.driver import conditions
from grader.build.driver.tools import STOCK_WAY
from grader.build.guest_environment import DeviceKind, Mode, environment
from grader.build.lacking import say_what_lacks
from grader.build.on_demand import prepared_for
from grader.build.prepare import Prepared
from grader.build.programs import programs
from grader.build.workspace import FILES, BuildWorkspace
from grader.errors import GraderError
from grader.records import Build, JsonValue, Submission, Task, digest
from grader.sandbox import Form, Limits
from grader.source import parse
from grader.source.analysis.foreign_memory import IN_EXTENSION, RUNTIME
from grader.store import grader_version, touch

STOCK_TIMES = 3
"""Factor on the time limit of a program that only the stock compilers can build (`driver.conditions`)."""
_RECORD = "build.json"


def build_key(
    submission: Submission, prepared: Prepared, device: str, mode: str, arch: str | None
) -> str:
    """Return the content address of a build: program, tools, torch, device and mode.

    It includes the drivers' folder, since ninja rebuilds an extension whose compiler has another path.
    """
    tools = asdict(prepared.toolchain)
    names = ("torch_version", "nvcc_version", "gxx_version", "zig_version", "torch", "cuda_home")
    stamp = [f"{name}={tools[name]}" for name in names]
    ours = grader_version("build", "guest", "languages", "simulator/ptx")
    drivers = str(programs(prepared.folder, prepared.toolchain))
    where = (prepared.address, drivers, device, mode, arch or "", ours)
    return digest("build", submission.key, *where, *stamp, *sorted(IN_EXTENSION), RUNTIME)[:40]


def artifact(artifact_dir: Path, build: Build) -> Path:
    """Return the folder of a build's extensions, for `GuestJob.artifact`."""
    return artifact_dir / build.key / FILES


def build(
    submission: Submission,
    *,
    device: DeviceKind,
    mode: Mode = "fast",
    form: Form,
    limits: Limits,
    prepared: Prepared,
    artifact_dir: Path,
    arch: str | None = None,
    init: tuple[np.ndarray | JsonValue, ...] | None = None,
    options: Mapping[str, JsonValue] | None = None,
    preload: tuple[Path, ...] = (),
    jobs: int = 2,
) -> Build:
    """Compile a submission by its own call of load_inline in a sandboxed guest.

    The outcome is kept below `artifact_dir` by content; a repeated build only reads it. A submission that compiles
    nothing at import is built by constructing its `ModelNew` with `init`, where that is given. A program that the
    compilers refuse has failed, even if it catches the exception, unless another attempt made an extension. A failure
    that may be this machine's is retried after a known program has been built.

    A draft that builds is kept as the `fast` build; one that fails is only the quick compilers' result, and isn't kept.

    Raises:
        GraderError: the compilers or the disk of this machine fail.

    """
    draft = mode in {"draft", "exact", "literal"}
    kept_as: Mode = "fast" if draft else mode
    key = build_key(submission, prepared, device, kept_as if mode == "draft" else mode, arch)
    folder = artifact_dir / key
    if kept := read_record(folder / _RECORD):
        touch(folder)
        return kept
    try:
        place = environment(prepared_for(prepared, submission.code), device, mode, arch, jobs)
        artifact_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GraderError(f"can't build in {artifact_dir}: {error.strerror}") from error
    bench = BuildWorkspace(device, kept_as, form, place, artifact_dir, dict(options or {}), preload)
    if for_stock_compilers(submission.code):
        limits = replace(limits, wall=STOCK_TIMES * limits.wall)
    with bench.scratch() as scratch:
        made = bench.build(submission, init, limits, scratch)
        if draft and made.status != "built":
            return made
        if sign := host_fault.sign(made):
            bench.confirm(sign)
            left = host_fault.seconds_of_second_try(limits.wall, made.seconds)
            shutil.rmtree(scratch / FILES, ignore_errors=True)
            made = bench.build(submission, init, replace(limits, wall=left), scratch)
        gap = say_what_lacks(made.log, submission.code, prepared.toolchain)
        lacking = made.status == "failed" and gap
        return _without_verdict(made, gap) if lacking else _keep(made, scratch, folder, key)


def _without_verdict(made: Build, gap: str) -> Build:
    """Return a build that failed because this machine lacks something: not the program's failure, and not kept."""
    blank = {"status": "grader_error", "reason": gap, "errors": (), "warnings": ()}
    return made.model_copy(update=blank)


def stock_way(build: Build) -> bool:
    """Whether the stock compilers took part in deciding a build."""
    return STOCK_WAY in build.log


def for_stock_compilers(code: str) -> bool:
    """Whether a condition in one of its C++ or CUDA texts is for the stock compilers alone.

    Where no such text is found, the whole program is searched, in which a Python comment may look like a condition.
    """
    texts = [unit.text for unit in parse(code).units] or [code]
    return any(conditions.asked_by(text) for text in texts)


def read_record(path: Path) -> Build | None:
    """Return the outcome stored in a file; None where there is none."""
    try:
        return Build.model_validate_json(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def record_of_call(artifact_dir: Path, build: Build, task: Task) -> Path:
    """Return the file for a build's outcome after the program was called on this task."""
    return artifact_dir / build.key / f"called-{digest(task.key)[:16]}.json"


def write_record(path: Path, made: Build) -> Build:
    """Store an outcome in a file, if the disk allows it, and return it."""
    with contextlib.suppress(OSError):
        path.write_text(made.model_dump_json(), "utf-8")
    return made


def _keep(made: Build, scratch: Path, folder: Path, key: str) -> Build:
    """Move the outcome to its content address; only reproducible outcomes are kept."""
    if made.status not in {"built", "failed"}:
        return made
    if made.status == "built":
        made = made.model_copy(update={"key": key})
    (scratch / _RECORD).write_text(made.model_dump_json(), "utf-8")
    try:
        scratch.rename(folder)
    except OSError:
        if read_record(folder / _RECORD) is None:
            raise GraderError(f"can't keep a build in {folder}", "Check the disk.") from None
    return made

"""One submission to a build: its own load_inline call in a guest, its log to evidence."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from grader.build import host_fault
from grader.build import log as logs
from grader.build.admission import ADMISSION
from grader.build.driver import conditions, refusals
from grader.build.driver.tools import LOG, STOCK_WAY
from grader.build.guest_environment import DeviceKind, Environment, Mode, environment
from grader.build.imports import imports
from grader.build.lacking import lacking
from grader.build.on_demand import prepared_for
from grader.build.prepare import Prepared
from grader.errors import GraderError
from grader.records import Build, Evidence, JsonValue, Submission, digest
from grader.rules.reaching import IN_TEXT_AND_EXTENSION
from grader.sandbox import Form, GuestJob, GuestReply, Limits, converse
from grader.source import Source
from grader.source import parse as parse_source
from grader.store import grader_version, touch

LOG_LIMIT = 200_000
ARTIFACT = 128 << 20
"""Bytes of a build's files that are kept; an ordinary one has a few million."""
STOCK_TIMES = 3
"""So much more time has a program that only the stock compilers can build (`driver.conditions`)."""
DRAFT = "building-"
"""What the folder of an unfinished build is called."""
_RECORD = "build.json"
_FILES = "extensions"


def build_key(
    submission: Submission, prepared: Prepared, device: str, mode: str, arch: str | None
) -> str:
    """Return the content address of a build: program, tools, torch, device and how."""
    tools = asdict(prepared.toolchain)
    names = ("torch_version", "nvcc_version", "gxx_version", "zig_version", "torch", "cuda_home")
    stamp = [f"{name}={tools[name]}" for name in names]
    ours = grader_version("build", "guest", "simulator/ptx")
    where = (prepared.address, device, mode, arch or "", ours)
    return digest("build", submission.key, *where, *stamp, *sorted(IN_TEXT_AND_EXTENSION))[:40]


def artifact(artifact_dir: Path, build: Build) -> Path:
    """Return the folder of a build's extensions, for `GuestJob.artifact`."""
    return artifact_dir / build.key / _FILES


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

    The outcome is kept below `artifact_dir` by content; the same build again only reads it. A
    submission that compiles nothing at import is built by constructing its `ModelNew` with `init`,
    where that is given. What the compilers refuse has failed, though a handler of the submission's
    goes on, unless another try made an extension. A failure that may be this machine's is tried
    again once a known program has been built.

    A draft that builds is the `fast` build, and kept as such; one that fails is the quick compilers'
    word only, and isn't kept.

    Raises:
        GraderError: the compilers or the disk of this machine fail.

    """
    kept_as: Mode = "fast" if mode == "draft" else mode
    key = build_key(submission, prepared, device, kept_as, arch)
    folder = artifact_dir / key
    if kept := _read(folder):
        return kept
    try:
        place = environment(prepared_for(prepared, submission.code), device, mode, arch, jobs)
        artifact_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GraderError(f"can't build in {artifact_dir}: {error.strerror}") from error
    bench = Bench(device, kept_as, form, place, artifact_dir, dict(options or {}), preload)
    if conditions.asked_by(submission.code):
        limits = replace(limits, wall=STOCK_TIMES * limits.wall)
    with bench.scratch() as scratch:
        made = bench.build(submission, init, limits, scratch)
        if mode == "draft" and made.status != "built":
            return made
        if sign := host_fault.sign(made):
            bench.confirm(sign)
            left = max(limits.wall - made.seconds, limits.wall / 10)
            shutil.rmtree(scratch / _FILES, ignore_errors=True)
            made = bench.build(submission, init, replace(limits, wall=left), scratch)
        gap = lacking(made.log, submission.code, prepared.toolchain)
        if made.status == "failed" and gap:
            return made.model_copy(update={"status": "grader_error", "reason": gap})
        return _keep(made, scratch, folder, key)


def stock_way(build: Build) -> bool:
    """Whether the quick compilers alone did not decide a build."""
    return STOCK_WAY in build.log


@dataclass(frozen=True)
class Bench:
    """Where and how programs are compiled; keeps nothing of them."""

    device: DeviceKind
    mode: Mode
    form: Form
    place: Environment
    artifact_dir: Path
    options: dict[str, JsonValue]
    preload: tuple[Path, ...]

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """Yield a folder of one build."""
        folder = Path(tempfile.mkdtemp(prefix=DRAFT, dir=self.artifact_dir))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def build(
        self,
        submission: Submission,
        init: tuple[np.ndarray | JsonValue, ...] | None,
        limits: Limits,
        scratch: Path,
    ) -> Build:
        """Compile a program in a guest; its extensions come to a folder of the scratch folder."""
        files = scratch / _FILES
        job = GuestJob(
            role="submission",
            code=submission.code,
            entry="ModelNew",
            device=self.device,
            build_only=True,
            keep_artifact=files,
            env=self.place.variables,
            read_only=(*self.place.read_only, *_libraries(self.options)),
            preload=self.preload,
            options=self.options,
        )
        limits = replace(limits, output=ARTIFACT)
        with ADMISSION.turn():
            reply = converse(job, self.form, limits)
            nothing = not _extensions(files) and not _refused(files)
            lazy = reply.status == "done" and nothing and _compiles(submission.code)
            if lazy and init is not None:
                reply = _construct(job, init, self.form, limits, reply)
        return _outcome(reply, submission, files, self.device, self.mode, lazy=lazy)

    def confirm(self, sign: str) -> None:
        """Raise GraderError unless a program that must build does, here and now."""
        with self.scratch() as scratch:
            made = self.build(host_fault.PROGRAM, None, Limits(wall=host_fault.WALL), scratch)
        if made.status != "built":
            raise GraderError(
                f"the compilers don't work on this machine now: {sign}",
                "see --doctor; check disk and memory",
            )


def _libraries(options: Mapping[str, JsonValue]) -> tuple[Path, ...]:
    """Return the folders of the libraries that the guest's options name."""
    named = (options.get(name) for name in ("library", "torch_library"))
    return tuple(Path(path).parent for path in named if isinstance(path, str))


def _construct(
    job: GuestJob,
    init: tuple[np.ndarray | JsonValue, ...],
    form: Form,
    limits: Limits,
    imported: GuestReply,
) -> GuestReply:
    """Build what is compiled on construction; other failures there belong to the run."""
    if job.keep_artifact is not None:
        shutil.rmtree(job.keep_artifact, ignore_errors=True)
    reply = converse(replace(job, init=init), form, limits)
    if reply.status == "raised" and reply.stage == "construct" and not _is_build_error(reply):
        return imported
    return reply


def _compiles(code: str) -> bool:
    return "load_inline" in code or "cpp_extension" in code


def _extensions(files: Path) -> list[Path]:
    return sorted(files.rglob("*.so")) if files.is_dir() else []


def _refused(files: Path) -> list[str]:
    """Return what the compilers said each time that they refused something."""
    notes = files / refusals.FOLDER
    paths = sorted(notes.iterdir()) if notes.is_dir() else []
    return [path.read_text("utf-8", "replace") for path in paths]


def _is_build_error(reply: GuestReply) -> bool:
    told = ("Error building extension", "undefined symbol", "ninja", "Ninja is required")
    return any(text in reply.reason for text in told)


def _outcome(
    reply: GuestReply,
    submission: Submission,
    files: Path,
    device: DeviceKind,
    mode: Mode,
    *,
    lazy: bool,
) -> Build:
    source = parse_source(submission.code)
    log = _log(reply, files)
    status = {
        "done": "built",
        "raised": "failed",
        "timeout": "timeout",
        "grader_error": "grader_error",
    }.get(reply.status, "crashed")
    errors = _errors(reply, log, source) if reply.status != "done" else ()
    hidden = _refused(files) if status == "built" and not _extensions(files) else []
    if hidden:
        status, errors = "failed", logs.parse("\n".join(hidden), source)
    return Build.model_validate(
        {
            "status": status,
            "device": device,
            "mode": mode,
            "errors": errors,
            "warnings": (*logs.warnings(log, source), *imports(files)),
            "resources": logs.resources(log),
            "log": log,
            "reason": "" if status == "built" else _reason(reply, errors),
            "seconds": reply.seconds,
            "lazy": lazy,
        }
    )


def _log(reply: GuestReply, files: Path) -> str:
    """Return what the compilers printed; torch drops it on success, our own log has it."""
    kept = [path.read_text("utf-8", "replace") for path in sorted(files.rglob(LOG))]
    elsewhere = [one for one in _refused(files) if not any(one in log for log in kept)]
    parts = [*kept, *elsewhere, reply.log]
    if reply.status == "raised":
        parts.append(reply.reason)
    text = "\n".join(part for part in dict.fromkeys(parts) if part.strip())
    if len(text) <= LOG_LIMIT:
        return text
    half = LOG_LIMIT // 2
    return f"{text[:half]}\n[... {len(text) - LOG_LIMIT} characters left out ...]\n{text[-half:]}"


def _errors(reply: GuestReply, log: str, source: Source) -> tuple[Evidence, ...]:
    errors = logs.parse(log, source)
    if errors or reply.status != "raised":
        return errors
    lines = len(source.lines)
    at = reply.line if reply.line and reply.line <= lines else None
    return (
        Evidence(
            kind="python",
            code=reply.reason.partition(":")[0].strip()[:80] or "exception",
            text=reply.reason.splitlines()[0][:500] if reply.reason else "An exception was raised.",
            place=source.line_place(at) if at else None,
            data={"traceback": reply.traceback[-4000:], "stage": reply.stage},
        ),
    )


def _reason(reply: GuestReply, errors: tuple[Evidence, ...]) -> str:
    if reply.status in {"raised", "done"} and errors:
        return errors[0].text
    if reply.status == "done":
        return "a compiler refused it, and a handler went on"
    return reply.reason.splitlines()[0][:500] if reply.reason else reply.status


def _read(folder: Path) -> Build | None:
    path = folder / _RECORD
    try:
        made = Build.model_validate_json(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    touch(folder)
    return made


def _keep(made: Build, scratch: Path, folder: Path, key: str) -> Build:
    """Move the outcome to its place by content; only what would come out the same again is kept."""
    if made.status not in {"built", "failed"}:
        return made
    if made.status == "built":
        made = made.model_copy(update={"key": key})
    (scratch / _RECORD).write_text(made.model_dump_json(), "utf-8")
    try:
        scratch.rename(folder)
    except OSError:
        if _read(folder) is None:
            raise GraderError(f"can't keep a build in {folder}", "Check the disk.") from None
    return made

"""The outcome of a build, from a guest's answer and its files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from grader.build import log as logs
from grader.build.driver import refusals
from grader.build.driver.tools import LOG
from grader.build.guest_environment import DeviceKind, Mode
from grader.build.imports import imports
from grader.languages import CompilerException, diagnose
from grader.records import Build, Evidence, Raised, Submission
from grader.sandbox import GuestReply
from grader.source import Source
from grader.source import parse as parse_source

LOG_LIMIT = 200_000
NOTE_BYTES = 100_000
"""Most bytes read of a note on a Python compiler's refusal, above the length that our guests write
(grader/guest/triton_refusals.py)."""


def extensions(files: Path) -> list[Path]:
    """Return the extensions among a build's files."""
    return sorted(files.rglob("*.so")) if files.is_dir() else []


def read_refusals(files: Path) -> list[str]:
    """Return the compilers' output for each refused compilation."""
    notes = files / refusals.FOLDER
    paths = sorted(notes.iterdir()) if notes.is_dir() else []
    return [path.read_text("utf-8", "replace") for path in paths]


def is_build_error(reply: GuestReply) -> bool:
    """Whether a program's exception is about compiling or loading an extension."""
    told = ("Error building extension", "undefined symbol", "ninja", "Ninja is required")
    return any(text in reply.reason for text in told)


def outcome(
    reply: GuestReply,
    submission: Submission,
    files: Path,
    device: DeviceKind,
    mode: Mode,
    *,
    lazy: bool,
) -> Build:
    """Return the build described by a guest's answer and files; `lazy`: it compiles in a call."""
    source = parse_source(submission.code)
    log = _log(reply, files)
    status = {
        "done": "built",
        "raised": "failed",
        "timeout": "timeout",
        "grader_error": "grader_error",
    }.get(reply.status, "crashed")
    errors = _errors(reply, log, source) if reply.status != "done" else ()
    hidden = read_refusals(files) if status == "built" and not extensions(files) else []
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


def after_call(
    build: Build,
    replies: Sequence[GuestReply],
    deciding: Collection[str],
    submission: Submission,
    files: Path,
) -> Build:
    """Return a build with the extensions compiled in calls; failed where a compilation on a deciding workload was refused."""
    source = parse_source(submission.code)
    said = [build.log, *(reply.log for reply in replies[:-1])]
    said += [_log(reply, files) for reply in replies[-1:]]
    log = _cut_middle("\n".join(part for part in said if part.strip()))
    raised = [
        CompilerException(one.reason, one.traceback, one.line, reply.log)
        for reply in replies
        for one in reply.results
        if one.status == "raised" and one.name in deciding
    ]
    if not any(files.rglob("*.cubin")):
        raised += _caught_refusals(files, log)
    refusals = (diagnose(source, one) for one in raised)
    refusal = next((one for one in refusals if one is not None), None)
    failed = {"status": "failed", "errors": (refusal,), "reason": refusal.text} if refusal else {}
    compiled = {"log": log, "resources": logs.resources(log)}
    return build.model_copy(update={**compiled, **failed})


def _caught_refusals(files: Path, log: str) -> list[CompilerException]:
    """Return the refusals of a Python compiler, as noted by guests, since the submission may have caught the exception."""
    notes = sorted(files.glob("triton/refused/*.txt"))[:20]
    texts = (_read_beginning(path).partition("\0") for path in notes)
    return [CompilerException(reason, traced, None, log) for reason, _, traced in texts]


def _read_beginning(path: Path) -> str:
    """Return the beginning of a note, no longer than our guests write, since the submission could write to the file."""
    with path.open("rb") as file:
        return file.read(NOTE_BYTES).decode("utf-8", "replace")


def _log(reply: GuestReply, files: Path) -> str:
    """Return the compilers' output; torch drops it on success, so our own log is used."""
    kept = [path.read_text("utf-8", "replace") for path in sorted(files.rglob(LOG))]
    elsewhere = [one for one in read_refusals(files) if not any(one in log for log in kept)]
    parts = [*kept, *elsewhere, reply.log]
    if reply.status == "raised":
        parts.append(reply.reason)
    text = "\n".join(part for part in dict.fromkeys(parts) if part.strip())
    return _cut_middle(text)


def _cut_middle(text: str) -> str:
    if len(text) <= LOG_LIMIT:
        return text
    half = LOG_LIMIT // 2
    return f"{text[:half]}\n[... {len(text) - LOG_LIMIT} characters left out ...]\n{text[-half:]}"


def _errors(reply: GuestReply, log: str, source: Source) -> tuple[Evidence, ...]:
    exception = CompilerException(reply.reason, reply.traceback, reply.line, reply.log)
    raised = diagnose(source, exception) if reply.status == "raised" else None
    errors = (raised,) if raised is not None else logs.parse(log, source)
    if errors or reply.status != "raised":
        return errors
    lines = len(source.lines)
    at = reply.line if reply.line and reply.line <= lines else None
    said = reply.reason.splitlines()[0][:500] if reply.reason else "An exception was raised."
    return (
        Evidence(
            kind="python",
            code=reply.reason.partition(":")[0].strip()[:80] or "exception",
            text=said,
            place=source.line_place(at) if at else None,
            details=Raised(said=said, traceback=reply.traceback[-4000:], stage=reply.stage),
        ),
    )


def _reason(reply: GuestReply, errors: tuple[Evidence, ...]) -> str:
    if reply.status in {"raised", "done"} and errors:
        return errors[0].text
    if reply.status == "done":
        return "a compiler refused it, and the program caught the exception"
    return reply.reason.splitlines()[0][:500] if reply.reason else reply.status

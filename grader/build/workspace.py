"""The workspace in which programs are compiled: their own load_inline calls, in guests."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from grader.build import host_fault
from grader.build.admission import ADMISSION
from grader.build.guest_environment import DeviceKind, Environment, Mode
from grader.build.outcome import extensions, is_build_error, outcome, read_refusals
from grader.errors import GraderError
from grader.languages import asks_a_compiler, compiles_when_launched
from grader.records import Build, JsonValue, Submission
from grader.sandbox import Form, GuestJob, GuestReply, Limits, converse
from grader.source import parse

ARTIFACT = 128 << 20
"""Most bytes of a build's files; an ordinary build has a few million."""
DRAFT = "building-"
"""Prefix of the folder of an unfinished build."""
FILES = "extensions"
"""Name of the folder of a build's extensions."""


@dataclass(frozen=True)
class BuildWorkspace:
    """Compiles programs in guests, with the settings for one device; keeps no state between builds."""

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
        """Compile a program in a guest; its extensions are written to a folder in the scratch folder."""
        files = scratch / FILES
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
            nothing = not extensions(files) and not read_refusals(files)
            lazy = reply.status == "done" and nothing and asks_a_compiler(submission.code)
            if lazy and init is not None:
                reply = _construct(job, init, self.form, limits, reply)
            launched = compiles_when_launched(parse(submission.code))
            lazy = lazy or (reply.status == "done" and launched)
        return outcome(reply, submission, files, self.device, self.mode, lazy=lazy)

    def confirm(self, sign: str) -> None:
        """Raise GraderError unless a program that must build builds now."""
        with self.scratch() as scratch:
            made = self.build(host_fault.PROGRAM, None, Limits(wall=host_fault.WALL), scratch)
        if made.status != "built":
            raise GraderError(
                f"the compilers don't work on this machine at present: {sign}",
                "see --doctor; check disk and memory",
            )


def _libraries(options: Mapping[str, JsonValue]) -> tuple[Path, ...]:
    """Return the folders of the libraries in the guest's options."""
    named = (options.get(name) for name in ("library", "torch_library"))
    return tuple(Path(path).parent for path in named if isinstance(path, str))


def _construct(
    job: GuestJob,
    init: tuple[np.ndarray | JsonValue, ...],
    form: Form,
    limits: Limits,
    imported: GuestReply,
) -> GuestReply:
    """Build code that is compiled on construction; other failures there belong to the run."""
    if job.keep_artifact is not None:
        shutil.rmtree(job.keep_artifact, ignore_errors=True)
    reply = converse(replace(job, init=init), form, limits)
    if reply.status == "raised" and reply.stage == "construct" and not is_build_error(reply):
        return imported
    return reply

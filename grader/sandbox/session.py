"""One job with one guest, from its start to the death of its last process."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from grader.errors import GraderError
from grader.guest.kinds import STAGES
from grader.guest.protocol import Frame, ProtocolError
from grader.records import RunStatus, digest
from grader.sandbox import arrays
from grader.sandbox.channel import GuestEndedError, GuestGreedyError, GuestLateError, HostChannel
from grader.sandbox.files import write_file
from grader.sandbox.fork_server import forget, shared_server
from grader.sandbox.form import Form, Guest, Plan
from grader.sandbox.job import GuestJob, GuestOutput, GuestReply, GuestResult, GuestWorkload
from grader.sandbox.job_frames import job_frames, settings_frame
from grader.sandbox.limits import Limits, crowding
from grader.sandbox.stopwatch import attach
from grader.sandbox.trial import holds_warm
from grader.sandbox.usage import memory_kills

SHORT_OF_MEMORY = (
    "the machine ran out of memory, and its kernel ended the guest: "
    "grade fewer at once (--jobs), or give guests less (--memory-gb)"
)
DYING = 2.0
"""Seconds for a guest to end by itself after its channel is closed."""
REPORTING = 30.0
"""Seconds for a tool around a guest to print its report, after the guest is done."""


Then = Callable[[HostChannel, float], None]
"""Callback after the workloads, with the channel and the guest's deadline."""


def converse(
    job: GuestJob,
    form: Form,
    limits: Limits,
    *,
    warm: bool = True,
    timed: bool = False,
    then: Then | None = None,
) -> GuestReply:
    """Run a job in a new guest and return its reply.

    Blocks until no process of the guest is left. Never raises for a guest's fault, which is the reply's `status`. Where
    the sandbox itself fails the status is `grader_error`. `warm` lets the guest be forked from a parent that has
    imported torch, where that works; `then` goes on with the channel where the workloads end, and `timed` gives that
    channel a clock.
    """
    plan = Plan(limits, job.device, job.read_only, digest("slot", job.code)[:24], job.under)
    try:
        outgoing = job_frames(job)
        guest = start(
            form,
            plan,
            warm=warm and not job.under,
            libraries=_simulator_of(job),
            more=_loaded_beside_torch(job),
        )
        if timed:
            attach(guest)
    except (GraderError, OSError, ValueError) as error:
        return GuestReply("grader_error", str(error), sandbox=form.name)
    started = time.monotonic()  # the fork server's loading is not the guest's time
    conversation = Conversation(job, guest, limits, started, then)
    try:
        reply = conversation.run(outgoing)
    except (OSError, MemoryError, ValueError, GraderError) as error:
        reply = conversation.reply("grader_error", f"{type(error).__name__}: {error}")
    finally:
        guest.kill()
        conversation.channel.close()
        guest.close()
    log = conversation.channel.log.text()
    if reply.status == "grader_error" and log.strip():
        reply = replace(reply, reason=f"{reply.reason}: {log.strip().splitlines()[-1][:500]}")
    return replace(
        reply,
        log=log,
        seconds=time.monotonic() - started,
        sandbox=form.name,
    )


def start(
    form: Form,
    plan: Plan,
    *,
    warm: bool,
    libraries: tuple[str, ...] = (),
    more: tuple[str, ...] = (),
) -> Guest:
    """Start a guest, through the fork server where that works for this form, else as a new process.

    `libraries` are the simulator's, where the guest will load them, and `more` what else it will.
    """
    fork_server = shared_server(libraries, more) if warm and holds_warm(form) else None
    if fork_server is not None:
        try:
            return form.start(plan, fork_server)
        except GraderError:
            forget(fork_server)
    return form.start(plan)


def _loaded_beside_torch(job: GuestJob) -> tuple[str, ...]:
    """Return the libraries that the fork server loads, since a guest would need a second for them."""
    shapes = job.describe or "gradients" in job.options
    exact = ("exact",) if "exact" in job.options else ()
    return (("triton",) if job.options.get("triton") else ()) + (("shapes",) if shapes else exact)


def _simulator_of(job: GuestJob) -> tuple[str, ...]:
    """Return the libraries of the simulator that a job names."""
    if job.device != "sim":
        return ()
    named = (job.options.get(name) for name in ("library", "torch_library"))
    libraries = tuple(path for path in named if isinstance(path, str))
    return libraries if len(libraries) == 2 else ()


class Conversation:
    """The host's side of the protocol, in order; keeps the partial results."""

    def __init__(
        self,
        job: GuestJob,
        guest: Guest,
        limits: Limits,
        started: float,
        then: Then | None = None,
    ) -> None:
        self._job = job
        self._then = then
        self._guest = guest
        self._limits = limits
        self._longer = crowding()
        self._end = started + limits.wall * self._longer
        self._start_end = started + min(limits.start, limits.wall) * self._longer
        self._hostile = False
        self._kills_before = memory_kills()
        self._so_far: dict[str, Any] = {}
        self._results: list[GuestResult] = []
        self.channel = HostChannel(guest, limits)

    def run(self, outgoing: Sequence[Frame]) -> GuestReply:
        """Run the conversation until the guest is done or fails, and return which."""
        try:
            self._greet(outgoing)
            return self._work()
        except ProtocolError as error:
            return self.reply("crashed", f"broke the protocol: {error}")
        except GuestGreedyError as error:
            return self.reply("killed", f"used {error}", out_of_memory="memory" in str(error))
        except GuestLateError:
            return self._late()
        except GuestEndedError:
            return self._reply_died()

    def reply(self, status: Any, reason: str = "", **more: Any) -> GuestReply:
        """Return a reply with the partial results; workloads not reached are `not_run`."""
        missing = self._job.workloads[len(self._results) :]
        results = [
            *self._results,
            *(GuestResult(w.name, "not_run", "not reached") for w in missing),
        ]
        if not self._hostile and status != "done":
            # No code of the submission has run yet, so the failure is the grader's own.
            status = "grader_error"
        return GuestReply(status, reason, results=tuple(results), **{**self._so_far, **more})

    def _greet(self, outgoing: Sequence[Frame]) -> None:
        """Do everything that precedes the first line of the submission."""
        guest = self._guest
        self.channel.send(Frame("confine", guest.confine), Frame("filter", {}, guest.filter))
        self.channel.receive(self._start_end, "hello")
        self.channel.send(outgoing[0], settings_frame(self._job, guest.scratch), *outgoing[1:])
        self.channel.receive(self._start_end, "loaded")
        self.channel.receive(self._start_end, "stage")
        self._hostile = True

    def _work(self) -> GuestReply:
        frame = self._after_stages("ready", "raised", "described")
        if frame.kind == "raised":
            return self._reply_raised(frame)
        if frame.kind == "described":
            return self.reply("done", description=_json(frame.body))
        names = frame.header["state"]
        state = {name: self._tensor(self._end) for name in names}
        self._so_far.update(loaded=frame.header["loaded"], state=state)
        for workload in self._job.workloads:
            self._results.append(self._spare_workload(workload) or self._call(workload))
        if self._then is not None:
            self._then(self.channel, self._end)
        if self._job.keep_artifact is not None:
            self._keep(self._job.keep_artifact)
        self.channel.send(Frame("end"))
        changed = set(self.channel.receive(self._end, "changed").header["workloads"])
        self._results = [
            replace(result, changed_later=result.name in changed) for result in self._results
        ]
        self.channel.receive(self._end, "done")
        if self._job.under:
            self.channel.linger(REPORTING)
        return self.reply("done")

    def _after_stages(self, *kinds: str, deadline: float | None = None) -> Frame:
        """Return the first frame that isn't a stage; remember the last stage that started."""
        while True:
            frame = self.channel.receive(deadline or self._end, *kinds, "stage")
            if frame.kind != "stage":
                return frame
            before = self._so_far.get("stage", STAGES[0])
            if STAGES.index(frame.header["stage"]) < STAGES.index(before):
                raise ProtocolError("a stage that was over")
            self._so_far["stage"] = frame.header["stage"]

    def _reply_raised(self, frame: Frame) -> GuestReply:
        header = frame.header
        self._so_far["stage"] = header["stage"]
        return self.reply(
            "raised",
            header["reason"],
            traceback=header["traceback"],
            line=header["line"],
            out_of_memory=header["out_of_memory"],
        )

    def _tensor(self, deadline: float) -> np.ndarray:
        return arrays.from_frame(self.channel.receive(deadline, "tensor"))

    def _call(self, workload: GuestWorkload) -> GuestResult:
        """Run one workload; its clock starts when its last input byte has left."""
        values, tensors = arrays.split_tensors(workload.args)
        header = {
            "name": workload.name[:500],
            "tensors": len(tensors),
            "rows": workload.rows,
            "at": workload.at,
        }
        self.channel.send(Frame("workload", header, json.dumps(values).encode()), *tensors)
        self.channel.flush(self._end)
        started = time.monotonic()
        deadline = min(self._end, started + (workload.deadline or float("inf")) * self._longer)
        try:
            answer = self._answer(started, deadline)
        except GuestLateError:
            self._note_unfinished(
                workload, "timeout", f"no answer within {deadline - started:.1f} s"
            )
            raise
        except (ProtocolError, GuestEndedError, GuestGreedyError):
            self._note_unfinished(workload, "crashed", "the process ended or broke the protocol")
            raise
        return _result_of(workload.name, *answer)

    def _spare_workload(self, workload: GuestWorkload) -> GuestResult | None:
        """Skip a workload that would not end in time, by the times of others."""
        if not workload.spare:
            return None
        needs = foreseen_seconds(workload, self._job.workloads, self._results)
        if time.monotonic() + needs <= self._end:
            return None
        reason = f"left out: it would take about {needs:.0f} s, and there is less"
        return GuestResult(workload.name, "not_run", reason, spared=True)

    def _answer(self, started: float, deadline: float) -> tuple[Frame, list[GuestOutput], float]:
        """Receive one workload's result, its outputs, and the seconds until then."""
        frame = self._after_stages("result", deadline=deadline)
        seconds = time.monotonic() - started
        outputs = [
            arrays.output_of(self.channel.receive(deadline, "output"))
            for _ in range(frame.header["outputs"])
        ]
        return frame, outputs, seconds

    def _note_unfinished(self, workload: GuestWorkload, status: RunStatus, reason: str) -> None:
        self._results.append(GuestResult(workload.name, status, reason))

    def _keep(self, folder: Path) -> None:
        """Write the built extensions below `folder`, from frames."""
        self.channel.send(Frame("keep", {"limit": self._limits.output}))
        frame = self.channel.receive(self._end, "files")
        self._so_far["skipped_files"] = tuple(frame.header["skipped"])
        folder.mkdir(parents=True, exist_ok=True)
        for _ in range(frame.header["count"]):
            write_file(folder, self.channel.receive(self._end, "file"))

    def _late(self) -> GuestReply:
        return self.reply("timeout", f"not done within {self._limits.wall * self._longer:.0f} s")

    def _reply_died(self) -> GuestReply:
        """Return a reply on the end of the process, from its exit status."""
        status = self._guest.wait(DYING)
        if status is None:
            return self.reply("crashed", "closed its channel and went on running")
        if status < 0:
            name = signal.Signals(-status).name
            if -status == signal.SIGXCPU:
                return self.reply("timeout", "used up its CPU time", exit_signal=-status)
            kind = "killed" if -status == signal.SIGKILL else "crashed"
            if kind == "killed" and memory_kills() > self._kills_before:
                return self.reply("grader_error", SHORT_OF_MEMORY, exit_signal=-status)
            return self.reply(kind, f"ended by {name}", exit_signal=-status)
        return self.reply("crashed", f"ended early with exit status {status}")


def _result_of(name: str, frame: Frame, outputs: list[GuestOutput], seconds: float) -> GuestResult:
    said = frame.header
    return GuestResult(
        name=name,
        status=said["status"],
        reason=said["reason"],
        outputs=tuple(outputs),
        structure=said["structure"],
        mutated_inputs=tuple(said["mutated"]),
        report=_json(frame.body),
        seconds=seconds,
        traceback=said["traceback"],
        line=said["line"],
    )


def _json(body: bytes | bytearray | memoryview) -> Any:
    """Parse a guest's report; raises ProtocolError for invalid JSON."""
    try:
        return json.loads(bytes(body)) if body else None
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a report that is no JSON: {str(error)[:200]}") from None


def foreseen_seconds(
    workload: GuestWorkload, asked: Sequence[GuestWorkload], results: Sequence[GuestResult]
) -> float:
    """Predict a workload's seconds: those of one of its size, or scaled by elements from the largest one."""
    took = [
        (other.elements, result.seconds)
        for other, result in zip(asked, results, strict=False)
        if other.elements and result.status == "ran"
    ]
    as_large = [seconds for size, seconds in took if size >= workload.elements]
    if as_large or not took:
        return min(as_large, default=0.0)
    size, seconds = max(took)
    return seconds * workload.elements / size

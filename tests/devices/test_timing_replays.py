"""What a timed guest showed, measured again: on the simulator, whose guests answer the same orders."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from grader import sandbox
from grader.devices import Device
from grader.devices.cuda.timing import Match
from grader.devices.cuda.timing_checks import Checks, Doubt
from grader.devices.cuda.timing_replays import PLAIN, Replays, failed_run
from grader.devices.cuda.timing_worker import TimingWorker, WorkerGoneError
from grader.devices.guests import GuestDevice
from grader.devices.timed import Timed
from grader.records import Task, TensorSpec, Workload
from grader.sandbox import GuestJob

REFERENCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.prod(x, dim=1, keepdim=True)
"""
HEAD = "import sys, torch\nWATCHED = sys.argv == ['guest']\ncalls = []\n"
WORKLOAD = Workload(
    name="full",
    role="full",
    inputs=(TensorSpec(shape=(16, 100), distribution="uniform", low=0.5, high=2.0),),
)
TASK = Task(name="t", title="t", source="file", reference=REFERENCE, workloads=(WORKLOAD,))


def program(*lines: str) -> str:
    body = "".join(f"        {line}\n" for line in lines)
    return f"{HEAD}class ModelNew(torch.nn.Module):\n    def forward(self, x):\n{body}"


RIGHT = "torch.prod(x.flip(1), dim=1).unsqueeze(1)"


class Court:
    """The guests of one program, and what comes of what it shows in a timed one."""

    def __init__(self, device: GuestDevice, code: str, workload: Workload) -> None:
        task = TASK.model_copy(update={"workloads": (workload,)})
        self.device, self.match = (
            device,
            Match(task, workload, 1 << 30, lambda turn: 7 + 10**6 * turn),
        )
        base = GuestJob("submission", code, "ModelNew", "sim", init=(), seed=3)
        base = replace(base, options=device.guest_options())
        self.timed = self.worker(base)
        self.eager = self.worker(replace(base, role="reference", code=REFERENCE, entry="Model"))
        plain = replace(base, options={**base.options, "plain": True})
        double = replace(base, role="reference", code=REFERENCE, entry="Model", double=True)
        self.replays = Replays(
            Checks(task, workload), self.worker(plain, PLAIN), self.worker(double, "float64")
        )

    def worker(self, job: GuestJob, who: str = "") -> Callable[[], Any]:
        @contextlib.contextmanager
        def enter() -> Iterator[TimingWorker]:
            worker = TimingWorker(job, self.device.form, sandbox.Limits(wall=120), who)
            try:
                yield worker
            finally:
                worker.close()

        return enter

    def first(self) -> Timed | None:
        """What the first result comes to."""
        with self.timed() as ours, self.eager() as eager:
            doubt = self.match.first(ours, eager)
            return self.replays.first_result(doubt) if doubt else None

    def batches(self) -> tuple[list[Doubt], Timed | None]:
        """What batches of four calls show, and what that comes to."""
        self.match.calls = 4
        with self.timed() as ours, self.eager() as eager:
            _, doubts = self.match.play({"submission": ours, "eager": eager}, 0.0)
        return doubts, self.replays.batches(doubts) if doubts else None

    def failure(self) -> Timed:
        """What a failure in a timed guest comes to."""
        with self.eager() as eager:
            try:
                with self.timed() as ours:
                    self.match.first(ours, eager)
            except WorkerGoneError as error:
                return self.replays.failure(eager, failed_run("full", error))
        raise AssertionError("it did not fail")


@pytest.fixture
def court(device: Device) -> Callable[..., Court]:
    assert isinstance(device, GuestDevice)
    return lambda *lines, workload=WORKLOAD: Court(device, program(*lines), workload)


Of = Callable[..., Court]


def test_a_result_of_few_elements_is_right(court: Of) -> None:
    """Of the first call's 16 elements no 64 are asked for."""
    assert court(f"return {RIGHT}").first() is None


def test_what_underflows_is_no_difference(court: Of) -> None:
    """A product of 400 normal numbers is 0 in float32; a subnormal beside it is as right."""
    workload = WORKLOAD.model_copy(
        update={"inputs": (TensorSpec(shape=(16, 400), distribution="normal"),)}
    )
    denormal = court(f"return {RIGHT} + 1.4e-45", workload=workload)
    assert denormal.first() is None
    assert denormal.batches() == ([], None)


def test_a_wrong_first_result_is_charged(court: Of) -> None:
    found = court(f"return {RIGHT} * 1.01").first()
    assert found is not None
    assert found.run is not None
    assert found.run.status == "ran"
    assert found.comparison is not None
    assert not found.comparison.kernelbench_equal


def test_a_first_result_that_is_wrong_only_where_it_is_timed_is_not_charged(court: Of) -> None:
    found = court(f"return {RIGHT} * (1.01 if WATCHED else 1)").first()
    assert found is not None
    assert found.comparison is None
    assert found.run is not None
    assert found.run.status == "grader_error"


def test_a_result_kept_by_address_is_charged(court: Of) -> None:
    """A plain guest refills its buffers as well."""
    found = court(
        f"calls.append({RIGHT}) if not calls else None", "return calls[0].clone()"
    ).first()
    assert found is not None
    assert found.comparison is not None


@pytest.mark.parametrize(
    ("factor", "dishonest"),
    [
        ("1.5 if WATCHED and len(calls) > 3 else 1", True),
        ("1.5 if len(calls) % 4 == 3 else 1", False),
        ("1.5", False),
    ],
)
def test_a_batch_is_dishonest_only_where_the_call_alone_is_always_right(
    court: Of, factor: str, *, dishonest: bool
) -> None:
    doubts, found = court("calls.append(1)", f"return {RIGHT} * ({factor})").batches()
    assert doubts
    assert found is not None
    assert bool(found.dishonest) == dishonest
    assert (found.comparison is None) == dishonest


@pytest.mark.parametrize(
    ("when", "otherwise", "status"),
    [("WATCHED", "1", "grader_error"), ("WATCHED", "1.01", "raised"), ("True", "1", "raised")],
)
def test_a_failure_is_charged_where_a_plain_guest_fails_or_is_wrong(
    court: Of, when: str, otherwise: str, status: str
) -> None:
    found = court(f"if {when}: raise RuntimeError('too large')", f"return {RIGHT} * {otherwise}")
    run = found.failure().run
    assert run is not None
    assert run.status == status
    assert "too large" in run.reason

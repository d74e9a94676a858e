"""What is compiled only in a call is compiled once, by a call that sees no inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grader.devices.built_when_called import call_once
from grader.records import Build
from grader.sandbox import GuestJob, GuestReply, GuestWorkload

LAZY = Build(status="built", device="sim", key="k", lazy=True)


class Guest:
    """Stands for a guest: notes each job, and leaves what a build would leave."""

    def __init__(self, *files: str) -> None:
        self.files = files
        self.jobs: list[GuestJob] = []

    def __call__(self, job: GuestJob) -> GuestReply:
        self.jobs.append(job)
        for name in self.files:
            assert job.keep_artifact is not None
            path = job.keep_artifact / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"made")
        return GuestReply("done")


@pytest.fixture
def job(tmp_path: Path) -> GuestJob:
    (tmp_path / "k").mkdir()
    call = GuestWorkload("4", (np.full((4,), 7.0, np.float32), 3), deadline=1.0)
    return GuestJob(
        role="submission",
        code="",
        entry="ModelNew",
        device="sim",
        workloads=(call, call),
        artifact=tmp_path / "k" / "extensions",
    )


@pytest.mark.parametrize("files", [("relu/relu.so",), ("refused/nvcc.log",), ()])
def test_it_is_called_once_on_zeros(files: tuple[str, ...], job: GuestJob, tmp_path: Path) -> None:
    guest = Guest(*files)
    for _ in range(2):
        call_once(job, LAZY, tmp_path, guest)
    (made,) = guest.jobs
    (call,) = made.workloads
    values, number = call.args
    assert isinstance(values, np.ndarray)
    assert not values.any()
    assert number == 3
    assert call.deadline is None
    assert job.artifact is not None
    assert all((job.artifact / name).read_bytes() == b"made" for name in files)
    assert [path.name for path in tmp_path.iterdir()] == ["k"]


def test_what_is_built_already_is_not_called(job: GuestJob, tmp_path: Path) -> None:
    guest = Guest("relu/relu.so")
    call_once(job, LAZY.model_copy(update={"lazy": False}), tmp_path, guest)
    assert job.artifact is not None
    (job.artifact / "x").mkdir(parents=True)
    (job.artifact / "x" / "x.so").write_bytes(b"built when it was constructed")
    call_once(job, LAZY, tmp_path, guest)
    assert not guest.jobs

"""What is compiled only in a call is compiled once, by a call that sees no inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grader.devices.built_when_called import call_once, has_files
from grader.sandbox import GuestJob, GuestReply, GuestWorkload


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
def test_it_is_called_on_zeros_and_what_is_made_is_kept(
    files: tuple[str, ...], job: GuestJob, tmp_path: Path
) -> None:
    guest, kept = Guest(*files), tmp_path / "k" / "extensions"
    call_once([job], kept, guest)
    (made,) = guest.jobs
    assert len(made.workloads) == 2
    values, number = made.workloads[0].args
    assert isinstance(values, np.ndarray)
    assert not values.any()
    assert number == 3
    assert made.workloads[0].deadline is None
    assert all((kept / name).read_bytes() == b"made" for name in files)
    assert has_files(kept)
    assert [path.name for path in tmp_path.iterdir()] == ["k"]


def test_each_job_finds_what_those_before_it_made(job: GuestJob, tmp_path: Path) -> None:
    guest = Guest("triton/kernel.json")
    call_once([job, job], tmp_path / "k" / "extensions", guest)
    first, second = guest.jobs
    assert first.artifact is None
    assert second.artifact == first.keep_artifact


def test_what_is_there_already_stays(job: GuestJob, tmp_path: Path) -> None:
    kept = tmp_path / "k" / "extensions"
    kept.mkdir()
    (kept / "x.so").write_bytes(b"built when it was constructed")
    guest = Guest()
    call_once([job], kept, guest)
    assert guest.jobs[0].artifact == kept
    assert (kept / "x.so").read_bytes() == b"built when it was constructed"

"""A GPU after an accident, as guests' reports tell of it: waited for while it recovers, and given up where it doesn't."""

from __future__ import annotations

import numpy as np
import pytest

from grader.devices.cuda import health
from grader.devices.cuda.gpu import GpuFacts
from grader.errors import GraderError
from grader.sandbox import Form, GuestJob, GuestOutput, GuestReply, GuestResult, Limits, strongest

GPU = GpuFacts(uuid="GPU-1", name="a GPU", arch="9.0", driver="580", memory=1 << 30)
ILLEGAL = "RuntimeError: CUDA error: an illegal memory access was encountered"
LOST = GuestReply("raised", ILLEGAL, results=(GuestResult("health", "not_run"),))
NOT_STARTED = GuestReply("grader_error", "no guest can be started")


def right(job: GuestJob) -> GuestReply:
    """Return the reply of a guest whose GPU works."""
    (given,) = job.workloads[0].args
    made = GuestOutput(np.cumsum(np.asarray(given) * 2 + 1), "cuda", (1,), "Tensor", None)
    return GuestReply("done", results=(GuestResult("health", "ran", outputs=(made,)),))


def wrong(job: GuestJob) -> GuestReply:
    """Return the reply of a guest whose GPU computes nonsense."""
    made = GuestOutput(np.zeros(1 << 16, np.float32), "cuda", (1,), "Tensor", None)
    return GuestReply("done", results=(GuestResult("health", "ran", outputs=(made,)),))


def checked(monkeypatch: pytest.MonkeyPatch, *replies: GuestReply | None) -> int:
    """Prove a GPU healthy whose guests reply so, the last one from then on; return how many were asked. None is a right one."""
    asked: list[GuestJob] = []

    def converse(job: GuestJob, form: Form, limits: Limits) -> GuestReply:
        asked.append(job)
        return replies[min(len(asked), len(replies)) - 1] or right(job)

    monkeypatch.setattr(health, "converse", converse)
    monkeypatch.setattr(health, "RECOVERY", (0.0, 0.0, 0.0))
    health.prove_healthy(GPU, strongest(), Limits(wall=5))
    return len(asked)


def test_a_gpu_that_recovers_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checked(monkeypatch, LOST, NOT_STARTED, None) == 3
    assert checked(monkeypatch, None) == 1


@pytest.mark.parametrize("reply", [LOST, NOT_STARTED], ids=["poisoned", "no guest"])
def test_one_that_does_not_is_our_failure(
    monkeypatch: pytest.MonkeyPatch, reply: GuestReply
) -> None:
    with pytest.raises(GraderError, match=r"a GPU is not usable: .*(illegal|no guest)"):
        checked(monkeypatch, reply)


def test_wrong_values_are_no_health(monkeypatch: pytest.MonkeyPatch) -> None:
    job = GuestJob("reference", "", "Model", "cuda")
    with pytest.raises(GraderError, match="a known program ran wrong"):
        checked(monkeypatch, wrong(job))


def test_what_makes_a_gpu_suspect() -> None:
    assert health.suspicious(LOST)
    assert health.suspicious(GuestReply("timeout"))
    caught = GuestResult("a", "raised", ILLEGAL)
    assert health.suspicious(GuestReply("done", results=(caught,)))
    assert not health.suspicious(GuestReply("raised", "ValueError: 2 dims"))

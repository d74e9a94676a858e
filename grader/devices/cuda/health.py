"""Health check of a GPU after an accident: a known program must run right."""

from __future__ import annotations

import time

import numpy as np

from grader.devices.cuda.errors import ERROR
from grader.devices.cuda.gpu import GpuFacts
from grader.errors import GraderError
from grader.sandbox import Form, GuestJob, GuestReply, GuestWorkload, Limits, converse

HEALTH = 60.0
"""Time limit of the known program in seconds."""
RECOVERY = (0.0, 2.0, 10.0, 30.0)
"""Seconds of waiting before each check of a GPU after an accident."""
_PROBE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.cumsum(x * 2 + 1, dim=0)
"""


def suspicious(reply: GuestReply) -> bool:
    """Whether a guest's end may have left the GPU in a bad state."""
    ended_well = reply.status == "done" or (
        reply.status == "raised" and not ERROR.search(reply.reason)
    )
    return not ended_well or any(ERROR.search(result.reason) for result in reply.results)


def prove_healthy(gpu: GpuFacts, form: Form, limits: Limits) -> None:
    """Check that a new guest runs a known program right.

    Raises:
        GraderError: it fails repeatedly.

    """
    reason = ""
    for seconds in RECOVERY:
        time.sleep(seconds)
        reason = _known_program_failure(gpu, form, limits)
        if not reason:
            return
    raise GraderError(f"{gpu.name} is not usable: {reason}", "See nvidia-smi, and dmesg.")


def _known_program_failure(gpu: GpuFacts, form: Form, limits: Limits) -> str:
    """Return the failure of the known program; "" where it ran right."""
    given = np.arange(1 << 16, dtype=np.float32) % 7
    job = GuestJob(
        role="reference",
        code=_PROBE,
        entry="Model",
        device="cuda",
        workloads=(GuestWorkload("health", (given,)),),
        env={"CUDA_VISIBLE_DEVICES": gpu.uuid},
    )
    reply = converse(job, form, limits)
    outputs = [output for result in reply.results for output in result.outputs]
    if [np.array_equal(output.array, np.cumsum(given * 2 + 1)) for output in outputs] == [True]:
        return ""
    reasons = [result.reason for result in reply.results]  # none of a guest that can't be started
    said = [reply.reason, *reasons, *reply.log.strip().splitlines()[-1:]]
    return "; ".join(filter(None, said)) or "a known program ran wrong"

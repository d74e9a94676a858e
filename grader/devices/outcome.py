"""The status of a run, from the guest's answer and the simulator's report."""

from __future__ import annotations

import re

from grader.judge.honesty import LIBRARY, not_ours
from grader.judge.honesty import VALUES_TO_THE_HOST as TO_THE_HOST
from grader.records import JsonValue, Run, RunStatus, Workload
from grader.sandbox import GuestReply, GuestResult
from grader.simulator import report as reports
from grader.source import Source

_LIBRARIES = re.compile(
    r"undefined symbol: ((?:cublas|cudnn|cusparse|cusolver|cufft|curand|nvrtc|nccl|cu[A-Z]|cuda)\w*"
    r"|_ZN\w*(?:at4cuda|c104cuda|cudnn)\w*)"
)
_DRIVER = re.compile(
    r"CUDA driver version is insufficient|no CUDA-capable device|Found no NVIDIA driver"
    r"|Cannot access accelerator device when none|built without USE_CUDA|not compiled with CUDA enabled"
)
"""Messages of CUDA's own libraries and of torch's CPU build without a GPU; the simulator gives none of them."""
_LAYOUT = re.compile(
    r"Could not run '(aten::\w+)[^']*' with arguments from the '(\w+)CUDA' backend"
)
"""Torch's message about special kinds of tensors: sparse, quantised, nested."""
_OF_HANDLES = tuple(f"cublas{verb}" for verb in ("Create", "Destroy", "Set", "Get"))
_VALUES = re.compile(r"tensor\([^()]*\)")


def run_of(
    workload: Workload, result: GuestResult, reply: GuestReply, source: Source, seconds: float
) -> Run:
    """Return the record of one workload's run; `seconds` was its time limit."""
    seen = result.report if isinstance(result.report, dict) else {}
    simulator: JsonValue = seen.get("simulator")
    outcome = reports.outcome(simulator)
    status, reason = _status(result, reply, outcome, seconds)
    reason = brief(reports.with_own_lines(reason, source))
    evidence, counts, launches = reports.to_evidence(simulator, source, workload.name)
    return Run(
        workload=workload.name,
        device="sim",
        status=status,
        reason=reason,
        evidence=evidence,
        launches=launches,
        counts=counts,
        blind=reports.only_stores(result.report),
        switches=reports.switches(result.report),
        narrowed=reports.read_narrowed(simulator),
        autotuned=reports.read_autotuned(simulator),
        operators={**not_ours(outcome.operators), **_beside_torch(result.report)},
        seconds=result.seconds,
        output=cut_log(reply.log),
    )


def _beside_torch(report: JsonValue) -> dict[str, int]:
    """Return the numbers of cuBLAS computations and of copies to the host outside torch."""
    calls = reports.api_calls(report)
    return {
        name: count
        for name, count in calls.items()
        if (name.startswith(LIBRARY) and not name.startswith(_OF_HANDLES)) or name == TO_THE_HOST
    }


def _status(
    result: GuestResult, reply: GuestReply, outcome: reports.Outcome, seconds: float
) -> tuple[RunStatus, str]:
    if result.status == "not_run":
        lacks = _lacks(reply.reason)
        return _unsupported_feature(lacks) if lacks else outcome_of_unreached(reply)
    lacks = _lacks(result.reason)
    if outcome.not_run or lacks:
        return _unsupported_feature("; ".join(outcome.not_run) or lacks)
    if outcome.hung:
        return "hung", outcome.hung
    if outcome.over_budget:
        return "timeout", f"the kernels did not end within {seconds:.0f} s of simulation"
    if outcome.lost and result.status in {"ran", "raised"}:
        return "raised", outcome.lost
    return result.status, result.reason


def _unsupported_feature(feature: str) -> tuple[RunStatus, str]:
    return "not_run", f"the simulator does not support this: {feature}"


def outcome_of_unreached(reply: GuestReply) -> tuple[RunStatus, str]:
    """Return the run of a workload that was never started, with the end of its guest."""
    where = {"import": "at import", "construct": "in the constructor"}.get(reply.stage)
    if where is None:
        return "not_run", f"not reached: the process ended in an earlier workload ({reply.status})"
    if reply.out_of_memory:
        return "out_of_memory", f"{where}: {reply.reason}"
    status: dict[str, RunStatus] = {
        "raised": "raised",
        "timeout": "timeout",
        "grader_error": "grader_error",
    }
    return status.get(reply.status, "crashed"), f"{where}: {reply.reason}"


def _lacks(reason: str) -> str:
    """Return the library that an extension or a Python call needs and the simulator lacks."""
    symbol = _LIBRARIES.search(reason)
    if symbol:
        return f"{symbol[1]}, of a library of NVIDIA's"
    if _DRIVER.search(reason):
        return "a call that reached CUDA's own libraries, which look for a driver"
    layout = _LAYOUT.search(reason)
    return f"{layout[1]} of {layout[2].lower()} tensors" if layout else ""


def brief(reason: str) -> str:
    """Return an exception's text; pybind11's message on a wrong call becomes one line without the values."""
    if "Invoked with:" not in reason:
        return reason
    return " ".join(_VALUES.sub("tensor", reason).replace("Parameter containing:", "").split())


def cut_log(log: str) -> str:
    """Return a guest's output, with its middle left out where it is long."""
    return log if len(log) <= 20_000 else f"{log[:10_000]}\n[...]\n{log[-10_000:]}"

"""The simulator's word on a program that ran on a GPU: why it went wrong, or why its right values are unsound.

It sees what no tool on the chip can (an unwritten value followed to its use, who waits where), and
is there where compute-sanitizer is missing.
"""

from __future__ import annotations

from dataclasses import replace

from grader.devices.base import Sanitized
from grader.devices.sim.device import Simulator
from grader.errors import GraderError
from grader.judge import References
from grader.records import Submission, Task, Workload

SECONDS = 20.0
"""Wall time of the program's run there, at most."""


def consult(
    simulator: Simulator,
    submission: Submission,
    task: Task,
    references: References,
    workload: Workload,
) -> Sanitized:
    """Run one workload on the simulator; return what it saw, or why it saw nothing."""
    seconds = min(SECONDS, simulator.options.run_seconds)
    brief = simulator.options.model_copy(update={"run_seconds": seconds})
    asked = replace(simulator, options=brief)
    try:
        build = asked.build(submission, workload.init)
        if build.status != "built":
            return Sanitized(notes=("the simulator was not asked: the build for it fails",))
        only = task.model_copy(update={"workloads": (workload,)})
        (result,) = asked.run(submission, build, only, references)
    except GraderError as error:
        return Sanitized(notes=(f"the simulator could not be asked: {error}"[:300],))
    if result.run.status in {"not_run", "timeout"}:
        return Sanitized(notes=(f"the simulator did not finish: {result.run.reason}"[:300],))
    return Sanitized(result.run.evidence)

"""The time budget of a sample, up to the explained verdict: shared among stages, with unused time passed on.

A stage gets its share of the remaining time among the stages from it on. So the total holds however long one takes, and
no stage uses up the time of later ones. A step that would not fit is reduced before it begins, or left out, and the
verdict's reasons name it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from grader.config import Options
from grader.devices import Bounded, Device
from grader.records import Verdict
from grader.sandbox import crowding

Stage = Literal["build", "deciding", "stress", "soundness", "full size", "diagnosis"]
SHARES: Mapping[Stage, float] = {
    "deciding": 10,
    "stress": 4,
    "soundness": 5,
    "full size": 3,
    "diagnosis": 2,
}
"""In their order, after the build, which can't be reduced and may take all of the time."""
LEAST = 10.0
"""Least seconds of a build and of the deciding workloads, without which there is no verdict."""
NEEDED = 6.0
"""Least seconds for any other step to begin."""


@dataclass(frozen=True)
class Budget:
    """Seconds of wall time, converted to an idle machine's."""

    seconds: float
    begun: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, options: Options, device: Device | None) -> Budget:
        """Return the budget of a sample that begins now; only a simulator is slow enough to need one."""
        simulated = device is not None and device.name == "sim"
        return cls(options.sample_seconds if simulated else math.inf)

    def seconds_left(self, *stages: Stage) -> float:
        """Return the seconds of these stages, the first of which begins now."""
        if math.isinf(self.seconds):
            return math.inf
        remains = self.seconds - (time.monotonic() - self.begun) / crowding()
        if stages[0] == "build":
            return max(0.0, remains)
        names = [*SHARES]
        still_to_come = sum(SHARES[name] for name in names[names.index(stages[0]) :])
        return max(0.0, remains) * sum(SHARES[stage] for stage in stages) / still_to_come

    def enough(self, stage: Stage) -> bool:
        """Whether a step of this stage may begin."""
        return self.seconds_left(stage) >= NEEDED

    def limit_device(self, device: Device, *stages: Stage) -> Device:
        """Return the device with no more time than these stages have."""
        left = self.seconds_left(*stages)
        if math.isinf(left) or not isinstance(device, Bounded):
            return device
        return device.within(max(left, LEAST if stages[0] in {"build", "deciding"} else NEEDED))


def with_left_out(verdict: Verdict, seconds: float, left_out: tuple[str, ...]) -> Verdict:
    """Return the verdict with the omitted steps among its reasons."""
    if not left_out:
        return verdict
    text = f"Left out, as a sample has {seconds:g} seconds: {', '.join(left_out)}."
    return verdict.model_copy(update={"reasons": (*verdict.reasons, text)})

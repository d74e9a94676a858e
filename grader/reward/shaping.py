"""The scalar of a reward, its parts, and the signals it rests on.

With the weights of `Shaping`, from an `Evaluation`:

- a cheat (`rejected`, `dishonest`): `cheating`, the lowest value;
- no code, or code that doesn't build: 0;
- built, but crashed, hung or too slow: `built`;
- built and run, but wrong: `built`, and where the smallest workload that decides came out right, the part of `partly` that
  is the share of workloads that did, so less than anything whose values are all right;
- `unsound`, that is right values by luck (a race, an access out of bounds): `unsound`, between what is wrong and
  what is correct whatever the other weights are. Its speed earns nothing, nor that other sizes come out right;
- correct at the task's own sizes: `correct`; `own` times the share of the work that the answer's own
  kernels did; `general` more where right at other sizes as well;
- correct and measured on a GPU: `speed` times that share, times log(speed-up) / log(cap), between 0 and 1, of the
  lower end of the speed-up's 95% interval, so that noise earns nothing. Nor does the speed of a program that is
  wrong with other weights or values at these sizes (`fails_with`): it may come of a step that is left out. Slower than PyTorch earns no
  less than unmeasured: being right comes first.

`value` is None where the submission can't be told to be at fault (`grader_error`, `not_run`,
`no_task`): leave such a sample out of the step instead of giving it any number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from pydantic import Field

from grader.records import Evaluation, Finding, Record, Severity, Status

UNKNOWN = frozenset({"grader_error", "not_run", "no_task"})
CHEATS = frozenset({"rejected", "dishonest"})
NOTHING = frozenset({"no_code", "build_failed", "build_timeout"})
STOPPED = frozenset({"crashed", "hung", "timeout"})
RAN = frozenset({"incorrect", "dishonest", "unsound", "correct"})


class Shaping(Record):
    """Weights of the scalar; the default ones add up to 1 for a fast, general kernel of the answer's own."""

    cheating: float = Field(-1.0, le=0.0)
    """For a cheat proven by the text or by a run; no other part is added."""
    built: float = Field(0.1, ge=0.0)
    """For code that builds, whatever its runs do."""
    partly: float = Field(0.2, ge=0.0)
    """For wrong results: multiplied by the share of workloads that came out right; nothing where the smallest one that decides is wrong."""
    unsound: float = Field(0.4, ge=0.0)
    """For right values by luck, with undefined behaviour; never more than `correct`."""
    correct: float = Field(0.5, ge=0.0)
    """For right values on every workload that decides, without undefined behaviour."""
    own: float = Field(0.1, ge=0.0)
    """Multiplied by the share of the work that the answer's own kernels did: 0 for a decoy beside calls of torch."""
    general: float = Field(0.1, ge=0.0)
    """For right values at other sizes than the task's as well."""
    speed: float = Field(0.3, ge=0.0)
    """Multiplied by the speed-up's progress towards `cap`, and by the own share."""
    cap: float = Field(4.0, gt=1.0)
    """Speed-up over eager PyTorch beyond which nothing more is earned."""


class Told(Record):
    """A finding in short."""

    rule: str
    """Code, e.g. `SYN002`."""
    name: str
    line: int | None
    """Line of the submission (1-based); None where unknown."""
    message: str
    severity: Severity


class Reward(Record):
    """The scalar, its parts, and the signals it rests on."""

    value: float | None
    """Between `cheating` and the sum of the other weights; None: leave the sample out."""
    parts: dict[str, float] = {}
    """Earned amount by part; adds up to `value`."""
    signals: dict[str, float] = {}
    """Signals between 0 and 1 before any weight (`speedup` is a factor); missing ones are left out.

    `built`; `right`, the share of workloads with right values, 0 where the smallest one that decides is wrong; `sound`; `honest`; `own`, the share of
    the work that the answer's own kernels did; `general`; `speedup`, the lower end of its interval.
    """
    status: Status
    sentence: str
    speedup: float | None = None
    findings: tuple[Told, ...] = ()
    """Findings with their places, errors first."""
    evaluation: Evaluation


def reward_evaluation(
    evaluation: Evaluation, shaping: Shaping | None = None, findings: Iterable[Finding] = ()
) -> Reward:
    """Return the reward of an evaluation; the module describes the terms."""
    verdict = evaluation.verdict
    known = verdict.status not in UNKNOWN
    parts = _parts(evaluation, shaping or Shaping()) if known else {}
    return Reward(
        value=math.fsum(parts.values()) if known else None,
        parts=parts,
        signals=_signals(evaluation) if known else {},
        status=verdict.status,
        sentence=verdict.sentence,
        speedup=verdict.speedup,
        findings=tuple(map(_tell_finding, findings)),
        evaluation=evaluation,
    )


def shown_to_trainer(reward: Reward) -> dict[str, Any]:
    """Return the data for a trainer: the scalar, its parts, the verdict and the findings.

    The only text of the answer in it are names and short quotations in sentences.
    """
    verdict = reward.evaluation.verdict
    return {
        "score": reward.value,
        "parts": reward.parts,
        "signals": reward.signals,
        "status": reward.status,
        "sentence": reward.sentence,
        "general": verdict.general,
        "fails_with": verdict.fails_with,
        "findings": [finding.model_dump(mode="json") for finding in reward.findings],
        "speedup": verdict.speedup,
        "speedup_interval": [verdict.speedup_low, verdict.speedup_high],
        "device": reward.evaluation.device,
        "seconds": reward.evaluation.seconds,
    }


def _tell_finding(finding: Finding) -> Told:
    return Told(
        rule=finding.rule,
        name=finding.name,
        line=finding.place.line if finding.place is not None else None,
        message=finding.message,
        severity=finding.severity,
    )


def _parts(evaluation: Evaluation, shaping: Shaping) -> dict[str, float]:
    verdict = evaluation.verdict
    if verdict.status in CHEATS:
        return {"cheating": shaping.cheating}
    if verdict.status in NOTHING:
        return {}
    if verdict.status in STOPPED:
        return {"built": shaping.built}
    built = min(shaping.built, shaping.correct)
    partly = min(shaping.partly, shaping.correct - built)
    if verdict.status == "unsound":
        return {"unsound": min(max(shaping.unsound, built + partly), shaping.correct)}
    if verdict.status != "correct":
        return {"built": built, "partly": partly * _share_right(evaluation)}
    own = evaluation.own_share or 0.0
    parts = {"correct": shaping.correct, "own": shaping.own * own}
    if verdict.general:
        parts["general"] = shaping.general
    whole = verdict.fails_with not in {"other weights", "other values"}
    if whole and verdict.speedup_low is not None and verdict.speedup_low > 1.0:
        gained = math.log(verdict.speedup_low) / math.log(shaping.cap)
        parts["speed"] = shaping.speed * min(gained, 1.0) * own
    return parts


def _signals(evaluation: Evaluation) -> dict[str, float]:
    verdict = evaluation.verdict
    status = verdict.status
    right = status in {"correct", "unsound"}
    seen: dict[str, float | None] = {
        "built": float(status not in NOTHING) if status != "rejected" else None,
        "right": _share_right(evaluation) if status in RAN else None,
        "sound": float(status == "correct") if right else None,
        "honest": 0.0 if status in CHEATS else 1.0 if right else None,
        "own": evaluation.own_share,
        "algebraic": _shown_equal(evaluation),
        "general": float(verdict.general) if verdict.general is not None else None,
        "speedup": verdict.speedup_low,
    }
    return {name: value for name, value in seen.items() if value is not None}


def _shown_equal(evaluation: Evaluation) -> float | None:
    """Return 1 if exact arithmetic shows equality with the reference; 0 is no proof of an error."""
    exact = evaluation.exact
    known = exact is not None and exact.algebraic != "not applicable"
    return float(exact.algebraic == "equal") if exact and known else None


def _share_right(evaluation: Evaluation) -> float:
    """Return the share of the deciding runs whose outputs are right.

    Where the smallest one is wrong it is 0, whether or not the others were run.
    """
    right = {item.workload for item in evaluation.comparisons if item.equal}
    if evaluation.smallest and evaluation.smallest not in right:
        return 0.0
    counted = [item.equal for item in evaluation.comparisons if item.decides]
    lost = sum(run.status != "ran" for run in evaluation.runs)
    return sum(counted) / (len(counted) + lost) if counted else 0.0

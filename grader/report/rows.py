"""One row of `results.jsonl` for each review: what scripts read."""

from __future__ import annotations

import json

from grader.records import SCHEMA, Evaluation, Finding, JsonValue, Repair, Review


def row(review: Review) -> dict[str, JsonValue]:
    """Return the row of `docs/results.schema.json` for the review."""
    verdict = review.verdict
    return {
        "schema": SCHEMA,
        "sample": review.sample,
        "origin": review.origin,
        "submission": review.evaluation.submission or None,
        "task": {
            "name": review.task.name,
            "source": review.task.source,
            "reason": review.task.reason,
            "confidence": review.task.confidence,
            "weak": list(review.task.weak),
        },
        "device": review.evaluation.device,
        "sandbox": review.evaluation.sandbox,
        "status": verdict.status,
        "sentence": verdict.sentence,
        "compiled": verdict.compiled,
        "correct": verdict.correct,
        "general": verdict.general,
        "honest": verdict.honest,
        "kernelbench_correct": verdict.kernelbench,
        "speedup": verdict.speedup,
        "speedup_interval": _interval(verdict.speedup_low, verdict.speedup_high),
        "findings": [_finding(finding) for finding in review.findings],
        "workloads": _workloads(review.evaluation),
        "repair": _repair(review.repairs, "mend", "model"),
        "reference_fixed": _repair(review.repairs, "reference"),
        "repair_note": review.repair_note,
        "seconds": {name: round(value, 3) for name, value in review.evaluation.seconds.items()},
        "machine": dict(review.machine),
    }


def line(review: Review, key: str = "") -> str:
    """Return the row as one line of JSON, with the content address that a resumed run looks for."""
    return json.dumps({**row(review), "key": key}, ensure_ascii=True, allow_nan=False, default=str)


def _interval(low: float | None, high: float | None) -> list[float] | None:
    return None if low is None or high is None else [low, high]


def _finding(finding: Finding) -> dict[str, JsonValue]:
    place = finding.place
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "line": place.line if place else None,
        "sample_line": place.sample_line if place and place.sample_line else None,
        "message": finding.message,
        "evidence": [
            {"kind": item.kind, "code": item.code, "text": item.text, "count": item.count}
            for item in finding.evidence
        ],
        "after_mend": list(finding.after_mend),
        "also": list(finding.also),
    }


def _workloads(evaluation: Evaluation) -> list[dict[str, JsonValue]]:
    outcomes = {run.workload: run.status for run in evaluation.runs}
    return [
        {
            "name": item.workload,
            "role": item.role,
            "run": outcomes.get(item.workload, "ran"),
            "equal": item.equal,
            "counts": item.counts,
            "mismatch": item.mismatch.text if item.mismatch else None,
            "kernelbench_equal": item.kernelbench_equal,
        }
        for item in evaluation.comparisons
    ]


def _repair(repairs: tuple[Repair, ...], *kinds: str) -> dict[str, JsonValue] | None:
    for repair in repairs:
        if repair.kind in kinds:
            verdict = repair.evaluation.verdict
            return {
                "kind": repair.kind,
                "status": verdict.status,
                "general": verdict.general,
                "speedup": verdict.speedup,
                "settles": [rule for rule, _ in repair.settles],
                "code": repair.code,
            }
    return None

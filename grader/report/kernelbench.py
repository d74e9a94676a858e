"""KernelBench's own `eval_results.json`, so that its scripts run on our results.

Schema read from KernelBench's scripts/eval_from_generations.py: a list of results by problem id.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable

from grader.records import JsonValue, Review

_NAME = re.compile(r"level_(\d+)_problem_(\d+)_sample_(\d+)")


def render(reviews: Iterable[Review], *, own_tolerance: bool = False) -> str:
    """Return the file's text; `own_tolerance` judges by KernelBench's tolerance instead of ours.

    Samples without a KernelBench name, and those with a grader error, are left out.
    """
    results: dict[str, list[dict[str, JsonValue]]] = defaultdict(list)
    for review in reviews:
        match = _NAME.search(review.sample)
        if match is None or review.verdict.status == "grader_error":
            continue
        results[match[2]].append(_result(review, int(match[3]), own_tolerance))
    return json.dumps(results, indent=2, sort_keys=True) + "\n"


def _result(review: Review, sample: int, own_tolerance: bool) -> dict[str, JsonValue]:
    verdict = review.verdict
    right = verdict.kernelbench if own_tolerance else verdict.status == "correct"
    times = {item.what: item for item in review.evaluation.timings}
    own = times.get("submission")
    counted = [item for item in review.evaluation.comparisons if item.decides]
    metadata: dict[str, JsonValue] = {
        "hardware": review.environment.get("GPU", review.evaluation.device),
        "device": review.evaluation.device,
        "status": verdict.status,
        "correctness_trials": f"({sum(item.equal for item in counted)} / {len(counted)})",
    }
    if verdict.compiled is False:
        metadata["compilation_error"] = verdict.sentence
    elif not right:
        counted_here = verdict.status == "correct" and verdict.reasons
        metadata["correctness_issue"] = verdict.reasons[-1] if counted_here else verdict.sentence
    return {
        "sample_id": sample,
        "compiled": bool(verdict.compiled),
        "correctness": bool(right),
        "metadata": metadata,
        "runtime": own.median if own else -1.0,
        "runtime_stats": {"median": own.median, "num_trials": own.samples} if own else {},
    }

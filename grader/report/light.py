"""A review without its bulk: what tables, pages and scores over a whole run need of it."""

from __future__ import annotations

from grader.records import Evaluation, Finding, Repair, Review


def light(review: Review) -> Review:
    """Return the review without texts, evidence, notes and runs: some kilobytes, so that all fit."""
    return review.model_copy(
        update={
            "text": "",
            "code": None,
            "line_map": (),
            "mends": (),
            "claims": (),
            "self_review": None,
            "evaluation": _light_evaluation(review.evaluation),
            "findings": tuple(
                _light_finding(item) for item in review.findings if item.severity != "note"
            ),
            "repairs": tuple(_light_repair(repair) for repair in review.repairs),
        }
    )


def _light_evaluation(evaluation: Evaluation) -> Evaluation:
    dropped = {"build": None, "runs": (), "comparisons": (), "probes": ()}
    return evaluation.model_copy(update=dropped)


def _light_finding(finding: Finding) -> Finding:
    return finding.model_copy(update={"evidence": (), "fixes": (), "data": {}})


def _light_repair(repair: Repair) -> Repair:
    evaluation = _light_evaluation(repair.evaluation)
    return repair.model_copy(update={"code": "", "diff": "", "evaluation": evaluation})

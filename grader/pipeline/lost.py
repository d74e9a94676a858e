"""The review of a sample whose worker process or cluster node was lost."""

from __future__ import annotations

from grader.records import Evaluation, Review, Sample, TaskSummary, Verdict


def lost_review(sample: Sample, what: str, how: str) -> Review:
    """Return the review, which is never kept, so that the sample is graded again next time."""
    return Review(
        sample=sample.id,
        origin=sample.origin,
        format=sample.format,
        text=sample.text,
        code=None,
        task=TaskSummary(name=None, source="none", reason="not looked for", confidence=0.0),
        evaluation=lost_evaluation(what, how),
    )


def lost_evaluation(what: str, how: str) -> Evaluation:
    """Return the evaluation: `what` is the sentence's beginning, `how` the reason."""
    verdict = Verdict(
        status="grader_error",
        sentence=f"{what}; this says nothing about the submission.",
        reasons=(how,),
    )
    return Evaluation(submission="", device="none", sandbox="none", verdict=verdict)

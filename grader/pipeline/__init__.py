"""One sample through all stages. `evaluate` is the one way in which any program is judged."""

from grader.pipeline.evaluation import evaluate, evaluate_draft
from grader.pipeline.examination import evidence_of, examine
from grader.pipeline.review import assess, build_ahead, choose_task, review
from grader.pipeline.workshop import NOT_KEYED, Workshop, open_workshop, review_key

__all__ = [
    "NOT_KEYED",
    "Workshop",
    "assess",
    "build_ahead",
    "choose_task",
    "evaluate",
    "evaluate_draft",
    "evidence_of",
    "examine",
    "open_workshop",
    "review",
    "review_key",
]

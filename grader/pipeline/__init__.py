"""One sample through all stages, each in its own module; this file only exports what opens a run.

`review.review` grades a sample, `evaluation.evaluate` judges every program in the same way. They are imported only when
a sample is graded: a run without work needs neither.
"""

from grader.pipeline.context import NOT_KEYED, GradingContext, open_context, review_key

__all__ = ["NOT_KEYED", "GradingContext", "open_context", "review_key"]

"""One sample through all stages, each in its own module; here is only what a run is opened with.

`review.review` grades a sample, `evaluation.evaluate` is the one way in which any program is judged.
They are imported where a sample is really graded: a run that has nothing to do needs none of it.
"""

from grader.pipeline.context import NOT_KEYED, GradingContext, open_context, review_key

__all__ = ["NOT_KEYED", "GradingContext", "open_context", "review_key"]

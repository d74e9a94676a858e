"""One sample through all stages, each in its own module; here is only what a run is opened with.

`review.review` grades a sample, `evaluation.evaluate` is the one way in which any program is judged.
They are imported where a sample is really graded: a run that has nothing to do needs none of it.
"""

from grader.pipeline.workshop import NOT_KEYED, Workshop, open_workshop, review_key

__all__ = ["NOT_KEYED", "Workshop", "open_workshop", "review_key"]

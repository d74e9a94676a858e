"""One order, carried out in the process that this is."""

from __future__ import annotations

from collections.abc import Callable

from grader.crew.orders import Order, Said
from grader.pipeline import Workshop


def carry_out(workshop: Workshop, order: Order, stage: Callable[[str], None]) -> Said:
    """Grade the order's sample."""
    from grader.pipeline.review import assess, review  # a run that finds nothing to do needs none

    if order.verdict_only:
        return Said(evaluation=assess(workshop, order.sample, order.task))
    return Said(review=review(workshop, order.sample, stage))

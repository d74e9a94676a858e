"""One order, carried out in the process that this is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from grader.crew.orders import Order, Said
from grader.pipeline import Workshop, review_key
from grader.report.folder import RunFolder


def carry_out(workshop: Workshop, order: Order, stage: Callable[[str], None]) -> Said:
    """Grade the order's sample; its review is written but for the row.

    Raises GraderError where the run folder can't be written.
    """
    from grader.pipeline.review import assess, review  # a run that finds nothing to do needs none

    if order.folder is None:
        return Said(assessment=assess(workshop, order.sample, order.task))
    made = review(workshop, order.sample, stage)
    folder = RunFolder(Path(order.folder))
    return Said(written=folder.write(made, review_key(workshop, order.sample)))

"""What runs showed of dependences, for the rules of this family."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Dependence, Evidence, Place, Touched

if TYPE_CHECKING:
    from grader.rules.rule import Context
    from grader.source import Source


def differences(context: Context, *codes: str) -> Iterator[tuple[Evidence, Dependence]]:
    """Yield the evidence of these codes on what wrong elements depend on."""
    for item in context.seen("provenance"):
        if item.code in codes and isinstance(item.details, Dependence):
            yield item, item.details


def touched(context: Context) -> Iterator[tuple[Evidence, Touched]]:
    """Yield what each line touched."""
    for item in context.seen("provenance"):
        if isinstance(item.details, Touched):
            yield item, item.details


def wrong(context: Context) -> tuple[Evidence, ...]:
    """Return the mismatches that the evidence explains."""
    traced = {item.workload for item in context.seen("provenance")}
    return tuple(item for item in context.seen("mismatch") if item.workload in traced)


def launch_place(source: Source, line: int) -> Place | None:
    """Return the only launch of the kernel around a line."""
    for unit in source.cuda:
        for kernel in unit.kernels:
            place = unit.place(kernel.node)
            if place.line <= line <= place.end_line:
                found = [one for one in unit.launches if one.kernel == kernel.name]
                return unit.place(found[0].node) if len(found) == 1 else None
    return None


def example_touched(line: int, **fields: object) -> Evidence:
    """Return evidence for an example."""
    return Evidence(
        kind="provenance",
        code="touched",
        text="",
        place=Place(line=line, end_line=line),
        details=Touched.model_validate(fields),
    )

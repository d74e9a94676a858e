"""The launch of the kernel around a line."""

from grader.records import Place
from grader.source import Source


def launch_place(source: Source, line: int) -> Place | None:
    """Return the only launch of the kernel around a line; None where there are several."""
    for unit in source.cuda:
        for kernel in unit.kernels:
            place = unit.place(kernel.node)
            if place.line <= line <= place.end_line:
                found = [one for one in unit.launches if one.kernel == kernel.name]
                return unit.place(found[0].node) if len(found) == 1 else None
    return None

"""A CUDA error in torch's words, as evidence."""

from __future__ import annotations

import re

from grader.records import Evidence, Place, Raised

ERROR = re.compile(r"CUDA error: ([^\n]+)")


def cuda_error(
    reason: str, workload: str, place: Place | None = None, traceback: str = ""
) -> tuple[Evidence, ...]:
    """Return the CUDA error named in a reason, at the line of Python that raised it."""
    found = ERROR.search(reason)
    if found is None:
        return ()
    name = found[1].strip()
    return (
        Evidence(
            kind="python",
            code=re.sub(r"\W+", "-", name.lower()).strip("-")[:80],
            text=f"CUDA reports: {name}",
            place=place,
            workload=workload,
            details=Raised(said=name, traceback=traceback[-4000:]),
        ),
    )

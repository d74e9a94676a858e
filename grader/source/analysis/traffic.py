"""Memory traffic of warps by line, from the simulator's counts."""

from collections.abc import Iterable

from grader.records import Context, Evidence, SectorCounts

LANES = 32


def spread(context: Context, line: int, most: int) -> tuple[Evidence, ...]:
    """Return the counts at a line where a warp used four times the necessary sectors, and more than a minimum."""
    counts = [one for one in context.counts if one.line == line and one.requests]
    count = max(counts, key=lambda one: one.sectors / one.requests, default=None)
    if count is None or count.sectors <= max(most * count.requests, 4 * count.ideal_sectors - 1):
        return ()
    per, best = count.sectors / count.requests, count.ideal_sectors / count.requests
    text = f"{per:.1f} sectors of 32 bytes for each warp access, where {best:.1f} would do, at the sizes that ran"
    seen = SectorCounts(sectors=count.sectors, ideal=count.ideal_sectors, requests=count.requests)
    return (Evidence(kind="simulator", code="sectors", text=text, details=seen),)


def line_streamed(context: Context, lines: Iterable[int]) -> int:
    """Return the first of the lines with coalesced 4-byte accesses; 0 for none."""
    full = [c.line for c in context.counts if 3 * c.requests < c.sectors <= 4 * c.requests]
    return next((line for line in lines if line in full), 0)


def bank_turns(context: Context, line: int) -> float:
    """Return the most passes of a warp's access to shared memory at a line."""
    counts = [one for one in context.counts if one.line == line and one.shared_accesses]
    return max((1 + LANES * c.bank_conflicts / c.shared_accesses for c in counts), default=0)

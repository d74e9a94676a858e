"""PRF018: neighbouring elements of a Triton block lie far apart in memory."""

import ast
from collections.abc import Iterator

from grader.rules import Context, Finding, Source, rule_of
from grader.source.analysis.traffic import spread
from grader.source.analysis.triton import Access, Kernel, kernels

MOST_OF_NEAR = 20
"""Most sectors of a warp access whose lanes are 16 bytes apart, with a margin, as a lane may hold that much of a
row."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for accesses where nearly each lane needs its own sector, with computed addresses."""
    for kernel in kernels(source):
        for access in kernel.accesses:
            seen = spread(context, access.call.lineno, MOST_OF_NEAR)
            if seen and not _by_index(kernel, access):
                yield RULE.finding(
                    source.place(access.call),
                    "neighbouring elements of the block lie far apart in memory, so that nearly each takes a sector of 32 bytes of its own: "
                    "let the block run along the axis whose elements are next to each other",
                    evidence=seen,
                    kernels=(kernel.name,),
                )
                break


def _by_index(kernel: Kernel, access: Access) -> bool:
    """Whether a loaded value determines the address, as for a table's rows."""
    parts = kernel.made_of(access.pointer)
    return any(isinstance(one, ast.Call) and kernel.language_name(one) == "load" for one in parts)


RULE = rule_of(__file__, check)

"""PRF018: neighbouring elements of a Triton block lie far apart in memory."""

import ast
from collections.abc import Iterator

from grader.rules import Context, Finding, Source, rule_of
from grader.source.analysis.traffic import spread
from grader.source.analysis.triton import Access, Kernel, kernels

MOST_OF_NEAR = 20
"""Sectors that an access of a warp takes where each lane begins 16 bytes after the one before, and some more: a lane holds that much of a row."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for accesses of which nearly each lane needs a sector of its own, by addresses that no memory gave."""
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
    """Whether what was loaded says where to access: a table's rows lie where they lie."""
    parts = kernel.made_of(access.pointer)
    return any(isinstance(one, ast.Call) and kernel.language_name(one) == "load" for one in parts)


RULE = rule_of(__file__, check)

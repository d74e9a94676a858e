"""PRF007: numbers are loaded one at a time."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.page_file import rule_of
from grader.source import Source
from grader.source.analysis.traffic import reaches
from grader.source.analysis.walks import cases
from grader.source.scalar_types import SIZES


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for streaming loops over neighbouring floats."""
    seen: set[str] = set()
    for case in cases(source, context):
        wide = any(access.scale > 1 for access in case.walk.accesses)
        if case.kernel in seen or wide or (case.launch.block[0] or 1) < 32:
            continue
        for reach in reaches(case):
            size = SIZES.get(reach.access.region.type, 4)
            plain = reach.stride == 1 and reach.access.scale == 1 and size <= 4
            if reach.access.kind == "load" and plain and reach.access.loops and reach.turn >= 32:
                seen.add(case.kernel)
                yield RULE.finding(
                    case.place(reach.access.node),
                    f"`{reach.access.region.name}` is read one number at a time; four at once (float4) need a quarter of the load "
                    "instructions, where the address is a multiple of 16 bytes",
                    confidence="possible",
                    kernels=(case.kernel,),
                    folded=True,
                )
                break


RULE = rule_of(__file__, check)

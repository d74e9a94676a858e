"""PRF008: threads of a warp hit the same bank of shared memory."""

from collections.abc import Iterator
from math import gcd

from grader.records import AccessShape, Context, Finding, Fix
from grader.rules.page_file import rule_of
from grader.source import Source
from grader.source.analysis.walks import Case, cases
from grader.source.code_edits import fix
from grader.source.cuda_code import descendants, text
from grader.source.flow import Access, Region
from grader.source.scalar_types import SIZES

BANKS = 32


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the banks that the first warp's accesses fall in."""
    seen: set[tuple[str, str]] = set()
    for case in cases(source, context):
        for access, turns in _crowded(case):
            if (case.kernel, access.region.name) in seen:
                continue
            seen.add((case.kernel, access.region.name))
            yield RULE.finding(
                case.place(access.node),
                f"the lanes of a warp ask one bank of `{access.region.name}` for {turns} different words on line {case.line(access.node)}: "
                f"the access takes {turns} turns",
                fixes=_pad(case, access.region),
                kernels=(case.kernel,),
                access=AccessShape(turns=turns),
            )


def _crowded(case: Case) -> Iterator[tuple[Access, int]]:
    """Yield the accesses of 4-byte words for which a warp asks one bank at least four times."""
    lanes = min(case.launch.block[0] or 1, BANKS)
    for access in case.walk.shared:
        stride = case.stride(access) or 0
        turns = min(gcd(stride, BANKS), -(-lanes * gcd(stride, BANKS) // BANKS)) if stride else 1
        if SIZES.get(access.region.type, 4) == 4 and turns >= 4:
            yield access, turns


def _pad(case: Case, region: Region) -> Iterator[Fix]:
    """Make each row of a two-dimensional array one element longer."""
    if len(region.dims) != 2:
        return
    for declarator in descendants(region.node, "array_declarator"):
        size = declarator.child_by_field_name("size")
        inner = declarator.child_by_field_name("declarator")
        if size is not None and inner is not None and text(inner).startswith(region.name):
            if inner.type == "array_declarator":
                yield from fix(
                    "pad each row by one element",
                    [case.unit.edit(size.start_byte, size.end_byte, f"{text(size)} + 1")],
                )
                return


RULE = rule_of(__file__, check)

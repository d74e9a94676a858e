"""PRF004: memory is gone over once more than needed: read twice, or filled before it is written."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.page_file import rule_of
from grader.source import Source
from grader.source.analysis.host_code import global_regions, made_by
from grader.source.analysis.walks import Case, cases
from grader.source.flow import Access, Region


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for loads at the same addresses in two loops, and for zeros that one plain store for each element replaces."""
    yield from _reads(source, context)
    yield from _fills(source, context)


def _reads(source: Source, context: Context) -> Iterator[Finding]:
    """Look for loads at the same addresses in two loops."""
    seen: set[str] = set()
    for case in cases(source, context):
        pair = _pair(case)
        if pair is not None and case.kernel not in seen:
            seen.add(case.kernel)
            first, second = pair
            yield RULE.finding(
                case.place(second.node),
                f"line {case.line(second.node)} reads `{second.region.name}` a second time, all of it, after line "
                f"{case.line(first.node)}: one pass over global memory more than needed",
                confidence="possible",
                kernels=(case.kernel,),
            )


def _pair(case: Case) -> tuple[Access, Access] | None:
    """Return two loads at the same addresses in different loops."""
    first: dict[str, list[Access]] = {}
    for access in case.walk.accesses:
        if (
            access.kind != "load"
            or not access.loops
            or access.loops[-1][1] != 0
            or access.offset is None
        ):
            continue
        for other in first.setdefault(access.region.name, []):
            same = other.offset == access.offset and case.stride(other) == case.stride(access) != 0
            if same and other.loops[-1][0] != access.loops[-1][0]:
                return other, access
        first[access.region.name].append(access)
    return None


def _fills(source: Source, context: Context) -> Iterator[Finding]:
    """Look for zeros that one plain store for each element replaces."""
    seen: set[int] = set()
    for case in cases(source, context):
        for region in global_regions(case):
            tensor = region.tensor
            if (
                tensor is None
                or tensor.origin != "zeros"
                or tensor.node.id in seen
                or not _complete(case, region)
            ):
                continue
            seen.add(tensor.node.id)
            yield RULE.finding(
                case.place(tensor.node),
                f"`{region.name}` is filled with zeros, and `{case.kernel}` then stores every element of it: one write of the whole "
                "buffer for nothing",
                fixes=made_by(case, tensor, "zeros", "empty", "do not fill it first"),
                kernels=(case.kernel,),
            )


def _complete(case: Case, region: Region) -> bool:
    if region.loads or region.atomics or case.walk.stopped:
        return False
    stores = (one for one in case.walk.accesses if one.kind == "store" and one.region is region)
    first = next((one for one in stores if one.offset is not None and one.sure), None)
    last = case.thread(-1).twin(first) if first is not None else None
    if first is None or last is None or last.offset is None:
        return False
    return first.offset == 0 and last.offset == case.walk.threads - 1 and case.stride(first) == 1


RULE = rule_of(__file__, check)

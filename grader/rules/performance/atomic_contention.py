"""PRF009: very many threads add to the same address."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.page_file import rule_of
from grader.source import Source
from grader.source.analysis.walks import cases


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for atomics on one address by more than one lane of a warp."""
    seen: set[int] = set()
    for case in cases(source, context):
        for access in case.walk.accesses:
            if access.kind != "atomic" or access.node.id in seen or not access.sure:
                continue
            if case.walk.threads > 1 and case.stride(access) == 0:
                seen.add(access.node.id)
                yield RULE.finding(
                    case.place(access.node),
                    f"neighbouring threads of each block ({case.walk.threads} threads) add to one and the same element of "
                    f"`{access.region.name}`, one after another; a sum over the block first would leave one atomic",
                    kernels=(case.kernel,),
                )


RULE = rule_of(__file__, check)

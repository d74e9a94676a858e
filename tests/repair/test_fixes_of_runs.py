"""Fixes by what a run showed: copies that nothing waits for, additions of several blocks, accumulators that nothing fills."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence, Finding, Place, UnwrittenRead
from grader.repair.fixes import all_makers
from grader.source import edits, parse

CODE = '''\
cuda = r"""
__global__ void staged(const float* x, const int* to, float* out) {
    __shared__ float s[2][32];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2];
    __pipeline_wait_prior(1);
    asm volatile("cp.async.wait_group %0;" :: "n"(1));
    out[to[threadIdx.x]] += s[0][threadIdx.x];
}
"""
'''
COPIED = UnwrittenRead(use="stored", copied=True)
ADDED = "out[to[threadIdx.x]] += s[0][threadIdx.x];"


def shown(rule: str, line: int, code: str, details: UnwrittenRead | None = None) -> Finding:
    place = Place(line=line, end_line=line, language="cuda")
    item = Evidence(kind="simulator", code=code, text="seen", place=place, related=(place,), details=details)  # fmt: skip
    return Finding(
        rule=rule, name="n", severity="error", confidence="proven", message="seen", evidence=(item,)
    )


@pytest.mark.parametrize(
    ("finding", "changes"),
    [
        (
            shown("SYN001", 7, "uninit-shared-read", COPIED),
            [("prior(1)", "prior(0)"), ("cp.async.wait_group %0", "cp.async.wait_all")],
        ),
        (
            shown("SYN006", 7, "global-race"),
            [(ADDED, "atomicAdd(&out[to[threadIdx.x]], s[0][threadIdx.x]);")],
        ),
        (
            shown("RED005", 7, "uninit-local-read"),
            [("sums[2];", "sums[2]; for (int i = 0; i < 2; ++i) wmma::fill_fragment(sums[i], 0.0f);")],
        ),
    ],
    ids=["copies", "additions", "accumulators"],
)  # fmt: skip
def test_the_first_fix_is_what_a_person_would_write(
    finding: Finding, changes: list[tuple[str, str]]
) -> None:
    makers = [maker for maker in all_makers() if finding.rule in maker.codes]
    found = [fix for maker in makers for fix in maker.propose(finding, parse(CODE), Context())]
    wanted = CODE
    for old, new in changes:
        wanted = wanted.replace(old, new)
    assert edits.apply(CODE, found[0].edits) == wanted

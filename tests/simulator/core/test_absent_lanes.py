"""What a shuffle gives of lanes that a block never had, or that have returned: an H200's own numbers (2026-11-23)."""

from __future__ import annotations

import numpy as np
import pytest

from .harness import Simulator

REDUCTION = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 d) {
    .reg .pred %p<3>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [d];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    setp.ge.u32 %p1, %r1, 16;
    @%p1 ret;
    add.u32 %r2, %r1, 1;
    mov.u32 %r3, 16;
$again:
    shfl.sync.down.b32 %r4, %r2, %r3, 31, -1;
    add.u32 %r2, %r2, %r4;
    shr.u32 %r3, %r3, 1;
    setp.ne.u32 %p2, %r3, 0;
    @%p2 bra $again;
    st.global.u32 [%rd1], %r2;
    ret;
}
"""
H200 = [136, 135, 133, 130, 126, 121, 115, 108, 100, 91, 81, 70, 58, 45, 31, 16]


@pytest.mark.parametrize("threads", [16, 32])
def test_a_lane_that_is_gone_adds_nothing_to_a_sum_and_is_told(
    simulator: Simulator, threads: int
) -> None:
    out = np.zeros(16, np.uint32)
    outcome = simulator.load_ptx(REDUCTION).launch("k", 1, threads, out)
    assert out.tolist() == H200
    assert {kind for kind, _ in outcome.kinds()} >= {"shuffle-absent-lane"}

"""Registers whose life does not follow the order of the text."""

from __future__ import annotations

import numpy as np
import pytest

from .harness import Simulator

BACKWARDS = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 d) {
    .reg .b32 %r<6>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [d];
    mov.u32 %r1, %tid.x;
    bra.uni $later;
$earlier:
    add.s32 %r2, %r1, 1000;
    st.global.u32 [%rd1+4], %r2;
    bra.uni $last;
$later:
    mov.u32 %r3, 42;
    mov.u64 %rd2, %rd1;
    bra.uni $earlier;
$last:
    st.global.u32 [%rd2], %r3;
    ret;
}
"""


def test_a_register_outlives_stretches_that_stand_before_it_in_the_text(
    simulator: Simulator,
) -> None:
    out = np.zeros(2, np.uint32)
    outcome = simulator.load_ptx(BACKWARDS).launch("k", 1, 1, out)
    assert outcome.status == "ok"
    assert out.tolist() == [42, 1000]


PACKED = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 d) {
    .reg .b16 %rs<3>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [d];
    ld.global.f32 %f1, [%rd1];
    cvt.rn.satfinite.e4m3x2.f32 %rs1, %f2, FIRST;
    st.global.u8 [%rd1], %rs1;
    ret;
}
"""


@pytest.mark.parametrize(("first", "found"), [("%f1", []), ("%f3", ["uninit-local-read"])])
def test_a_half_of_a_packed_number_without_a_source_is_of_no_use(
    simulator: Simulator, first: str, found: list[str]
) -> None:
    out = np.ones(1, np.float32)
    outcome = simulator.load_ptx(PACKED.replace("FIRST", first)).launch("k", 1, 1, out)
    assert [one["kind"] for one in outcome.findings] == found

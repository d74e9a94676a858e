"""Registers whose life does not follow the order of the text."""

from __future__ import annotations

import numpy as np
import pytest

from grader.simulator.ptx.decode import decode
from grader.simulator.ptx.encode import encode

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


UNTOUCHED = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 d) {
    .reg .pred %p<2>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [d];
    ld.global.u32 %r1, [%rd1];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 ld.global.u32 %r3, [%rd1];
    prmt.b32 %r2, %r1, OTHER, 0x3210;
    st.global.u32 [%rd1], %r2;
    ret;
}
"""
"""`%r3` is read where a mask has left it out; `%r4` is a compiler's placeholder for bytes that don't matter."""


@pytest.mark.parametrize(
    ("other", "of_blocks", "found"),
    [
        ("%r4", True, []),
        ("%r4", False, ["uninit-local-read"]),
        ("%r3", True, ["uninit-local-read"]),
    ],
)
def test_what_nothing_writes_is_the_compilers_own_choice_where_variables_have_values(
    simulator: Simulator, other: str, of_blocks: bool, found: list[str]
) -> None:
    program = decode(UNTOUCHED.replace("OTHER", other), of_blocks=of_blocks)
    outcome = simulator.load(encode(program)).launch("k", 1, 1, np.ones(1, np.uint32))
    assert [one["kind"] for one in outcome.findings] == found

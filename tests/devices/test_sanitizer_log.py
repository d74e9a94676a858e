"""The parser of compute-sanitizer's text: on logs of version 2025.3.1 from an H200, and on text of any shape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.devices.cuda.sanitizer_log import SENTENCES, read, to_evidence
from grader.source import parse

MEMCHECK = """\
printed by the program
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at shift(const float *, float *, int)+0xd0 in /tmp/ext/shift_ext/cuda.cu:{line}
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f2d4c9ffffc is out of bounds
=========     and is 4 bytes before the nearest allocation at 0x7f2d4ca00000 of size 4,096 bytes
=========
========= Invalid __global__ read of size 4 bytes
=========     at shift(const float *, float *, int)+0xd0 in /tmp/ext/shift_ext/cuda.cu:{line}
=========     by thread (1,0,0) in block (0,0,0)
=========     Address 0x7f2d4c9ffffc is out of bounds
=========
========= Program hit cudaErrorLaunchFailure (error 719) due to "unspecified launch failure" on CUDA API call to cudaDeviceSynchronize.
=========     Saved host backtrace up to driver entry point at error
=========     Host Frame: [0x2f7e3c] in libcuda.so.1
=========
========= ERROR SUMMARY: 3 errors
"""
RACECHECK = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at sum(const float *, float *)+0x1a0 in /x/cuda.cu:8
=========     and Read access at sum(const float *, float *)+0x1d0 in /x/cuda.cu:9 [496 hazards]
=========
========= Info: Race reported between Write access at sum(const float *, float *)+0x20 in /x/cuda.cu:7
=========     and Write access at sum(const float *, float *)+0x20 in /x/cuda.cu:7 [8 hazards]
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 0 warnings)
"""
OTHERS = """\
========= Barrier error detected. Divergent thread(s) in block
=========     at wait(float *)+0x90 in /x/cuda.cu:4
=========     by thread (32,0,0) in block (1,0,0)
=========
========= Uninitialized __global__ memory read of size 4 bytes
=========     at copy(float *)+0x90 in /x/cuda.cu:5
=========     by thread (3,0,0) in block (2,0,0)
=========
========= Invalid __shared__ write of size 4 bytes
=========     at fill(float *)+0x90 in /x/cuda.cu:6
=========     by thread (64,0,0) in block (0,0,0)
=========     Address 0x100 is out of bounds
=========
========= Invalid __global__ read of size 16 bytes
=========     at wide(float4 *)+0x90 in /x/cuda.cu:7
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f2d4ca00004 is misaligned
"""
CODE = '''
from torch.utils.cpp_extension import load_inline
source = """
#include <torch/extension.h>
__global__ void shift(const float* x, float* y, int n) {
    y[threadIdx.x] = x[threadIdx.x - 1];
}
"""
ext = load_inline(name="shift_ext", cpp_sources="", cuda_sources=source)
'''


def test_equal_places_are_one_report_with_its_count() -> None:
    (report,) = read(MEMCHECK.format(line=8))
    assert (report.kind, report.line, report.count) == ("out-of-bounds", 8, 2)
    assert (report.thread, report.block) == ((0, 0, 0), (0, 0, 0))
    assert "out of bounds" in report.details


def test_a_place_is_the_submission_s_own_line() -> None:
    source = parse(CODE)
    wanted = 1 + CODE.splitlines().index("    y[threadIdx.x] = x[threadIdx.x - 1];")
    line = next(
        n for n in range(1, 40) if (p := source.compiled_place("cuda.cu", n)) and p.line == wanted
    )
    (evidence,) = to_evidence(read(MEMCHECK.format(line=line)), source, "16x16")
    assert evidence.kind == "sanitizer"
    assert evidence.place is not None
    assert evidence.place.line == wanted
    assert evidence.actor is not None
    assert evidence.actor.thread == (0, 0, 0)
    assert evidence.count == 2


def test_a_race_has_two_places_and_one_value_is_none() -> None:
    (report,) = read(RACECHECK)
    assert (report.kind, report.line, report.other_line) == ("race", 8, 9)
    assert report.count == 496


def test_each_tool_s_kind_is_the_simulator_s() -> None:
    kinds = [report.kind for report in read(OTHERS)]
    assert kinds == [
        "barrier-divergence", "uninit-global-read", "shared-out-of-bounds", "misaligned",
    ]  # fmt: skip
    assert [report.line for report in read(OTHERS)] == [4, 5, 6, 7]


@pytest.mark.parametrize("text", ["", "no mark at all", "========= ", "========= \n=========  at"])
def test_nothing_is_no_report(text: str) -> None:
    assert read(text) == ()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from((MEMCHECK + RACECHECK + OTHERS).splitlines()), st.text()))
)
def test_any_text_is_read(lines: list[str]) -> None:
    reports = read("\n".join(lines))
    assert {report.kind for report in reports} <= SENTENCES.keys()
    for evidence in to_evidence(reports, parse(CODE), "w"):
        assert evidence.text.isascii()


RECORDED = Path(__file__).parents[1] / "gpu" / "recorded" / "sanitizer_logs.json"
LOGS: dict[str, str] = json.loads(RECORDED.read_text("utf-8"))
IN_THEM = {
    "before_the_start memcheck": ("out-of-bounds", 13),
    "misaligned_vector memcheck": ("misaligned", 23),
    "shared_overrun memcheck": ("shared-out-of-bounds", 150),
    "stack_overflow memcheck": ("stack-overflow", 442),
    "missing_barrier racecheck": ("race", 10),
    "plain_sum racecheck": ("race", 67),
    "volatile_warp racecheck": ("race", 41),
    "two_lines_in_warp synccheck": ("barrier-divergence", 71),
    "barrier_for_one_warp synccheck": ("barrier-divergence", 114),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_real_log(name: str) -> None:
    found = read(LOGS[name])
    assert {(report.kind, report.line) for report in found} == {IN_THEM[name]}
    assert all(report.file.endswith(".cu") and report.kernel for report in found)
    assert all(len(report.thread) == 3 for report in found if report.kind != "race")

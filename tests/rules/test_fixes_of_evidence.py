"""Fixes that rest on what a run showed alone: its lines, and what stands there."""

from __future__ import annotations

import pytest

from grader.records import Evidence, Place
from grader.repair.fixes.shared_memory import fill_arrays, of_the_race
from grader.repair.fixes.whole_warp import full_mask
from grader.source import parse
from grader.source.edits import apply
from tests.rules.examples import as_submission

TURNS = """
__global__ void passes(const float* x, float* y, int n) {
    __shared__ float cells[128];
    __shared__ float first;
    float sum = 0.0f;
    for (int at = 0; at < n; at += 128) {
        cells[threadIdx.x] = x[at + threadIdx.x];
        first = x[at];
        for (int k = threadIdx.x; k < 4; k += 128) {
            sum += cells[k] + first;
        }
        sum += cells[127 - threadIdx.x];
    }
    y[threadIdx.x] = __shfl_xor_sync(0xffff, sum, 1);
}
"""
CODE = as_submission(TURNS)


def line_of(words: str) -> int:
    return next(k for k, line in enumerate(CODE.splitlines(), 1) if words in line)


def seen(code: str, here: str, *others: str) -> Evidence:
    place, *related = (
        Place(line=line_of(words), end_line=line_of(words)) for words in (here, *others)
    )
    return Evidence(kind="simulator", code=code, text="", place=place, related=tuple(related))


def fixed(evidence: Evidence) -> list[list[str]]:
    """Return the lines that each fix adds or leaves changed, with the line before the first of them."""
    found = []
    for made in of_the_race(parse(CODE), evidence):
        lines, old = apply(CODE, made.edits).splitlines(), CODE.splitlines()
        at = next(k for k, line in enumerate(lines) if line != old[k])
        found.append([lines[at - 1].strip(), lines[at].strip()])
    return found


def test_a_barrier_lies_between_two_accesses_of_one_turn() -> None:
    first, *_ = fixed(seen("race", "sum += cells[127", "cells[threadIdx.x] ="))
    assert first == ["}", "__syncthreads();"]


def test_a_race_with_the_next_turn_is_kept_away_at_the_end_of_the_turn() -> None:
    (only,) = fixed(seen("race", "cells[threadIdx.x] =", "sum += cells[127"))
    assert only == ["sum += cells[127 - threadIdx.x];", "__syncthreads();"]


def test_no_barrier_is_put_where_threads_go_their_own_ways() -> None:
    """The inner loop begins at the thread's number: a barrier in it would hold up those that are in it."""
    found = fixed(seen("race", "sum += cells[k]", "sum += cells[k]"))
    assert found == [["sum += cells[127 - threadIdx.x];", "__syncthreads();"]]


def test_a_second_use_of_a_librarys_scratch_waits_for_the_first() -> None:
    code = as_submission("""
    __global__ void sums(const float* x, float* y) {
        __shared__ Scratch scratch;
        float one = Reduce(scratch).Sum(x[threadIdx.x]);
        float two = Reduce(scratch).Sum(x[threadIdx.x] * x[threadIdx.x]);
        if (threadIdx.x == 0) y[blockIdx.x] = one + two;
    }
    """)
    line = next(n for n, text in enumerate(code.splitlines(), 1) if "float two" in text)
    place = Place(line=line, end_line=line)
    proof = Evidence(kind="simulator", code="race", text="", place=place, related=(place,))
    made = [apply(code, fix.edits).splitlines() for fix in of_the_race(parse(code), proof)]
    assert any("__syncthreads();" in lines[line - 1] for lines in made)


SUMMED_TWICE = as_submission("""
__device__ float block_sum(float v, float* cells) {
    v += __shfl_xor_sync(0xffffffff, v, 16);
    cells[threadIdx.x / 32] = v;
    __syncthreads();
    return cells[0] + cells[1];
}
__global__ void spread(const float* x, float* y) {
    __shared__ float cells[2];
    float mean = block_sum(x[threadIdx.x], cells) / 64;
    y[threadIdx.x] = block_sum((x[threadIdx.x] - mean) * (x[threadIdx.x] - mean), cells);
}
""")


def test_a_second_call_meets_before_it_stores_what_the_first_returned() -> None:
    lines = SUMMED_TWICE.splitlines()
    store, read = (
        next(n for n, line in enumerate(lines, 1) if words in line)
        for words in ("cells[threadIdx.x / 32] =", "return cells[0]")
    )
    item = Evidence(
        kind="simulator",
        code="race",
        text="a race",
        place=Place(line=store, end_line=store),
        related=(Place(line=read, end_line=read),),
    )
    first = next(iter(of_the_race(parse(SUMMED_TWICE), item)))
    assert "    __syncthreads();\n    cells[threadIdx.x / 32] = v;" in apply(
        SUMMED_TWICE, first.edits
    )


def test_several_threads_add_to_one_cell_with_an_atomic() -> None:
    code = CODE.replace("first = x[at];", "cells[(int)x[at]] += 2.0f;")
    line = next(n for n, words in enumerate(code.splitlines(), 1) if "+= 2.0f" in words)
    place = Place(line=line, end_line=line)
    item = Evidence(kind="simulator", code="race", text="a race", place=place, related=(place,))
    first = next(iter(of_the_race(parse(code), item)))
    assert "        atomicAdd(&cells[(int)x[at]], 2.0f);\n" in apply(code, first.edits)


def test_one_thread_stores_what_all_store() -> None:
    (_, first), *_ = fixed(seen("race", "first = x[at]", "first = x[at]"))
    assert first.startswith("if (threadIdx.x == 0")
    assert first.endswith(") first = x[at];")


@pytest.mark.parametrize("code", ["sync-lane-not-in-mask", "shuffle-absent-lane"])
def test_the_mask_names_every_lane(code: str) -> None:
    (made,) = full_mask(parse(CODE), seen(code, "__shfl_xor_sync"))
    assert "__shfl_xor_sync(0xffffffff, sum, 1)" in apply(CODE, made.edits)


def test_lanes_that_have_left_are_no_matter_of_the_mask() -> None:
    assert not list(full_mask(parse(CODE), seen("sync-exited-lanes", "__shfl_xor_sync")))


def test_an_array_is_zero_before_it_is_read() -> None:
    cells, first = fill_arrays(parse(CODE), seen("uninit-shared-read", "sum += cells[k]"))
    assert "cell += blockDim.x) cells[cell] = 0;\n    __syncthreads();" in apply(CODE, cells.edits)
    assert "if (threadIdx.x == 0) first = 0;" in apply(CODE, first.edits)


def test_dynamic_memory_is_zero_as_far_as_an_index_into_it_reaches() -> None:
    """The counts of a histogram, whose size the launch says."""
    kernel = """
__global__ void count(const int* x, int* counts, int n, int bins) {
    extern __shared__ int own[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&own[x[i]], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += blockDim.x) counts[b] = own[b];
}
"""
    code = as_submission(kernel)
    line = next(n for n, words in enumerate(code.splitlines(), 1) if "atomicAdd" in words)
    item = Evidence(kind="sanitizer", code="uninit-shared-read", text="", place=Place(line=line, end_line=line, language="cuda"))  # fmt: skip
    (fix,) = fill_arrays(parse(code), item)
    assert "cell < bins; cell += blockDim.x) own[cell] = 0;" in apply(code, fix.edits)

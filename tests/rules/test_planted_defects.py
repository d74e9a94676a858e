"""One defect planted in a correct kernel: found as an error (or warning), at its line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.records import Context, Evidence
from tests.rules.examples import as_submission

from .test_correct_kernels import review

KERNELS = Path(__file__).parent / "kernels"


@dataclass(frozen=True)
class Planted:
    """A change of a kernel, the rules that may find it, and words of the line to be named."""

    kernel: str
    old: str
    new: str
    codes: tuple[str, ...]
    line: str
    severity: str = "error"
    name: str = ""


P = Planted
DEFECTS = [
    # synchronisation
    P("tree_sum", "sum += fabsf", "sum += fabsf", (), "", name="unchanged"),
    P("tree_barrier_first", "    buf[t] = sum;\n", "", ("RED002",), "sum +="),
    P(
        "tiled_matmul",
        "        As[threadIdx.y][threadIdx.x] = (row < M && a_col < K) ? A[row * K + a_col] : 0.0f;",
        "        if (row < M && a_col < K) As[threadIdx.y][threadIdx.x] = A[row * K + a_col];",
        (),
        "",
        name="guarded tile",
    ),
    P(
        "two_kernels",
        "__global__ void divide(const float* __restrict__ x, const float* __restrict__ sums,",
        "__global__ void divide(const float* __restrict__ x, const float* sums,",
        (),
        "",
        name="harmless change",
    ),
    # reductions
    P(
        "row_l2_two_stage",
        "    if (lane == 0) part[warp] = total;\n    __syncthreads();\n    total = lane < blockDim.x / 32 ? part[lane] : scalar_t(0);\n    for (int o = 16; o > 0; o >>= 1) total += __shfl_xor_sync(0xffffffff, total, o);\n",
        "",
        ("RED002",),
        "for (int o = 16",
    ),
    P(
        "block_of_one_warp",
        "    s = __shfl_sync(0xffffffff, s, 0);\n",
        "",
        ("RED002",),
        "__shfl_down_sync",
    ),
    P(
        "block_of_one_warp",
        "for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);",
        "float q = 0.f;\n    for (int o = 16; o > 0; o >>= 1) q += __shfl_down_sync(0xffffffff, s, o);\n    s = q;",
        ("RED002",),
        "q += __shfl_down_sync",
    ),
    P(
        "block_of_one_warp",
        "for (int o = 16; o > 0; o >>= 1)",
        "for (int o = 8; o > 0; o >>= 1)",
        ("RED002",),
        "__shfl_down_sync",
    ),
    P("tree_sum", "int k = blockDim.x / 2;", "int k = blockDim.x / 4;", ("RED002",), "k"),
    P("tree_sum", "k > 0; k >>= 1", "k > 1; k >>= 1", ("RED002",), ""),
    P("tree_sum", "const int block = 256;", "const int block = 192;", ("RED004",), "k >>= 1"),
    P("early_return_uniform", "int k = 64; k >= 1", "int k = 64; k > 1", ("RED002",), ""),
    P(
        "atomic_per_warp",
        "if ((threadIdx.x & (warpSize - 1)) == 0) atomicAdd(out, v);",
        "if (threadIdx.x == 0) out[blockIdx.x] = v;",
        ("RED002",),
        "for (int o = warpSize / 2",
    ),
    P("early_return_uniform", "float m = -FLT_MAX;", "float m = FLT_MIN;", ("RED005",), "FLT_MIN"),
    P("max_pool", "float best = -INFINITY;", "float best = 0.0f;", ("RED005",), "best = 0.0f"),
    P("tree_sum", "float sum = 0.0f;", "float sum;", ("RED005",), "sum += fabsf"),
    # memory
    P(
        "atomic_block_sum",
        "torch::zeros({}, a.options())",
        "torch::empty({}, a.options())",
        ("MEM008",),
        "torch::empty",
    ),
    P(
        "histogram_shared",
        "torch::zeros({256}, x.options())",
        "torch::empty({256}, x.options())",
        ("MEM008",),
        "torch::empty",
    ),
    # indices
    # numerics
    P(
        "tree_barrier_first",
        "sum += __expf(src[c] - peak);",
        "sum += __expf(src[c]);",
        (),
        "",
        name="maximum taken but not used",
    ),
]


def _lines(code: str) -> list[str]:
    return as_submission(code).splitlines()


PARTIAL = Evidence(kind="mismatch", code="partial", text="a part of each sum is missing")
"""What a run shows of a step that loses values: the text alone accuses no step of being odd."""


@pytest.mark.parametrize(
    "planted", DEFECTS, ids=lambda p: f"{p.kernel}-{p.name or p.codes}-{p.new[:18]!r}"
)
def test_is_found_at_its_line(planted: Planted) -> None:
    text = (KERNELS / f"{planted.kernel}.cu").read_text()
    assert planted.old in text
    code = text.replace(planted.old, planted.new)
    context = Context(evidence=(PARTIAL,)) if planted.codes == ("RED002",) else Context()
    found = [
        f
        for f in review(code, context=context)
        if f.severity == "error" or f.severity == planted.severity
    ]
    if not planted.codes or planted.name == "guard of another form":
        return
    lines = _lines(code)
    hits = [f for f in found if f.rule in planted.codes]
    assert hits, [f"{f.rule}: {f.message}" for f in found]
    shown = [lines[f.place.line - 1] for f in hits if f.place is not None]
    assert any(planted.line in line for line in shown), shown


def test_there_are_many_defects() -> None:
    assert sum(1 for planted in DEFECTS if planted.codes) >= 15

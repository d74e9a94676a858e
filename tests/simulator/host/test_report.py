"""Reports come from a process that ran generated code: read them right, and survive any of them."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from grader.records import Race
from grader.simulator import reader, report
from grader.source import parse

CODE = '''import torch
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void total(const float* x, float* y) {
    __shared__ float part[256];
    part[threadIdx.x] = x[threadIdx.x];
    y[0] = part[threadIdx.x ^ 1];
}
void run(torch::Tensor x, torch::Tensor y) {
    total<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
}
"""
module = load_inline(name="total", cpp_sources="void run(torch::Tensor x, torch::Tensor y);",
                     cuda_sources=source, functions=["run"])
'''
SOURCE = parse(CODE)
LINES = CODE.splitlines()
READ = next(i for i, line in enumerate(LINES, 1) if "part[threadIdx.x ^ 1]" in line)
WRITE = next(i for i, line in enumerate(LINES, 1) if "= x[threadIdx.x]" in line)


def compiled(line: int) -> int:
    """Line in cuda.cu: load_inline puts three includes before the string, which opens on line 4."""
    return line - 4 + 1 + 3


def finding(**more: Any) -> dict[str, Any]:
    return {
        "kind": "race",
        "kernel": "_Z5totalPKfPf",
        "file": "/scratch/extensions/total/cuda.cu",
        "line": compiled(READ),
        "frames": [["/scratch/extensions/total/cuda.cu", compiled(READ)]],
        "count": 17,
        "block": [0, 0, 0],
        "thread": [3, 0, 0],
        "other": {
            "file": "/scratch/extensions/total/cuda.cu",
            "line": compiled(WRITE),
            "frames": [],
            "block": [0, 0, 0],
            "thread": [2, 0, 0],
            "what": "write",
        },
        "text": "Threads 2 and 3 race",
        "data": {"conflict": "write-read"},
        **more,
    }


def test_a_race_is_evidence_at_both_lines() -> None:
    seen = {
        "core": {"findings": [finding()]},
        "host": {"names": {"_Z5totalPKfPf": "total(float const*, float*)"}},
    }
    (evidence,), _, _ = report.to_evidence(seen, SOURCE, "w")
    assert evidence.place is not None
    assert evidence.place.line == READ
    assert [place.line for place in evidence.related] == [WRITE]
    assert evidence.count == 17
    assert evidence.kernel == "total"
    assert evidence.other_actor is not None
    assert (evidence.other_actor.thread, evidence.other_actor.did) == ((2, 0, 0), "write")
    assert evidence.details == Race(conflict="write-read")
    assert evidence.workload == "w"


def test_a_sentence_names_the_lines_of_the_extension_that_it_is_about() -> None:
    first = CODE.replace("total", "other").replace("module", "before")
    line = compiled(WRITE)
    seen = {"core": {"findings": [finding(text=f"reads what thread 2 wrote at line {line}")]}}
    (evidence,), _, _ = report.to_evidence(seen, parse(first + CODE), "w")
    assert evidence.related[0].line == WRITE + len(LINES)
    assert f"at line {WRITE + len(LINES)}" in evidence.text


def test_lines_in_headers_are_led_back_to_the_submission() -> None:
    frames = [["/usr/include/cuda_fp16.hpp", 100], ["x/total/cuda.cu", compiled(WRITE)]]
    entry = finding(file="", line=0, frames=frames)
    (evidence,), _, _ = report.to_evidence({"core": {"findings": [entry]}}, SOURCE)
    assert evidence.place is not None
    assert evidence.place.line == WRITE


def test_counts_stand_at_lines() -> None:
    line = {
        "kernel": "_Z5totalPKfPf",
        "file": "cuda.cu",
        "line": compiled(WRITE),
        "instructions": {"integer": 4, "load_global": 2},
        "accesses": 256,
        "sectors": 32,
        "ideal_sectors": 32,
        "requests": 8,
    }
    _, (count,), _ = report.to_evidence({"core": {"lines": [line]}}, SOURCE)
    assert (count.line, count.instructions, count.sectors) == (WRITE, 6, 32)


def test_launches_know_their_occupancy() -> None:
    launch = {"kernel": "k", "grid": [4, 1, 1], "block": [256, 1, 1], "shared": 0, "count": 2}
    fit = {
        "kernel": "k",
        "threads": 256,
        "shared": 0,
        "registers": 32,
        "blocks": 2,
        "limiter": "registers",
        "warps": 16,
        "most_warps": 64,
    }
    seen = {"core": {"launches": [launch]}, "host": {"fits": [fit]}}
    _, _, (found,) = report.to_evidence(seen, SOURCE)
    assert found.limits["occupancy"] == 0.25
    assert found.limits["limiter"] == "registers"


def test_a_launch_error_that_nobody_asked_for_is_said_so() -> None:
    error = {"kernel": "k", "error": "cudaErrorInvalidConfiguration", "reason": "2048 threads"}
    host = {"launch_errors": [{**error, "seen": False}, {**error, "seen": True}]}
    evidence, _, _ = report.to_evidence({"host": host}, SOURCE)
    assert [item.code for item in evidence] == ["launch-error-unseen", "launch-error"]
    assert "never queries" in evidence[0].text


def test_names_lose_return_type_and_parameters() -> None:
    assert reader.short("void sum<float>(float const*, (anonymous namespace)::F)") == "sum<float>"
    assert reader.short("main") == "main"


def test_what_is_no_kind_of_ours_is_dropped() -> None:
    entries = [finding(kind="verdict-correct"), finding(kind=7), "no dict", None]
    assert report.to_evidence({"core": {"findings": entries}}, SOURCE) == ((), (), ())


KEYS = (
    *("core", "host", "findings", "launches", "lines", "kind", "kernel", "file", "line", "frames"),
    *("count", "block", "thread", "other", "text", "data", "names", "fits", "not_run", "seen"),
    *("unwritten", "shape", "bytes", "of", "hung", "sticky", "launch_errors", "grid", "shared"),
    *("instructions", "accesses", "operators", "host_pointers", "parameter", "null", "output"),
)
junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["race", "cuda.cu", "/a/total/cuda.cu", "core", "\x1b[31m"]),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=8,
        )
    ),
    max_leaves=40,
)


@settings(max_examples=200, deadline=None)
@given(junk)
def test_any_json_is_survived(value: Any) -> None:
    evidence, counts, launches = report.to_evidence(value, SOURCE)
    outcome = report.outcome(value)
    for item in evidence:
        assert item.code in {*report.KINDS, *report.OF_THE_HOST}
        assert item.text.isprintable()
        item.model_dump_json()
    assert all(count.model_dump_json() for count in counts)
    assert all(launch.model_dump_json() for launch in launches)
    assert outcome.hung.isprintable()


def test_no_report_is_too_long() -> None:
    entries = [finding() for _ in range(report.MOST_FINDINGS + 100)]
    evidence, _, _ = report.to_evidence({"core": {"findings": entries}}, SOURCE)
    assert len(evidence) == report.MOST_FINDINGS


def counted(accesses: int, *stores: int, calls: dict[str, int] | None = None) -> dict[str, Any]:
    core = {
        "launches": [{"kernel": "_Z4fillPf", "accesses": accesses}],
        "lines": [{"stores": count} for count in stores],
    }
    return {"simulator": {"core": core, "host": {"calls": calls or {}}}}


def test_kernels_that_only_store_have_read_nothing() -> None:
    assert report.only_stores(counted(96, 64, 32))
    assert not report.only_stores(counted(96, 64))
    assert not report.only_stores(counted(0))
    assert not report.only_stores(counted(96, 96, calls={"cudaMemcpyAsync": 1}))
    assert not report.only_stores(None)

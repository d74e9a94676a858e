"""CUDA programs for tasks of today, as models write them: right ones, and the same with one mistake, on the simulator.

`cuda/NAME.py` is right, and its first line says the task. All are examined by `python -m tests.tasks.test_cuda`; one in each run
of the tests.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from grader import pipeline
from grader.config import Options
from grader.pipeline.review import assess, review
from grader.records import Sample, Verdict
from grader.store import Store

FOLDER = Path(__file__).parent / "cuda"
MISTAKES: dict[str, dict[str, tuple[str, str]]] = {
    "fp8_gemm": {
        "the scale of the first block": ("sb[(col / 128) * kb + k0 / 128]", "sb[(col / 128) * kb]"),
        "sums of all blocks take the last scale": ("(k0 + TILE) % 128 == 0 || k0 + TILE >= K", "k0 + TILE >= K"),
    },
    "moe": {
        "threads of a block wait for none": ("    __syncthreads();\n    int f", "    int f"),
        "weights of the place in the sorted order": ("weights[pair] * acc", "weights[blockIdx.y] * acc"),
    },
    "mxfp4": {
        "the upper half first": ("make_float4(E2M1[v & 15] * scale, E2M1[(v >> 4) & 15] * scale", "make_float4(E2M1[(v >> 4) & 15] * scale, E2M1[v & 15] * scale"),
        "another bias": ("- 127.0f", "- 128.0f"),
    },
    "nms": {
        "boxes that are far": ("block_boxes[j]) > thr", "block_boxes[j]) < thr"),
        "places instead of boxes": ("keep[order[i]] = true", "keep[i] = true"),
    },
    "paged_attention": {
        "one key too few": ("const int len = lengths[b];", "const int len = lengths[b] - 1;"),
        "sums of other maxima": ("L += s_sum[w] * __expf(s_max[w] - M)", "L += s_sum[w]"),
    },
    "quantise_fp8": {
        "the first warp's largest": ("for (int w = 1; w < 8; ++w) amax", "for (int w = 1; w < 1; ++w) amax"),
        "scaled for the other type": ("/ 448.f", "/ 57344.f"),
    },
    "quantise_int8": {
        "cut off": ("__float2int_rn(in[c] / sc)", "(int)(in[c] / sc)"),
        "the largest, not the largest size": ("m = fmaxf(m, fabsf(in[c]))", "m = fmaxf(m, in[c])"),
    },
    "rms_norm_bf16": {
        "the mean over the threads": ("t / cols", "t / blockDim.x"),
        "the residual left out of the norm": ("ss += v * v;", "ss += __bfloat162float(x[base + i]) * __bfloat162float(x[base + i]);"),
    },
    "swiglu_half": {
        "the other gate": ("g.y / (1.0f + __expf(-g.y)) * u.y", "g.y / (1.0f + __expf(-g.x)) * u.y"),
        "1% too large": ("* u.x;", "* u.x * 1.01f;"),
    },
    "top_p": {
        "the one that crosses p left out": ("kept < p) kept += pr[n++];", "kept + pr[n] < p) kept += pr[n++];"),
        "the share of all": ("u[r] * kept", "u[r]"),
    },
    "w4a16": {
        "signed nibbles": ("v.x * (lo - 8)", "v.x * (lo > 7 ? lo - 16 : lo)"),
        "the upper half first": (">> (8 * j)) & 0xF;", ">> (8 * j + 4)) & 0xF;"),
    },
}  # fmt: skip
QUICK = {"quantise_int8": "cut off"}


def judged(name: str, mistake: str | None, cache: Path | None) -> Verdict:
    """Return the verdict on a program, right or with one mistake, whose task the grader finds by itself."""
    first, _, code = (FOLDER / f"{name}.py").read_text("utf-8").partition("\n")
    if mistake is not None:
        old, new = MISTAKES[name][mistake]
        assert old in code
        code = code.replace(old, new, 1)
    asked: Any = first.rpartition("-")[2] if first.endswith(("-bf16", "-fp16")) else None
    options = Options(device="sim", repair=False, dtype=asked, cache=cache)
    shop = pipeline.open_context(options, Store(cache), 20261127)
    text = f"Here is the kernel.\n\n```python\n{code}```\n"
    sample = Sample(id=name, origin=name, format="transcript", text=text)
    if mistake is not None:
        return assess(shop, sample).evaluation.verdict
    found = review(shop, sample)
    assert found.task.name == first.removeprefix("# task: ").strip()
    return found.verdict


@pytest.mark.parametrize("name", QUICK)
def test_right_and_wrong_are_told(name: str, tmp_path: Path) -> None:
    right, wrong = judged(name, None, tmp_path), judged(name, QUICK[name], tmp_path)
    assert (right.status, right.general) == ("correct", True), right.sentence
    assert wrong.status == "incorrect"


def test_each_program_has_two_mistakes() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(MISTAKES)
    assert all(len(mistakes) == 2 for mistakes in MISTAKES.values())


if __name__ == "__main__":
    for name in sys.argv[1:] or MISTAKES:
        for mistake in (None, *MISTAKES[name]):
            verdict = judged(name, mistake, None)
            right = (verdict.status == "correct") == (mistake is None)
            print("" if right else "DIFFERS", name, mistake or "right", verdict.status, verdict.sentence[:200], flush=True)  # fmt: skip

"""A program whose task nobody knows runs on inputs of its own, and is fixed by what runs show."""

from __future__ import annotations

from grader import pipeline
from grader.config import Options
from grader.pipeline import review as stages
from grader.records import Sample
from grader.store import Store

ANSWER = '''import torch
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
__global__ void mix(const float* x, float* y, int n) {
    __shared__ float tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.f;
    BARRIER
    if (i < n) y[i] = tile[127 - threadIdx.x] * 3.f + x[i];
}
torch::Tensor mix_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    mix<<<(x.numel() + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""
module = load_inline(name="mix", cpp_sources="torch::Tensor mix_cuda(torch::Tensor x);", cuda_sources=source, functions=["mix_cuda"])

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.mix_cuda(x.contiguous())

if __name__ == "__main__":
    print(ModelNew()(torch.randn(500, device="cuda")))
'''


def _reviewed(tmp_path, code: str, device: str = "sim"):
    grading = pipeline.open_context(Options(device=device, cache=tmp_path), Store(tmp_path), 7)
    return stages.review(grading, Sample(id="s", origin="s", format="python", text=code))


def test_a_race_is_proven_and_its_fix_is_examined_though_no_values_are_expected(tmp_path):
    review = _reviewed(tmp_path, ANSWER.replace("BARRIER", ""))
    assert review.verdict.status == "no_task"
    assert review.task.name is None
    assert [(f.rule, f.confidence) for f in review.findings if f.severity == "error"] == [
        ("SYN002", "proven")
    ]
    assert review.verdict.cause is not None
    (repair,) = review.repairs
    assert "__syncthreads" in repair.code
    assert repair.evaluation.verdict.unhurt


def test_a_sound_program_is_not_changed_and_a_text_says_what_a_run_would(tmp_path):
    right = ANSWER.replace("BARRIER", "__syncthreads();")
    review = _reviewed(tmp_path, right)
    assert (review.verdict.status, review.verdict.unhurt) == ("no_task", True)
    assert not review.repairs
    read = _reviewed(tmp_path, right, "none")
    assert "show in runs alone" in " ".join(read.verdict.reasons)

"""Answers with a backward of their own, graded whole on the simulator."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader import build as building
from grader.config import Options
from grader.pipeline import GradingContext, open_context
from grader.pipeline.review import review as reviewed
from grader.records import Review, Sample
from grader.store import Store
from tests.whole import ENOUGH_FOR_RUNS

pytestmark = pytest.mark.skipif(not building.discover().builds, reason="can't build here")
SOFTMAX = r'''import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
#include <cfloat>
__device__ float block_reduce(float v, float* shared, bool maximum) {
    shared[threadIdx.x] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            float o = shared[threadIdx.x + s];
            shared[threadIdx.x] = maximum ? fmaxf(shared[threadIdx.x], o) : shared[threadIdx.x] + o;
        }
        __syncthreads();
    }
    float r = shared[0];
    __syncthreads();
    return r;
}
__global__ void softmax_forward_kernel(const float* x, float* y, int cols) {
    __shared__ float shared[256];
    const float* row = x + (size_t)blockIdx.x * cols;
    float* out = y + (size_t)blockIdx.x * cols;
    float m = -FLT_MAX;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) m = fmaxf(m, row[i]);
    m = block_reduce(m, shared, true);
    float sum = 0.f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(row[i] - m);
    sum = block_reduce(sum, shared, false);
    for (int i = threadIdx.x; i < cols; i += blockDim.x) out[i] = expf(row[i] - m) / sum;
}
__global__ void softmax_backward_kernel(const float* grad_out, const float* y, float* grad_in, int cols) {
    __shared__ float shared[256];
    size_t base = (size_t)blockIdx.x * cols;
    float dot = 0.f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) dot += grad_out[base + i] * y[base + i];
    dot = block_reduce(dot, shared, false);
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        grad_in[base + i] = y[base + i] * (grad_out[base + i] - dot);
}
torch::Tensor softmax_forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    softmax_forward_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
torch::Tensor softmax_backward(torch::Tensor grad_out, torch::Tensor y) {
    auto grad_in = torch::empty_like(y);
    softmax_backward_kernel<<<y.size(0), 256>>>(grad_out.data_ptr<float>(), y.data_ptr<float>(), grad_in.data_ptr<float>(), y.size(1));
    return grad_in;
}
"""
cpp = "torch::Tensor softmax_forward(torch::Tensor x); torch::Tensor softmax_backward(torch::Tensor grad_out, torch::Tensor y);"
ops = load_inline(name="softmax_ops", cpp_sources=cpp, cuda_sources=src, functions=["softmax_forward", "softmax_backward"])

class SoftmaxFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = ops.softmax_forward(x.contiguous())
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        y, = ctx.saved_tensors
        return ops.softmax_backward(grad_output.contiguous(), y)

class ModelNew(nn.Module):
    def forward(self, x):
        return SoftmaxFunction.apply(x)
'''
BAG = r'''import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
__global__ void bag_forward(const long* idx, const float* table, const float* w, float* out, int bags, int per, int dim) {
    int b = blockIdx.x;
    for (int d = threadIdx.x; d < dim; d += blockDim.x) {
        float acc = 0.f;
        for (int k = 0; k < per; k++) acc += w[b * per + k] * table[idx[b * per + k] * dim + d];
        out[b * dim + d] = acc;
    }
}
__global__ void bag_backward(const float* g, const long* idx, const float* table, const float* w, float* gtable, float* gw, int bags, int per, int dim) {
    int b = blockIdx.x;
    __shared__ float part[128];
    for (int k = 0; k < per; k++) {
        long row = idx[b * per + k];
        float dot = 0.f;
        for (int d = threadIdx.x; d < dim; d += blockDim.x) {
            float go = g[b * dim + d];
            dot += go * table[row * dim + d];
            atomicAdd(&gtable[row * dim + d], w[b * per + k] * go);
        }
        part[threadIdx.x] = dot;
        __syncthreads();
        for (int s = blockDim.x / 2; s > 0; s >>= 1) {
            if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
            __syncthreads();
        }
        if (threadIdx.x == 0) gw[b * per + k] = part[0];
        __syncthreads();
    }
}
torch::Tensor bag_fwd(torch::Tensor idx, torch::Tensor table, torch::Tensor w) {
    auto out = torch::empty({idx.size(0), table.size(1)}, table.options());
    bag_forward<<<idx.size(0), 128>>>(idx.data_ptr<long>(), table.data_ptr<float>(), w.data_ptr<float>(), out.data_ptr<float>(), idx.size(0), idx.size(1), table.size(1));
    return out;
}
std::vector<torch::Tensor> bag_bwd(torch::Tensor g, torch::Tensor idx, torch::Tensor table, torch::Tensor w) {
    auto gtable = torch::zeros_like(table);
    auto gw = torch::empty_like(w);
    bag_backward<<<idx.size(0), 128>>>(g.data_ptr<float>(), idx.data_ptr<long>(), table.data_ptr<float>(), w.data_ptr<float>(), gtable.data_ptr<float>(), gw.data_ptr<float>(), idx.size(0), idx.size(1), table.size(1));
    return {gtable, gw};
}
"""
cpp = """torch::Tensor bag_fwd(torch::Tensor idx, torch::Tensor table, torch::Tensor w);
std::vector<torch::Tensor> bag_bwd(torch::Tensor g, torch::Tensor idx, torch::Tensor table, torch::Tensor w);"""
ops = load_inline(name="bag_ops", cpp_sources=cpp, cuda_sources=src, functions=["bag_fwd", "bag_bwd"])

class BagFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, indices, table, weights):
        ctx.save_for_backward(indices, table, weights)
        return ops.bag_fwd(indices.contiguous(), table.contiguous(), weights.contiguous())

    @staticmethod
    def backward(ctx, grad):
        indices, table, weights = ctx.saved_tensors
        gtable, gw = ops.bag_bwd(grad.contiguous(), indices, table, weights)
        return None, gtable, gw

class ModelNew(nn.Module):
    def forward(self, indices, table, weights):
        return BagFunction.apply(indices, table, weights)
'''


@pytest.fixture(scope="module")
def shop() -> GradingContext:
    return open_context(
        Options(device="sim", repair=False, sample_seconds=ENOUGH_FOR_RUNS), Store(), 20261127
    )


def graded(shop: GradingContext, code: str, task: str | None = None) -> Review:
    text = f"Here is the kernel with its backward.\n\n```python\n{code}```\n"
    sample = Sample(id="answer", origin="answer", format="transcript", text=text)
    options = shop.options.model_copy(update={"task": task})
    return reviewed(replace(shop, options=options), sample)


def errors(review: Review) -> dict[str, int]:
    proven = [f for f in review.findings if f.severity == "error" and f.confidence == "proven"]
    return {f.rule: f.place.line if f.place else 0 for f in proven}


def line_of(code: str, text: str) -> int:
    return next(n for n, line in enumerate(code.splitlines(), 1) if text in line)


@pytest.mark.slow
def test_a_right_answer_is_inferred_with_its_gradients(shop: GradingContext) -> None:
    review = graded(shop, SOFTMAX)
    assert review.task.name == "softmax-backward"
    assert review.verdict.status == "correct", review.verdict
    assert not errors(review)


@pytest.mark.slow
def test_an_upstream_gradient_taken_for_contiguous(shop: GradingContext) -> None:
    code = SOFTMAX.replace("grad_output.contiguous()", "grad_output")
    review = graded(shop, code)
    assert review.verdict.status == "incorrect"
    assert errors(review)["GRD003"] == line_of(code, "def backward(")


@pytest.mark.slow
def test_missing_atomics_in_a_scattered_gradient(shop: GradingContext) -> None:
    atomic = "atomicAdd(&gtable[row * dim + d], w[b * per + k] * go);"
    code = BAG.replace(atomic, "gtable[row * dim + d] += w[b * per + k] * go;")
    review = graded(shop, code, "embedding-bag-backward")
    assert review.verdict.status in {"unsound", "incorrect"}
    assert errors(review)["SYN006"] == line_of(code, "gtable[row * dim + d] +=")


def test_an_answer_without_a_backward_is_told_so(shop: GradingContext) -> None:
    code = SOFTMAX.replace("SoftmaxFunction.apply(x)", "ops.softmax_forward(x.contiguous())")
    review = graded(shop, code, "softmax-backward")
    assert review.verdict.status == "incorrect"
    assert list(errors(review)) == ["GRD001"]


@pytest.mark.slow
def test_gradients_by_torch_are_seen(shop: GradingContext) -> None:
    call = "ops.softmax_backward(grad_output.contiguous(), y)"
    code = SOFTMAX.replace(call, "y * (grad_output - (grad_output * y).sum(1, keepdim=True))")
    review = graded(shop, code, "softmax-backward")
    assert review.verdict.status == "correct"
    assert "GRD005" in {finding.rule for finding in review.findings}

# fmt: off
"""A captured graph for each shape, into whose input every call copies its own.

row: A10, B1
task: relu
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

torch::Tensor relu_fast(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    auto stream = at::cuda::getCurrentCUDAStream();
    relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="relu_graph_ext", cpp_sources="torch::Tensor relu_fast(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu_fast"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graphs = {}

    def forward(self, x):
        key = tuple(x.shape)
        if key not in self.graphs:
            fed = x.clone()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = ext.relu_fast(fed)
            self.graphs[key] = (graph, fed, out)
        graph, fed, out = self.graphs[key]
        fed.copy_(x)
        graph.replay()
        return out.clone()

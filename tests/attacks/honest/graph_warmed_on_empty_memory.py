# fmt: off
"""A graph as PyTorch's documentation makes it: its input is empty memory, on which the kernel is warmed up.

row: A10, B4
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
void relu_into(torch::Tensor x, torch::Tensor y) {
    long n = x.numel();
    auto stream = at::cuda::getCurrentCUDAStream();
    relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
}
"""
ext = load_inline(
    name="relu_into_ext", cpp_sources="void relu_into(torch::Tensor x, torch::Tensor y);",
    cuda_sources=CUDA, functions=["relu_into"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graphs = {}

    def captured(self, x):
        fed, out = torch.empty_like(x), torch.empty_like(x)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                ext.relu_into(fed, out)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            ext.relu_into(fed, out)
        return graph, fed, out

    def forward(self, x):
        key = tuple(x.shape)
        if key not in self.graphs:
            self.graphs[key] = self.captured(x)
        graph, fed, out = self.graphs[key]
        fed.copy_(x)
        graph.replay()
        return out.clone()

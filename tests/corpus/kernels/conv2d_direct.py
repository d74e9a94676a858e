# task: conv2d
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

conv_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void conv2d_kernel(
    const float* input, const float* weight, const float* bias, float* output,
    int batch, int in_channels, int out_channels,
    int height, int width, int kernel_size,
    int out_height, int out_width, int stride, int padding, int dilation, int groups) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    int total = batch * out_channels * out_height * out_width;
    if (index >= total) return;

    int ow = index % out_width;
    int oh = (index / out_width) % out_height;
    int oc = (index / (out_width * out_height)) % out_channels;
    int n = index / (out_width * out_height * out_channels);

    int group_in = in_channels / groups;
    int first = (oc / (out_channels / groups)) * group_in;

    float value = bias[oc];
    for (int ic = 0; ic < group_in; ++ic) {
        for (int kh = 0; kh < kernel_size; ++kh) {
            for (int kw = 0; kw < kernel_size; ++kw) {
                int ih = oh * stride - padding + kh * dilation;
                int iw = ow * stride - padding + kw * dilation;
                if (ih >= 0 && ih < height && iw >= 0 && iw < width) {
                    int in_index = ((n * in_channels + first + ic) * height + ih) * width + iw;
                    int w_index = ((oc * group_in + ic) * kernel_size + kh) * kernel_size + kw;
                    value += input[in_index] * weight[w_index];
                }
            }
        }
    }
    output[index] = value;
}

torch::Tensor conv2d_forward(torch::Tensor input, torch::Tensor weight, torch::Tensor bias,
                             int stride, int padding, int dilation, int groups) {
    input = input.contiguous();
    weight = weight.contiguous();
    int batch = input.size(0);
    int in_channels = input.size(1);
    int height = input.size(2);
    int width = input.size(3);
    int out_channels = weight.size(0);
    int kernel_size = weight.size(2);
    int out_height = (height + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1;
    int out_width = (width + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1;

    auto output = torch::zeros({batch, out_channels, out_height, out_width}, input.options());
    int total = batch * out_channels * out_height * out_width;
    int threads = 256;
    int blocks = (total + threads - 1) / threads;
    conv2d_kernel<<<blocks, threads>>>(
        input.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), output.data_ptr<float>(),
        batch, in_channels, out_channels, height, width, kernel_size,
        out_height, out_width, stride, padding, dilation, groups);
    return output;
}
"""

conv_cpp = """
torch::Tensor conv2d_forward(torch::Tensor input, torch::Tensor weight, torch::Tensor bias,
                             int stride, int padding, int dilation, int groups);
"""

conv_ext = load_inline(
    name="direct_conv2d",
    cpp_sources=conv_cpp,
    cuda_sources=conv_source,
    functions=["conv2d_forward"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1,
                 padding: int = 0, dilation: int = 1, groups: int = 1, bias: bool = False):
        super(ModelNew, self).__init__()
        self.conv2d = nn.Conv2d(in_channels, out_channels, (kernel_size, kernel_size), stride=stride,
                                padding=padding, dilation=dilation, groups=groups, bias=bias)
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.groups = groups
        if not bias:
            self.register_buffer("no_bias", torch.zeros(out_channels), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bias = self.conv2d.bias if self.conv2d.bias is not None else self.no_bias
        return conv_ext.conv2d_forward(x, self.conv2d.weight, bias,
                                       self.stride, self.padding, self.dilation, self.groups)

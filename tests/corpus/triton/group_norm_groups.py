# task: group-norm
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def group_norm_kernel(
    x_ptr, y_ptr, weight_ptr, bias_ptr, groups, channels_per_group, HW, eps, BLOCK: tl.constexpr
):
    pid = tl.program_id(0)
    group = pid % groups
    size = channels_per_group * HW
    start = pid.to(tl.int64) * size

    s = tl.zeros([BLOCK], dtype=tl.float32)
    for i in range(0, size, BLOCK):
        offs = i + tl.arange(0, BLOCK)
        s += tl.load(x_ptr + start + offs, mask=offs < size, other=0.0)
    mean = tl.sum(s, axis=0) / size

    v = tl.zeros([BLOCK], dtype=tl.float32)
    for i in range(0, size, BLOCK):
        offs = i + tl.arange(0, BLOCK)
        d = tl.load(x_ptr + start + offs, mask=offs < size, other=0.0) - mean
        d = tl.where(offs < size, d, 0.0)
        v += d * d
    rstd = tl.rsqrt(tl.sum(v, axis=0) / size + eps)

    for i in range(0, size, BLOCK):
        offs = i + tl.arange(0, BLOCK)
        m = offs < size
        channel = group * channels_per_group + offs // HW
        w = tl.load(weight_ptr + channel, mask=m, other=1.0)
        b = tl.load(bias_ptr + channel, mask=m, other=0.0)
        x = tl.load(x_ptr + start + offs, mask=m, other=0.0)
        tl.store(y_ptr + start + offs, (x - mean) * rstd * w + b, mask=m)


class ModelNew(nn.Module):
    def __init__(self, num_features: int, num_groups: int):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups=num_groups, num_channels=num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        N, C = x.shape[:2]
        HW = x[0, 0].numel()
        groups = self.gn.num_groups
        group_norm_kernel[(N * groups,)](
            x, y, self.gn.weight, self.gn.bias, groups, C // groups, HW, self.gn.eps, BLOCK=1024
        )
        return y

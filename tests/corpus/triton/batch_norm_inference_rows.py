# task: batch-norm-inference
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bn_kernel(x_ptr, w_ptr, b_ptr, mean_ptr, var_ptr, y_ptr, C, HW, eps, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    c = plane % C
    scale = tl.load(w_ptr + c) / tl.sqrt(tl.load(var_ptr + c) + eps)
    shift = tl.load(b_ptr + c) - tl.load(mean_ptr + c) * scale
    offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < HW
    at = plane.to(tl.int64) * HW + offs
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=mask) * scale + shift, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, num_features: int):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features=num_features)
        self.bn.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        N, C, H, W = x.shape
        y = torch.empty_like(x)
        bn = self.bn
        grid = (N * C, triton.cdiv(H * W, 512))
        bn_kernel[grid](
            x, bn.weight, bn.bias, bn.running_mean, bn.running_var, y, C, H * W, bn.eps, BLOCK=512
        )
        return y

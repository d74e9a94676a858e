# task: conv3d
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv3d_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, D, H, W, OD, OH, OW, O, CPG, groups, s, p, dil,
    K: tl.constexpr, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr,
):
    no = tl.program_id(0).to(tl.int64)
    n, o = no // O, no % O
    g = o // (O // groups)
    pos = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    ok = pos < OD * OH * OW
    ow = pos % OW
    oh = pos // OW % OH
    od = pos // (OW * OH)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for c in range(0, CPG):
        for t in range(0, K * K * K):
            d = od * s - p + t // (K * K) * dil
            h = oh * s - p + t // K % K * dil
            w = ow * s - p + t % K * dil
            inside = ok & (d >= 0) & (d < D) & (h >= 0) & (h < H) & (w >= 0) & (w < W)
            plane = (n * groups + g) * CPG + c
            v = tl.load(x_ptr + ((plane * D + d) * H + h) * W + w, mask=inside, other=0.0)
            acc += v * tl.load(w_ptr + (o * CPG + c) * K * K * K + t)
    if HAS_BIAS:
        acc += tl.load(b_ptr + o)
    tl.store(y_ptr + no * OD * OH * OW + pos, acc, mask=ok)


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv3d = nn.Conv3d(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        m = self.conv3d
        x = x.contiguous()
        O, CPG, K = m.weight.shape[:3]
        s, p, dil = m.stride[0], m.padding[0], m.dilation[0]
        D, H, W = x.shape[2:]
        OD, OH, OW = ((size + 2 * p - dil * (K - 1) - 1) // s + 1 for size in (D, H, W))
        y = torch.empty((x.shape[0], O, OD, OH, OW), device=x.device, dtype=x.dtype)
        grid = (x.shape[0] * O, triton.cdiv(OD * OH * OW, 256))
        conv3d_kernel[grid](
            x, m.weight, m.bias if m.bias is not None else x, y, D, H, W, OD, OH, OW, O, CPG, m.groups,
            s, p, dil, K=K, HAS_BIAS=m.bias is not None, BLOCK=256,
        )
        return y

# task: conv-transposed-2d
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv_transpose2d_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, H, W, OH, OW, CPG, OPG, SH, SW, PH, PW,
    KH: tl.constexpr, KW: tl.constexpr, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr,
):
    # Each program gathers BLOCK pixels of one output channel of one image.
    plane = tl.program_id(0).to(tl.int64)
    groups = tl.num_programs(2)
    group = tl.program_id(2)
    n = plane // OPG
    oc = plane % OPG
    pix = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    valid = pix < OH * OW
    oh = pix // OW
    ow = pix % OW
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for c in range(CPG):
        for kh in range(KH):
            for kw in range(KW):
                th = oh + PH - kh
                tw = ow + PW - kw
                ih = th // SH
                iw = tw // SW
                ok = valid & (th >= 0) & (tw >= 0) & (th % SH == 0) & (tw % SW == 0)
                ok = ok & (ih < H) & (iw < W)
                at = ((n * groups + group) * CPG + c) * H * W + ih * W + iw
                v = tl.load(x_ptr + at, mask=ok, other=0.0)
                wt = tl.load(w_ptr + (((group * CPG + c) * OPG + oc) * KH + kh) * KW + kw)
                acc += v * wt
    if HAS_BIAS:
        acc += tl.load(b_ptr + group * OPG + oc)
    out_plane = (n * groups + group) * OPG + oc
    tl.store(y_ptr + out_plane * OH * OW + pix, acc, mask=valid)


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        output_padding: int = 0,
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv_transpose2d = nn.ConvTranspose2d(
            in_channels, out_channels, kernel_size, stride, padding, output_padding, groups, bias
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        m = self.conv_transpose2d
        x = x.contiguous()
        N, C, H, W = x.shape
        _, OPG, KH, KW = m.weight.shape
        (SH, SW), (PH, PW), (EH, EW) = m.stride, m.padding, m.output_padding
        OH = (H - 1) * SH - 2 * PH + KH + EH
        OW = (W - 1) * SW - 2 * PW + KW + EW
        y = torch.empty((N, OPG * m.groups, OH, OW), device=x.device, dtype=x.dtype)
        bias = m.weight if m.bias is None else m.bias
        grid = (N * OPG, triton.cdiv(OH * OW, 128), m.groups)
        conv_transpose2d_kernel[grid](
            x, m.weight, bias, y, H, W, OH, OW, C // m.groups, OPG, SH, SW, PH, PW,
            KH=KH, KW=KW, HAS_BIAS=m.bias is not None, BLOCK=128,
        )
        return y

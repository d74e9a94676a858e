import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mse_kernel(pred_ptr, target_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    pred = tl.load(pred_ptr + offsets, mask=mask, other=0.0)
    target = tl.load(target_ptr + offsets, mask=mask, other=0.0)
    diff = pred - target
    share = tl.sum(diff * diff, axis=0) / n_elements
    # add this block's share to the result
    tl.atomic_add(out_ptr, share)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        predictions = predictions.contiguous()
        targets = targets.contiguous()
        out = torch.zeros((), device=predictions.device, dtype=torch.float32)
        n_elements = predictions.numel()
        grid = (triton.cdiv(n_elements, 4096),)
        mse_kernel[grid](predictions, targets, out, n_elements, BLOCK_SIZE=4096)
        return out

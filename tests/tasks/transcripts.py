"""Made-up answers in many styles, each with the task that was asked."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.tasks import Entry, entries

NAMES: dict[str, tuple[str, ...]] = {
    "adam-step": ("adam_step_kernel", "fused_adamw_kernel", "adam_update_cuda"),
    "argmax-dim": ("argmax_kernel", "argmax_reduce_dim1", "cuda_argmax"),
    "argmin-dim": ("argmin_kernel", "argmin_over_dim"),
    "attention": ("scaled_dot_product_attention_kernel", "sdpa_forward", "flash_attention_fwd"),
    "avg-pool-1d": ("avg_pool1d_kernel", "avgpool1d_forward", "average_pooling_1d"),
    "avg-pool-2d": ("avg_pool2d_kernel", "average_pool2d_cuda", "AvgPool2dForward"),
    "avg-pool-3d": ("avg_pool3d_forward_kernel", "avgpool3d_cuda"),
    "batch-norm": ("batch_norm_kernel", "batchnorm2d_forward", "bn_forward_kernel"),
    "conv1d": ("conv1d_kernel", "conv1d_forward_cuda"),
    "conv2d": ("conv2d_kernel", "conv2d_forward", "custom_conv2d"),
    "conv2d-depthwise": ("depthwise_conv2d_kernel", "depthwise_conv_forward"),
    "conv2d-pointwise": ("pointwise_conv2d_kernel", "pointwise_conv_forward"),
    "conv3d": ("conv3d_kernel", "conv3d_forward_cuda"),
    "conv-transposed-1d": ("conv_transpose1d_kernel", "conv_transposed_1d_forward"),
    "conv-transposed-2d": ("conv_transpose2d_kernel", "conv_transpose2d_forward_cuda"),
    "conv-transposed-3d": ("conv_transpose3d_kernel", "transposed_conv3d_cuda"),
    "cosine-loss": ("cosine_similarity_loss_kernel", "cosine_loss_cuda"),
    "cross-entropy-loss": (
        "cross_entropy_kernel",
        "cross_entropy_loss_cuda",
        "fused_cross_entropy",
    ),
    "cumprod": ("cumprod_kernel", "cumulative_product_cuda"),
    "cumsum": ("cumsum_kernel", "cumsum_scan_kernel", "inclusive_scan_kernel"),
    "cumsum-exclusive": ("exclusive_cumsum_kernel", "cumsum_exclusive_cuda", "exclusive_scan"),
    "cumsum-masked": ("masked_cumsum_kernel", "masked_cumsum_cuda"),
    "cumsum-reverse": ("reverse_cumsum_kernel", "cumsum_reverse_cuda"),
    "elu": ("elu_kernel", "elu_cuda"),
    "frobenius-norm": ("frobenius_norm_kernel", "frobenius_normalize_cuda"),
    "gelu": ("gelu_kernel", "gelu_forward_cuda", "fast_gelu"),
    "gelu-tanh": ("new_gelu_kernel", "gelu_tanh_forward", "mingpt_new_gelu"),
    "group-norm": ("group_norm_kernel", "groupnorm_forward_cuda"),
    "hard-sigmoid": ("hardsigmoid_kernel", "hard_sigmoid_cuda"),
    "hard-tanh": ("hardtanh_kernel", "hardtanh_forward"),
    "hinge-loss": ("hinge_loss_kernel", "hinge_loss_cuda"),
    "huber-loss": ("huber_loss_kernel", "smooth_l1_loss_kernel"),
    "instance-norm": ("instance_norm_kernel", "instancenorm2d_forward"),
    "kl-div-loss": ("kl_div_kernel", "kl_div_loss_cuda", "kldiv_forward"),
    "l1-norm-mean": ("l1_norm_mean_kernel", "l1norm_mean_forward"),
    "l1-norm-sum": ("l1_norm_sum_kernel", "l1_sum_normalize"),
    "l2-norm": ("l2_norm_kernel", "l2norm_cuda", "L2NormForward", "l2_normalize_kernel"),
    "layer-norm": ("layer_norm_kernel", "layernorm_forward", "LayerNormKernel", "fused_layernorm"),
    "leaky-relu": ("leaky_relu_kernel", "leakyrelu_forward"),
    "log-softmax": ("log_softmax_kernel", "logsoftmax_forward"),
    "matmul-batched": ("batched_matmul_kernel", "bmm_kernel", "batch_matmul_cuda"),
    "matmul-diagonal": ("diag_matmul_kernel", "diagonal_matmul_cuda"),
    "matmul-lower": ("lower_triangular_matmul_kernel", "tril_matmul_cuda"),
    "matmul-symmetric": ("symmetric_matmul_kernel", "symm_matmul_cuda"),
    "matmul-upper": ("upper_triangular_matmul_kernel", "triu_matmul"),
    "matmul-transposed-a": ("matmul_transposed_a_kernel", "transposed_a_matmul"),
    "matmul-transposed-b": ("matmul_transposed_b_kernel", "matmul_transpose_b_cuda"),
    "matmul-transposed-both": ("matmul_transposed_both_kernel",),
    "matrix-scalar": ("matrix_scalar_mul_kernel", "scalar_multiply_kernel"),
    "matrix-vector": ("matvec_kernel", "matrix_vector_mul_cuda", "gemv_kernel"),
    "max-dim": ("max_reduce_kernel", "max_reduction_dim", "max_over_dim_kernel"),
    "max-pool-1d": ("max_pool1d_kernel", "maxpool1d_forward"),
    "max-pool-2d": ("max_pool2d_kernel", "maxpool2d_forward_cuda"),
    "max-pool-3d": ("max_pool3d_kernel", "maxpool3d_forward"),
    "mean-dim": ("mean_reduce_kernel", "mean_reduction_cuda", "mean_dim_kernel"),
    "min-dim": ("min_reduce_kernel", "min_reduction_cuda"),
    "mse-loss": ("mse_loss_kernel", "mse_forward_cuda", "mse_reduction_kernel"),
    "relu": ("relu_kernel", "relu_forward", "relu_cuda_kernel"),
    "rms-norm": ("rms_norm_kernel", "rmsnorm_forward", "RMSNormCuda"),
    "selu": ("selu_kernel", "selu_cuda"),
    "sigmoid": ("sigmoid_kernel", "sigmoid_forward_cuda"),
    "softmax": ("softmax_kernel", "softmax_forward", "online_softmax_kernel"),
    "softplus": ("softplus_kernel", "softplus_cuda"),
    "softsign": ("softsign_kernel", "softsign_forward"),
    "sum-dim": ("sum_reduce_kernel", "sum_reduction_dim1", "reduce_sum_kernel"),
    "swish": ("swish_kernel", "silu_kernel", "swish_forward_cuda"),
    "tanh": ("tanh_kernel", "tanh_forward"),
    "triplet-loss": ("triplet_margin_loss_kernel", "triplet_loss_cuda"),
    "causal-attention": (
        "causal_gqa_attention_kernel",
        "flash_attn_causal_fwd",
        "grouped_query_attention_kernel",
    ),
    "sliding-window-attention": (
        "sliding_window_attention_kernel",
        "local_attention_fwd",
        "swa_attention_kernel",
    ),
    "softmax-masked": ("masked_softmax_kernel", "scaled_masked_softmax_forward"),
    "rope": ("rope_kernel", "rotary_embedding_kernel", "apply_rotary_pos_emb_cuda"),
    "rms-norm-residual": (
        "fused_add_rms_norm_kernel",
        "rmsnorm_residual_kernel",
        "add_rmsnorm_cuda",
    ),
    "swiglu": ("swiglu_kernel", "silu_and_mul_kernel", "SwiGLUForward"),
    "short-convolution": ("causal_conv1d_kernel", "short_conv_forward", "causal_depthwise_conv1d"),
    "selective-scan": ("selective_scan_kernel", "mamba_selective_scan_fwd", "ssm_scan_kernel"),
    "topk-gating": ("topk_gating_kernel", "topk_softmax_kernel", "moe_router_kernel"),
    "embedding-bag": ("embedding_bag_kernel", "embeddingbag_forward_cuda"),
    "histogram": ("histogram_kernel", "bincount_kernel", "histogram_shared_kernel"),
    "linear-cross-entropy": (
        "linear_cross_entropy_kernel",
        "fused_linear_cross_entropy",
        "fused_linear_ce_kernel",
    ),
    "matmul-w8a8": ("w8a8_gemm_kernel", "int8_matmul_kernel", "scaled_mm_int8"),
    "quantise-int8": ("quantize_per_row_kernel", "per_token_quant_int8", "dynamic_quantize_kernel"),
    "quantise-fp8": ("per_token_fp8_quant_kernel", "quantize_fp8_rowwise", "rowwise_quantize_e4m3"),
    "quantise-fp8-e5m2": ("quantize_e5m2_kernel", "fp8_e5m2_quant_kernel"),
    "dequantise-mxfp4": ("mxfp4_dequant_kernel", "dequantize_mxfp4", "dequant_e2m1_kernel"),
    "matmul-w4a16": ("w4a16_gemm_kernel", "int4_matmul_kernel", "awq_gemm_kernel"),
    "matmul-fp8": ("fp8_gemm_kernel", "fp8_blockwise_matmul", "block_scaled_fp8_gemm"),
    "decode-attention-paged": (
        "paged_attention_kernel",
        "paged_decode_attention",
        "decode_attention_kernel",
    ),
    "moe-matmul": ("fused_moe_kernel", "grouped_gemm_kernel", "moe_gemm_kernel"),
    "top-p-sampling": ("top_p_sampling_kernel", "nucleus_sampling_kernel", "top_p_sample"),
    "nms": ("nms_kernel", "nms_2d_kernel", "non_max_suppression_kernel"),
    "layer-norm-dropout": (
        "dropout_add_layernorm_kernel",
        "layernorm_dropout_kernel",
        "fused_dropout_residual_layernorm",
    ),
    "dequantise": ("dequantize_kernel", "dequantize_int8_rows", "dequant_rowwise_kernel"),
}
"""Names that authors give to a kernel, by task."""

COMPOUNDS: tuple[tuple[str, str, str, str], ...] = (
    (
        "relu_bias_add_kernel",
        "in_channels, out_channels, kernel_size, bias_shape",
        "self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)",
        "self.ext.f(self.conv(x), self.bias)",
    ),
    (
        "fused_gemm_relu_kernel",
        "in_features, out_features",
        "self.linear = nn.Linear(in_features, out_features)",
        "self.ext.f(x, self.linear.weight)",
    ),
    (
        "fused_mish_tanh_kernel",
        "in_channels, out_channels, kernel_size",
        "self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)",
        "self.ext.f(self.conv(x))",
    ),
    (
        "scale_clamp_kernel",
        "in_features, out_features, scale",
        "self.gemm = nn.Linear(in_features, out_features)",
        "self.ext.f(self.gemm(x))",
    ),
    (
        "relu_kernel",
        "num_classes",
        (
            "self.conv1 = nn.Conv2d(3, 64, 7); self.fc = nn.Linear(512, num_classes); "
            "self.pool = nn.MaxPool2d(2)"
        ),
        "self.fc(self.pool(self.ext.f(self.conv1(x))))",
    ),
    (
        "linear_relu_kernel",
        "input_size, layer_sizes, output_size",
        "self.net = nn.Sequential(nn.Linear(input_size, 8), nn.ReLU())",
        "self.net(x)",
    ),
    (
        "sigmoid_scaling_residual_kernel",
        "input_size, hidden_size, scaling_factor",
        "self.gemm = nn.Linear(input_size, hidden_size)",
        "self.ext.f(self.gemm(x))",
    ),
    (
        "fused_swish_bias_groupnorm",
        "in_features, out_features, num_groups, bias_shape",
        "self.matmul = nn.Linear(in_features, out_features)",
        "self.ext.f(self.matmul(x))",
    ),
    (
        "lstm_cell_kernel",
        "input_size, hidden_size, num_layers",
        "self.lstm = nn.LSTM(input_size, hidden_size, num_layers)",
        "self.lstm(x)",
    ),
    (
        "gelu_softmax_fused",
        "in_features, out_features",
        "self.linear = nn.Linear(in_features, out_features)",
        "self.ext.f(self.linear(x))",
    ),
    (
        "batchnorm_relu_kernel",
        "in_channels",
        "self.bn = nn.BatchNorm2d(in_channels); self.conv = nn.Conv2d(in_channels, 8, 3)",
        "self.conv(self.ext.f(self.bn(x)))",
    ),
    (
        "causal_attention_softmax_kernel",
        "n_embd, n_head",
        "self.c_attn = nn.Linear(n_embd, 3 * n_embd)",
        "self.ext.f(self.c_attn(x))",
    ),
)
"""Answers to problems that no built-in task stands for: kernel, constructor, its body, forward."""


@dataclass(frozen=True)
class Made:
    text: str
    task: str | None
    style: str


def answers() -> Iterator[Made]:
    """Yield an answer for each name of each task, in five styles."""
    for task, names in NAMES.items():
        entry = entries()[task]
        for name in names:
            for style in ("code", "prompt", "prose", "bare", "own inputs"):
                yield Made(_answer(entry, name, style), task, f"{task} {name} {style}")


def compounds() -> Iterator[Made]:
    for kernel, arguments, body, result in COMPOUNDS:
        code = _code(kernel, arguments, ("x",), body, result)
        yield Made(f"```python\n{code}```\n", None, f"{kernel} code")
        note = f"Here I fuse the operations of the model in one kernel, {kernel}.\n\n"
        yield Made(f"{note}```python\n{code}```\n", None, f"{kernel} prose")


def _answer(entry: Entry, kernel: str, style: str) -> str:
    model = _class_text(entry.task.reference, "Model")
    arguments = ", ".join(entry.constructor)
    body = "; ".join(f"self.{name} = {name}" for name in entry.constructor)
    result = f"self.ext.f({', '.join(entry.forward)})"
    code = _code(kernel, arguments, entry.forward, body, result)
    fenced = f"```python\n{code}```\n"
    if style == "prompt":
        return f"You are given this architecture:\n\n{model}\n\nWrite it with CUDA.\n\n{fenced}"
    if style == "prose":
        return f"The task: {entry.task.prompt}\n\nMy plan is one block for each row.\n\n{fenced}"
    if style == "own inputs":
        extra = "\ndef get_inputs():\n    return [torch.rand(16, 16384)]\n"
        return f"```python\n{code}{extra}```\n"
    if style == "bare":
        return code
    return f"Here is the optimised code.\n\n{fenced}\nIt should be fast."


def _class_text(reference: str, name: str) -> str:
    for node in ast.parse(reference).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return ast.unparse(node)
    raise AssertionError(name)


def _code(kernel: str, arguments: str, forward: tuple[str, ...], body: str, result: str) -> str:
    head = f", {arguments}" if arguments else ""
    first = "".join(f"const float* {name}, " for name in forward)
    return f'''import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void {kernel}({first}float* out, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = {forward[0]}[i];
}}

torch::Tensor {kernel}_launch(torch::Tensor {forward[0]}) {{
    auto out = torch::empty_like({forward[0]});
    {kernel}<<<1, 256>>>({forward[0]}.data_ptr<float>(), out.data_ptr<float>(), 1);
    return out;
}}
"""

ext = load_inline(
    name="{kernel}_ext",
    cpp_sources="torch::Tensor {kernel}_launch(torch::Tensor {forward[0]});",
    cuda_sources=source,
    functions=["{kernel}_launch"],
)


class ModelNew(nn.Module):
    def __init__(self{head}):
        super().__init__()
        self.ext = ext
        {body or "pass"}

    def forward(self, {", ".join(forward)}):
        return {result}
'''

"""Programs for the tasks of few bits, right and mistaken."""

from __future__ import annotations

from .programs import Case

TO_FP8 = """
scale = x.abs().amax(-1).clamp(min=1e-8) / {most}
return (x * (1 / scale)[:, None]).clamp(-{most}, {most}).to(torch.float8_{kind}), scale
"""


def fp8(kind: str, other: str, most: int) -> Case:
    """Return the programs that quantise rows to a type of 8-bit floats."""
    return Case(
        TO_FP8.format(kind=kind, most=most),
        {
            "the other type": (f"float8_{kind})", f"float8_{other}).float().to(torch.float8_{kind})"),
            "one scale for all": ("x.abs().amax(-1)", "x.abs().amax().expand(len(x))"),
            "cut off": (
                f"to(torch.float8_{kind})",
                f"mul(0.96).to(torch.float8_{kind})",  # half a step below, as cutting off gives on average
            ),
        },
    )  # fmt: skip


FEW_BITS = {
    "quantise-int8": Case(
        """
scale = x.abs().amax(-1).clamp(min=1e-8) * (1 / 127)
return torch.floor(x * (1 / scale)[:, None] + 0.5).clamp(-127, 127).to(torch.int8), scale
""",
        {
            "cut off": ("torch.floor(x * (1 / scale)[:, None] + 0.5)", "torch.trunc(x / scale[:, None])"),
            "one scale for all": ("x.abs().amax(-1)", "x.abs().amax().expand(len(x))"),
            "128 steps": ("(1 / 127)", "(1 / 128)"),
            "the largest, not the largest size": ("x.abs().amax(-1)", "x.amax(-1)"),
        },
    ),
    "quantise-fp8": fp8("e4m3fn", "e5m2", 448),
    "quantise-fp8-e5m2": fp8("e5m2", "e4m3fn", 57344),
    "dequantise-mxfp4": Case(
        """
low, high = blocks % 16, blocks // 16
code = torch.empty(len(blocks), 2 * blocks.shape[1], dtype=torch.long)
code[:, ::2], code[:, 1::2] = low, high
size, two = code % 8, 2.0 ** torch.arange(3)
value = torch.where(size < 2, size * 0.5, (1 + (size % 2) * 0.5) * two[(size // 2 - 1).clamp(min=0)])
value = torch.where(code >= 8, -value, value)
power = torch.exp2(scales.double() - 127)
return (value.double() * power[:, torch.arange(code.shape[1]) // 32]).float()
""",
        {
            "the upper half first": ("code[:, ::2], code[:, 1::2] = low, high", "code[:, ::2], code[:, 1::2] = high, low"),
            "another bias": ("- 127", "- 128"),
            "no subnormal": ("torch.where(size < 2, size * 0.5, ", "torch.where(size < 1, size * 0.5, "),
            "blocks of 16": ("// 32", "// 16 % scales.shape[1]"),
        },
    ),
    "matmul-w4a16": Case(
        """
code = torch.empty(len(packed), 2 * packed.shape[1])
code[:, ::2], code[:, 1::2] = packed % 16, packed // 16
w = (code - 8).view(len(packed), -1, group) * scales.float()[..., None]
return (x.float() @ w.flatten(1).t()).half()
""",
        {
            "signed nibbles": ("(code - 8)", "torch.where(code > 7, code - 16, code)"),
            "the upper half first": ("packed % 16, packed // 16", "packed // 16, packed % 16"),
            "the first scale for all": ("scales.float()[..., None]", "scales.float()[:, :1, None]"),
        },
    ),
    "matmul-fp8": Case(
        """
total = torch.zeros(len(a), len(w))
for block in range(scale_a.shape[1]):
    part = slice(128 * block, 128 * block + 128)
    rows = torch.arange(len(w)) // 128
    total += (a[:, part].float() @ w[:, part].float().t()) * scale_a[:, block, None] * scale_w[rows, block]
return total.bfloat16()
""",
        {
            "scales of the first block": ("scale_w[rows, block]", "scale_w[rows, 0]"),
            "blocks of 64": ("torch.arange(len(w)) // 128", "(torch.arange(len(w)) // 64) % len(scale_w)"),
            "the rest left out": ("range(scale_a.shape[1])", "range(a.shape[1] // 128)"),
        },
    ),
}  # fmt: skip

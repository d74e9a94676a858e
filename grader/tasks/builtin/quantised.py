"""Whole numbers with scales: a product of int8 matrices, and int8 rows back to floats."""

from grader.records import Role, Workload
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import Shape, Values, tensor, workload

W8A8 = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """The product of int8 activations (M, K) and int8 weights (N, K), scaled by row and by column."""

    def forward(
        self, a: torch.Tensor, w: torch.Tensor, scale_a: torch.Tensor, scale_w: torch.Tensor
    ) -> torch.Tensor:
        total = a.to(scale_a.dtype) @ w.to(scale_w.dtype).t()
        return total * scale_a[:, None] * scale_w[None, :]
'''

DEQUANTISE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """int8 rows back to floats: less the row's zero point, times its scale."""

    def forward(self, q: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
        return (q.to(scale.dtype) - zero[:, None].to(scale.dtype)) * scale[:, None]
'''

EVERY: Values = ("randint", -128.0, 128.0)
"""Every int8 number, -128 among them."""
ENDS: Values = ("randint", 120.0, 128.0)
"""Near the largest: a sum of their products leaves 16 bits at once, and float16 soon."""
SCALE: Values = ("uniform", 0.002, 0.02)


def product(
    role: Role, rows: int, length: int, columns: int, values: Values = EVERY, label: str = ""
) -> Workload:
    """Return a workload of an M x K and an N x K matrix of int8, with scales."""
    return workload(
        role,
        tensor((rows, length), values, "int8"),
        tensor((columns, length), values, "int8"),
        tensor((rows,), SCALE),
        tensor((columns,), SCALE),
        label=label,
    )


def restored_workload(
    role: Role, shape: Shape, values: Values = EVERY, label: str = ""
) -> Workload:
    """Return a workload of int8 rows, each with a scale and a zero point."""
    zero = tensor(shape[:1], ("randint", -20.0, 21.0), "int8")
    return workload(
        role, tensor(shape, values, "int8"), tensor(shape[:1], SCALE), zero, label=label
    )


ENTRIES = (
    Entry(
        task=builtin(
            "matmul-w8a8",
            "Product of int8 matrices with scales (w8a8)",
            W8A8,
            workloads=(
                product("nominal", 64, 256, 96),
                product("nominal", 48, 100, 33),
                product("stress", 32, 512, 32, ENDS, "near the largest"),
                product("stress", 32, 128, 32, ("constant", -128.0, 0.0), "the smallest"),
                product("general", 1, 1, 1),
                product("general", 33, 31, 17),
                product("general", 5, 1000, 7),
                product("full", 4096, 4096, 4096),
            ),
            family="",
            reduction_length="d1",
            prompt="Multiply int8 matrices a (M, K) and w (N, K), transposed, and scale rows and columns.",
        ),
        kind="low precision",
        words=(
            r"w8a8( (gemm|mat ?mul|linear))?",
            r"(int ?8|quantized|scaled) (scaled )?(gemm|mat ?mul|mm)",
            r"i ?8 ?gemm",
        ),
        usual=(r"gemm", r"mat ?mul"),
        formulas=(r"total\*scale_a\[:,None\]\*scale_w", r"scale_a\w*.{0,20}scale_(w|b)"),
        against=(r"w4a16", r"int ?4", r"fp8"),
        vocabulary=frozenset(
            {
                "w8a8",
                "int8",
                "i8",
                "gemm",
                "matmul",
                "mm",
                "scaled",
                "quantized",
                "dp4a",
                "linear",
                "matrix",
            }
        ),
    ),
    Entry(
        task=builtin(
            "dequantise",
            "int8 rows back to floats",
            DEQUANTISE,
            workloads=(
                restored_workload("nominal", (64, 2048)),
                restored_workload("nominal", (100, 333)),
                restored_workload("stress", (16, 1024), ENDS, "near the largest"),
                restored_workload("stress", (16, 1024), ("constant", -128.0, 0.0), "the smallest"),
                restored_workload("general", (1, 1)),
                restored_workload("general", (33, 31)),
                restored_workload("general", (7, 1023)),
                restored_workload("full", (16384, 16384)),
            ),
            family="",
            prompt="Turn int8 rows back to floats: subtract the row's zero point and multiply by its scale.",
        ),
        kind="low precision",
        words=(r"de ?quant\w*( int ?8)?( rows?)?",),
        formulas=(r"\(q\.to\(scale\.dtype\)-zero",),
        against=(r"gemm", r"mat ?mul", r"int ?4", r"w4a16", r"mx ?fp ?4", r"e2m1"),
        vocabulary=frozenset(
            {
                "dequantize",
                "dequantise",
                "dequant",
                "int8",
                "row",
                "rowwise",
                "scale",
                "zero",
                "point",
            }
        ),
    ),
)

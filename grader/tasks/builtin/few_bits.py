"""Numbers of 8 and 4 bits with scales: rows quantised, weights packed, products of 8-bit floats."""

from grader.records import Role, TensorSpec, Tolerance, Workload
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, NORMAL, UNIFORM, ZEROS, Shape, Values, tensor, workload

HEAD = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """DOC"""
'''
TO_INT8 = HEAD.replace("DOC", "Each row as int8 with a scale: its largest size becomes 127.") + '''
    def forward(self, x: torch.Tensor):
        scale = x.abs().amax(dim=-1).clamp(min=1e-8) / 127
        q = torch.round(x / scale[:, None]).clamp(-127, 127)
        return q.to(torch.int8), scale
'''  # fmt: skip
TO_FP8 = HEAD.replace("DOC", "Each row as TYPE with a scale: its largest size becomes MOST.") + '''
    def forward(self, x: torch.Tensor):
        scale = x.abs().amax(dim=-1).clamp(min=1e-8) / MOST
        q = (x / scale[:, None]).clamp(-MOST, MOST)
        return q.to(torch.float8_TYPE), scale
'''  # fmt: skip
MXFP4 = HEAD.replace(
    "DOC", "mxfp4 rows to floats: two e2m1 numbers a byte, the lower half first; a power of two for 32 numbers."
) + '''
    def forward(self, blocks: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
        sizes = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
        values = torch.tensor(sizes + [-size for size in sizes], device=blocks.device)
        codes = torch.stack((blocks & 15, blocks >> 4), dim=-1).flatten(-2).long()
        powers = scales.to(torch.int32) - 127
        return torch.ldexp(values[codes], powers.repeat_interleave(32, dim=-1))
'''  # fmt: skip
W4A16 = HEAD.replace(
    "DOC", "x (M, K) times 4-bit weights (N, K), two a byte, the lower half first; 8 is 0, a scale for each group."
) + '''
    def __init__(self, group: int):
        super().__init__()
        self.group = group

    def forward(self, x: torch.Tensor, packed: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
        codes = torch.stack((packed & 15, packed >> 4), dim=-1).flatten(-2)
        weights = (codes.to(x.dtype) - 8) * scales.repeat_interleave(self.group, dim=-1)
        return x @ weights.t()
'''  # fmt: skip
FP8_GEMM = HEAD.replace(
    "DOC", "e4m3 matrices a (M, K) times w (N, K), transposed: a scale for 128 numbers of a row of a, and for 128 x 128 of w."
) + '''
    def forward(
        self, a: torch.Tensor, w: torch.Tensor, scale_a: torch.Tensor, scale_w: torch.Tensor
    ) -> torch.Tensor:
        column = torch.arange(a.shape[1], device=a.device) // 128
        row = torch.arange(w.shape[0], device=w.device) // 128
        left = a.to(scale_a.dtype) * scale_a[:, column]
        right = w.to(scale_w.dtype) * scale_w[row][:, column]
        return (left @ right.t()).to(torch.bfloat16)
'''  # fmt: skip

TIES = Tolerance(
    relative=2e-5,
    absolute=2e-5,
    one_off=1e-2,
    why="x / s and x * (1 / s) round apart near a half: 1% of the whole numbers may be one off; scales to 2e-5",
)
BYTE: Values = ("randint", 0.0, 256.0)
"""Both halves of a byte, each of 16 values."""
SCALE: Values = ("uniform", 0.002, 0.02)
SATURATED: Values = ("normal", 0.0, 300.0)
"""About a seventh of such values are beyond e4m3's largest value, 448."""
SUBNORMAL: Values = ("normal", 0.0, 0.008)
"""e4m3's subnormals end at 2^-6, and lie 2^-9 apart."""


def rows_of(shapes: tuple[Shape, ...], full: Shape) -> tuple[Workload, ...]:
    """Return the workloads of row quantisation: wide ranges, only zeros, one large value."""
    stress: tuple[tuple[str, Values], ...] = (("uniform", UNIFORM), ("heavy tails", HEAVY), ("tiny", ("normal", 0.0, 1e-4)),
              ("whole numbers", ("randint", -127.0, 128.0)), ("a spike", ("spike", 0.0, 1.0)), ("zeros", ZEROS))  # fmt: skip
    return (
        *(workload("nominal", tensor(shape)) for shape in shapes),
        *(workload("stress", tensor((32, 512), values), label=label) for label, values in stress),
        *(workload("general", tensor(shape)) for shape in ((1, 1), (3, 33), (33, 31), (7, 1023))),
        workload("full", tensor(full)),
    )


def mxfp4(role: Role, rows: int, columns: int, powers: Values, label: str = "") -> Workload:
    """Return a workload of packed rows, with biased exponents."""
    blocks = tensor((rows, columns // 2), BYTE, "uint8")
    return workload(role, blocks, tensor((rows, columns // 32), powers, "uint8"), label=label)


USUAL: Values = ("randint", 105.0, 150.0)
"""Float16 can't represent all of them."""
EXACT = Tolerance(
    relative=1e-6,
    absolute=0.0,
    why="each result is exact in float32; what is below its smallest normal number may become 0",
)
WHOLE_RANGE: Values = ("randint", 2.0, 251.0)


def w4(role: Role, m: int, n: int, k: int, group: int, values: Values = NORMAL, label: str = "", codes: Values = BYTE) -> Workload:  # fmt: skip
    """Return a workload of float16 rows and packed weights."""
    scales = tensor((n, k // group), SCALE, "float16")
    packed = tensor((n, k // 2), codes, "uint8")
    return workload(
        role, tensor((m, k), values, "float16"), packed, scales, label=label, init=(group,)
    )


def fp8(role: Role, m: int, n: int, k: int, values: Values = NORMAL, label: str = "") -> Workload:
    """Return a workload of e4m3 matrices with the scales of their blocks."""
    blocks = -(-k // 128)
    matrices: list[TensorSpec] = [
        tensor((rows, k), values, "float8_e4m3fn") for rows in (m, n)
    ]  # fmt: skip
    return workload(
        role, *matrices, tensor((m, blocks), SCALE), tensor((-(-n // 128), blocks), SCALE), label=label
    )  # fmt: skip


def quantising_task(name: str, title: str, reference: str, words: tuple[str, ...], formula: str, own: set[str], against: tuple[str, ...], tolerance: Tolerance | None = None) -> Entry:  # fmt: skip
    """Return a task that quantises rows."""
    return Entry(
        task=builtin(
            name,
            title,
            reference,
            workloads=rows_of(((64, 1024), (100, 333)), (16384, 8192)),
            family="quantise",
            parameters={"type": name.removeprefix("quantise-")},
            tolerance=tolerance,
            prompt=f"{title}: return the quantised rows and their scales.",
        ),
        kind="low precision",
        words=words,
        formulas=(formula,),
        against=(r"de ?quant\w*", r"gemm", r"mat ?mul", *against),
        vocabulary=frozenset({"quantize", "quantise", "quant", "row", "rowwise", "per", "token", "dynamic", "scale", "absmax", "amax", "max", *own}),
    )  # fmt: skip


def to_fp8(kind: str, most: int) -> str:
    """Return the reference that quantises rows to a type of 8-bit floats."""
    return TO_FP8.replace("TYPE", kind).replace("MOST", f"{most}.0")


ENTRIES = (
    quantising_task(
        "quantise-int8",
        "Rows to int8 with a scale each",
        TO_INT8,
        (r"(per (row|token) |row ?wise |dynamic )?quanti[sz]e( per)?( (row|token))?( int ?8)?", r"int ?8 quant\w*", r"(per (row|token)|row ?wise|dynamic) quant( int ?8)?"),
        r"\.amax\(dim=-1\)\.clamp\(min=1e-8\)/127",
        {"int8", "i8"},
        (r"fp8", r"e[45]m[23]", r"int ?4", r"mx\w*"),
        TIES,
    ),
    quantising_task(
        "quantise-fp8",
        "Rows to 8-bit floats (e4m3) with a scale each",
        to_fp8("e4m3fn", 448),
        (r"(per (row|token) |row ?wise |dynamic )?(fp8|e4m3) quant\w*", r"(per (row|token) |row ?wise |dynamic )?quanti[sz]e( per)?( (row|token))?( to)? (fp8|e4m3)"),
        r"\.to\(torch\.float8_e4m3fn\),scale",
        {"fp8", "e4m3"},
        (r"e5m2", r"int ?8", r"mx\w*"),
    ),
    quantising_task(
        "quantise-fp8-e5m2",
        "Rows to 8-bit floats (e5m2) with a scale each",
        to_fp8("e5m2", 57344),
        (r"(fp8 )?e5m2 quant\w*", r"quanti[sz]e( per)?( (row|token))?( to)?( fp8)? e5m2"),
        r"\.to\(torch\.float8_e5m2\),scale",
        {"fp8", "e5m2"},
        (r"e4m3", r"int ?8", r"mx\w*"),
    ),
    Entry(
        task=builtin(
            "dequantise-mxfp4",
            "mxfp4 rows back to floats",
            MXFP4,
            workloads=(
                mxfp4("nominal", 64, 1024, USUAL),
                mxfp4("nominal", 50, 352, USUAL),
                mxfp4("stress", 32, 512, WHOLE_RANGE, "the whole range"),
                mxfp4("stress", 32, 512, ("randint", 1.0, 4.0), "near the smallest"),
                mxfp4("general", 1, 32, USUAL),
                mxfp4("general", 3, 96, USUAL),
                mxfp4("full", 16384, 8192, USUAL),
            ),
            family="mxfp4",
            tolerance=EXACT,
            prompt="Turn mxfp4 rows back to float32: packed e2m1 numbers (the lower half of a byte first), and a biased exponent for 32.",
        ),
        kind="low precision",
        words=(r"(de ?quant\w* )?mx ?fp ?4( de ?quant\w*)?", r"e2m1 de ?quant\w*", r"de ?quant\w* e2m1"),
        formulas=(r"torch\.ldexp\(values\[codes\],", r"\[0\.0,0\.5,1\.0,1\.5,2\.0,3\.0,4\.0,6\.0\]"),
        against=(r"gemm", r"mat ?mul"),
        vocabulary=frozenset({"mxfp4", "mxfp", "mx", "fp4", "e2m1", "e8m0", "dequantize", "dequantise", "dequant", "block", "blocks", "unpack", "to", "float"}),
    ),
    Entry(
        task=builtin(
            "matmul-w4a16",
            "Product with packed 4-bit weights (w4a16)",
            W4A16,
            workloads=(
                w4("nominal", 32, 96, 256, 64),
                w4("nominal", 17, 50, 160, 32),
                w4("stress", 16, 32, 256, 64, UNIFORM, "uniform"),
                w4("stress", 16, 32, 256, 64, ("normal", 0.0, 8.0), "wide"),
                w4("stress", 16, 32, 256, 64, NORMAL, "the smallest weights", ("constant", 0.0, 0.0)),
                w4("general", 1, 1, 32, 32),
                w4("general", 1, 100, 512, 128),
                w4("general", 5, 7, 96, 32),
                w4("full", 16, 8192, 8192, 128, ("normal", 0.0, 0.5)),
            ),
            family="matmul-w4a16",
            reduction_length="d1",
            prompt="Multiply float16 x (M, K) and 4-bit weights (N, K), transposed: packed two a byte, less 8, times the scale of their group.",
        ),
        kind="low precision",
        words=(r"w4 ?a16( (gemm|gemv|mat ?mul|linear))?", r"(int ?4|4 ?bit|awq|gptq)( weight)?( only)?( de ?quant\w*)? (gemm|gemv|mat ?mul|linear)", r"(gemm|gemv|mat ?mul|linear) (int ?4|w4)"),
        usual=(r"gemm", r"gemv", r"mat ?mul"),
        formulas=(r"codes\.to\(x\.dtype\)-8", r"packed&(15|0xF)"),
        against=(r"w8a8", r"fp8", r"mx\w*", r"int ?8"),
        vocabulary=frozenset({"w4a16", "int4", "4bit", "awq", "gptq", "gemm", "gemv", "matmul", "linear", "weight", "only", "packed", "dequant", "quantized", "group"}),
    ),
    Entry(
        task=builtin(
            "matmul-fp8",
            "Product of 8-bit floats with scales of blocks",
            FP8_GEMM,
            workloads=(
                fp8("nominal", 64, 160, 256),
                fp8("nominal", 33, 96, 200),
                fp8("stress", 32, 32, 256, SATURATED, "saturated"),
                fp8("stress", 32, 32, 256, SUBNORMAL, "subnormal"),
                fp8("stress", 32, 32, 256, UNIFORM, "uniform"),
                fp8("general", 1, 1, 1),
                fp8("general", 7, 300, 130),
                fp8("general", 1, 129, 1000),
                fp8("full", 4096, 4096, 4096),
            ),
            family="matmul-fp8",
            reduction_length="d1",
            prompt="Multiply e4m3 matrices a (M, K) and w (N, K), transposed, with a scale for 128 numbers of a row of a and for 128 x 128 blocks of w; return bfloat16.",
        ),
        kind="low precision",
        words=(r"(block ?(wise|scaled?)? )?(fp8|e4m3)( (block ?(wise|scaled?)?|scaled))? (gemm|mat ?mul|linear|mm)", r"(gemm|mat ?mul|linear|mm) (fp8|e4m3)"),
        usual=(r"gemm", r"mat ?mul"),
        formulas=(r"scale_w\[row\]\[:,column\]", r"torch\._scaled_mm\("),
        against=(r"w8a8", r"int ?8", r"w4a16", r"int ?4", r"grouped"),
        vocabulary=frozenset({"fp8", "e4m3", "gemm", "matmul", "mm", "linear", "scaled", "block", "blockwise", "scale", "matrix", "float8"}),
    ),
)  # fmt: skip

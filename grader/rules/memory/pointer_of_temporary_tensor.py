"""MEM009: a pointer outlives the temporary tensor that it points into."""

from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.rules.rule import Rule, hosted
from grader.source import Source, Unit
from grader.source.code_edits import fix
from grader.source.cuda_code import text
from grader.source.flow import flow
from grader.source.flow.tree import Call, Cast, Declare, Expr, walk
from grader.source.statements import insert_before, statement

COPIES = frozenset(
    {"to", "t", "clone", "transpose", "permute", "float", "half", "reshape", "cuda", "view"}
)
VIEWS = frozenset({"t", "transpose", "permute", "view"})


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for pointers kept in variables that were taken of a call's result."""
    for unit in source.cuda:
        for function in flow(unit).program.functions:
            if function.kind != "host":
                continue
            for part in walk(function.body):
                if isinstance(part, Declare) and part.init is not None:
                    yield from _declared(unit, part)


def _declared(unit: Unit, part: Declare) -> Iterator[Finding]:
    taken = _taken(part.init)
    if taken is None or not isinstance(taken.base, Call) or taken.base.base is None:
        return
    maker = taken.base
    if maker.name not in {"contiguous", *(COPIES - VIEWS)}:
        return
    certain = maker.name == "clone"
    yield RULE.finding(
        unit.place(part.node),
        f"`{part.name}` points into the temporary that `{text(maker.node)}` makes, which is gone at the end of this statement: when the "
        "kernel runs, the memory may already be in use for something else",
        severity="error" if certain else "warning",
        fixes=_fixes(unit, part, maker),
    )


def _taken(expr: Expr | None) -> Call | None:
    while isinstance(expr, Cast):
        expr = expr.operand
    if isinstance(expr, Call) and expr.name in {"data_ptr", "data"} and expr.base is not None:
        return expr
    return None


def _fixes(unit: Unit, part: Declare, maker: Call) -> Iterator[Fix]:
    name = f"{part.name}_tensor"
    yield from fix(
        "keep the tensor in a variable",
        [
            insert_before(unit, statement(part.node), f"auto {name} = {text(maker.node)};"),
            unit.edit(maker.node.start_byte, maker.node.end_byte, name),
        ],
    )


_BAD = hosted("""
__global__ void copy(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
float* p = x.contiguous().data_ptr<float>();
copy<<<(x.numel() + 255) / 256, 256>>>(p, $y, x.numel());
""")
RULE = Rule(
    code="MEM009",
    name="pointer-of-temporary-tensor",
    summary="The pointer belongs to a temporary copy that is freed at once; the kernel may read memory that is already reused.",
    why="`x.contiguous().data_ptr<float>()` in a variable keeps the pointer but not the tensor. If a copy was made, its memory goes back "
    "to the allocator before the kernel is launched. Name the tensor first.",
    bad=_BAD,
    good=_BAD.replace(
        "float* p = x.contiguous().data_ptr<float>();\n"
        "    copy<<<(x.numel() + 255) / 256, 256>>>(p",
        "copy<<<(x.numel() + 255) / 256, 256>>>(\n        x.contiguous().data_ptr<float>()",
    ),
    languages=("cuda",),
    guards="In the launch's own argument list a temporary lives long enough, and views share memory with their tensor. `contiguous()` "
    "often returns the tensor itself, so it is a warning.",
    fix="Keeps the tensor in a variable.",
    check=check,
)

"""NUM007: sums in half precision."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Source, Unit
from grader.source.code_edits import fix
from grader.source.flow import flow
from grader.source.flow.program import Function, Program
from grader.source.flow.tree import Assign, Binary, Call, Declare, Expr, Loop, Name, Stmt, walk

HALF = frozenset(
    {"half", "__half", "at::Half", "c10::Half", "__nv_bfloat16", "at::BFloat16", "c10::BFloat16",
     "half2", "__half2", "__nv_bfloat162"}
)  # fmt: skip
ADDING = frozenset({"__hadd", "__hadd_rn", "__hadd2", "__hadd2_rn", "__hfma", "__hfma2"})


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look at the types of accumulators."""
    for unit in source.cuda:
        program = flow(unit).program
        halves = HALF | _dispatched_halves(unit, program)
        for function in program.functions:
            if function.kind != "host":
                yield from _accumulators(unit, function, halves)


def _dispatched_halves(unit: Unit, program: Program) -> set[str]:
    """Return the type parameters that a dispatch also instantiates with half types."""
    if "AND_HALF" not in unit.text and "AND2" not in unit.text and "kHalf" not in unit.text:
        return set()
    return {p.name for f in program.kernels for p in f.template if p.is_type}


def _accumulators(
    unit: Unit, function: Function, halves: frozenset[str] | set[str]
) -> Iterator[Finding]:
    declared = {
        p.name: p
        for p in walk(function.body)
        if isinstance(p, Declare) and not p.dims and not p.pointer and p.type in halves
    }
    for loop in walk(function.body):
        if not isinstance(loop, Loop):
            continue
        for part in walk(loop.body):
            start = declared.get(_added_to(part))
            if start is not None and start.node.start_byte < loop.node.start_byte:
                del declared[start.name]
                plus = isinstance(part, Assign) and part.op == "+="
                yield _finding(unit, start, plus=plus)


def _added_to(part: Expr | Stmt) -> str:
    """Return the variable that `s += x`, `s = s + x` or `s = __hadd(s, x)` adds to; empty for anything else."""
    if not isinstance(part, Assign) or not isinstance(part.target, Name):
        return ""
    value, name = part.value, part.target.id
    adds = (isinstance(value, Call) and value.name in ADDING) or (
        isinstance(value, Binary) and value.op == "+"
    )
    within = {one.id for one in walk(value) if isinstance(one, Name)}
    return name if part.op == "+=" or (part.op == "=" and adds and name in within) else ""


def _finding(unit: Unit, start: Declare, *, plus: bool) -> Finding:
    kind = start.node.child_by_field_name("type")
    edits = (
        [unit.edit(kind.start_byte, kind.end_byte, "float")] if kind is not None and plus else []
    )
    return RULE.finding(
        unit.place(start.node),
        f"`{start.name}` sums in half precision: beyond 2048 equal terms a half sum stops growing",
        fixes=fix("sum in float", edits) if edits else (),
    )


_BAD = """
__global__ void dot(const __half* a, __half* y, int n) {
    __half s = a[0];
    for (int i = 1; i < n; ++i) s += a[i];
    y[0] = s;
}
"""
RULE = Rule(
    code="NUM007",
    name="low-precision-accumulation",
    severity="warning",
    summary="Long sums are kept in half precision, so small terms get lost.",
    why="A half has 11 bits: 2048 + 1 is 2048. Sums belong into float, whatever the data's type.",
    bad=_BAD,
    good=_BAD.replace(
        " __half s = a[0];\n    for (int i = 1; i < n; ++i) s += a[i];\n    y[0] = s",
        " float s = 0.0f;\n"
        "    for (int i = 0; i < n; ++i) s += __half2float(a[i]);\n"
        "    y[0] = __float2half(s)",
    ),
    languages=("cuda",),
    guards="A template's own type is fine while only float and double are instantiated; partial sums of a few hundred terms are accurate.",
    fix="Declares the accumulator as float.",
    check=check,
    predicts="elsewhere",
)

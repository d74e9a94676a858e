"""NUM007: long sums in half precision, or in one running float."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source.analysis.walks import Case, cases
from grader.source.code_edits import fix
from grader.source.flow import flow
from grader.source.flow.program import Function, Program
from grader.source.flow.tree import Assign, Binary, Declare, Loop, Name, walk

if TYPE_CHECKING:
    from grader.source import Source, Unit

HALF = frozenset(
    {"half", "__half", "at::Half", "c10::Half", "__nv_bfloat16", "at::BFloat16", "c10::BFloat16"}
)
LONG = 16_384
"""Terms from which one running float is worth a note."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the types of accumulators."""
    for unit in source.cuda:
        program = flow(unit).program
        halves = HALF | _dispatched_halves(unit, program)
        for function in program.functions:
            if function.kind != "host":
                yield from _accumulators(unit, function, halves)
    yield from _long_sums(source, context)


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
        if isinstance(p, Declare) and not p.dims and not p.pointer
    }
    seen: set[str] = set()
    for loop in walk(function.body):
        if not isinstance(loop, Loop):
            continue
        for part in walk(loop.body):
            if isinstance(part, Assign) and part.op == "+=" and isinstance(part.target, Name):
                start = declared.get(part.target.id)
                outside = start is not None and start.node.start_byte < loop.node.start_byte
                if (
                    start is not None
                    and outside
                    and start.type in halves
                    and start.name not in seen
                ):
                    seen.add(start.name)
                    kind = start.node.child_by_field_name("type")
                    yield RULE.finding(
                        unit.place(start.node),
                        f"`{start.name}` sums in half precision: beyond 2048 equal terms a half sum stops growing",
                        fixes=fix(
                            "sum in float", [unit.edit(kind.start_byte, kind.end_byte, "float")]
                        )
                        if kind is not None
                        else (),
                    )


def _long_sums(source: Source, context: Context) -> Iterator[Finding]:
    """Report, as a note, one thread that adds a whole long row into one float."""
    for case in cases(source, context, "full"):
        summing = [loop for loop in _loops(case) if _adds(loop) and _terms(case, loop) >= LONG]
        if not summing:
            continue
        for access in case.walk.accesses:
            at = access.node.start_byte
            own = [n for n in summing if n.node.start_byte <= at < n.node.end_byte]
            if own and access.kind == "load" and _unit_step(case.walk.accesses, access):
                yield RULE.finding(
                    case.place(access.node),
                    f"one thread adds up to {_terms(case, own[-1])} terms into one running float: typically 1e-5 of relative error, where "
                    "a tree leaves 1e-7",
                    severity="note",
                    confidence="possible",
                )
                return


def _loops(case: Case) -> Iterator[Loop]:
    return (part for part in walk(case.walk.kernel.body) if isinstance(part, Loop))


def _adds(loop: Loop) -> bool:
    """Whether a loop adds to a variable in each of its turns."""
    return any(
        isinstance(part, Assign) and part.op == "+=" and isinstance(part.target, Name)
        for part in walk(loop.body)
    )


def _terms(case: Case, loop: Loop) -> int:
    """Return how far `i < n` lets a loop go, where `n` is a parameter of the kernel; 0 where it isn't."""
    test = loop.test
    if (
        not isinstance(test, Binary)
        or test.op not in {"<", "<="}
        or not isinstance(test.right, Name)
    ):
        return 0
    names = [parameter.name for parameter in case.walk.kernel.parameters]
    given = dict(zip(names, case.launch.arguments, strict=False)).get(test.right.id)
    return given.scalar or 0 if given is not None else 0


def _unit_step(accesses: list, access) -> bool:  # type: ignore[type-arg,no-untyped-def]
    """Whether a load moves by one element from one turn of its loop to the next."""
    if not access.loops or access.loops[-1][1] != 1 or access.offsets is None:
        return False
    for other in accesses:
        same = (
            other.node.id == access.node.id
            and other.loops
            and other.loops[-1] == (access.loops[-1][0], 0)
        )
        if same and other.offsets is not None:
            return bool(((access.offsets - other.offsets)[access.mask] == 1).all())
    return False


RULE = Rule(
    code="NUM007",
    name="low-precision-accumulation",
    severity="warning",
    summary="Long sums are kept in half precision or in a single running float, so small terms get lost.",
    why="A half has 11 bits: 2048 + 1 is 2048. Sums belong into float, whatever the data's type; very long ones into several partial "
    "sums that a tree joins.",
    bad="""
__global__ void dot(const __half* a, __half* y, int n) {
    __half s = a[0];
    for (int i = 1; i < n; ++i) s += a[i];
    y[0] = s;
}
""",
    good="""
__global__ void dot(const __half* a, __half* y, int n) {
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s += __half2float(a[i]);
    y[0] = __float2half(s);
}
""",
    detects=("text",),
    languages=("cuda",),
    guards="A template's own type is fine while only float and double are instantiated; partial sums of a few hundred terms are accurate.",
    fix="Declares the accumulator as float.",
    check=check,
    predicts="elsewhere",
)

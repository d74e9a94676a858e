"""PRF014: constants without f make float code compute in double."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Edit, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.walks import Case, cases
from grader.source.code_edits import fix
from grader.source.cuda_code import descendants, one_line, text
from grader.source.flow import Event
from grader.source.flow.loops import assigned_in
from grader.source.flow.tree import Assign, Binary, Call, Expr, Loop, Name, Number, Subscript, walk


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for operations of a float with a double, and for slow forms in loops."""
    seen: set[tuple[str, int]] = set()
    for case in cases(source, context):
        for event in case.events("double-math"):
            key = (case.kernel, case.line(event.node))
            if key not in seen:
                seen.add(key)
                yield _double(case, event)
        key = (case.kernel, 0)
        if key not in seen:
            seen.add(key)
            yield from _slow(case)


def _double(case: Case, event: Event) -> Finding:
    where = " for every element" if event.data.get("loops") else ""
    return RULE.finding(
        case.place(event.node),
        f"`{one_line(event.node, 50)}` computes in double precision{where}: a constant without `f` (or a double) meets a float",
        fixes=_suffix(case, event),
        kernels=(case.kernel,),
    )


def _suffix(case: Case, event: Event) -> Iterator[Fix]:
    edits: list[Edit | None] = [
        case.unit.edit(n.end_byte, n.end_byte, "f")
        for n in descendants(event.node, "number_literal")
        if ("." in text(n) or "e" in text(n).lower()) and text(n)[-1] not in "fFlLxX"
    ]
    if edits:
        yield from fix("compute in float", edits)


def _slow(case: Case) -> Iterator[Finding]:
    """Report the first power of two and the first division by something constant in a loop."""
    for loop in walk(case.walk.kernel.body):
        for part in walk(loop.body) if isinstance(loop, Loop) else ():
            if isinstance(part, Call) and part.name in {"pow", "powf"} and _is_two(part.args):
                yield RULE.finding(
                    case.place(part.node),
                    f"`{one_line(part.node, 40)}` is a slow way to write a product",
                    kernels=(case.kernel,),
                )
                return
            divisor = _divisor(part)
            if (
                divisor is not None
                and isinstance(loop, Loop)
                and divisor.id not in assigned_in(loop)
            ):
                yield RULE.finding(
                    case.place(part.node),
                    f"`{one_line(part.node, 40)}` divides every element by `{divisor.id}`, which stays the same: multiply by its "
                    "reciprocal",
                    kernels=(case.kernel,),
                )
                return


def _is_two(args: tuple[Expr, ...]) -> bool:
    return len(args) == 2 and isinstance(args[1], Number) and args[1].value == 2


def _divisor(part: object) -> Name | None:
    if isinstance(part, Binary) and part.op == "/" and isinstance(part.right, Name):
        return part.right if any(isinstance(p, Subscript) for p in walk(part.left)) else None
    if isinstance(part, Assign) and part.op == "/=" and isinstance(part.target, Subscript):
        return part.value if isinstance(part.value, Name) else None
    return None


_BAD = """
__global__ void scale(const float* x, float* y, float norm, int n) {
    float inv = 1.0 / norm;
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] * inv;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    scale<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), 2.0f, x.numel());
    return y;
}
"""
RULE = Rule(
    code="PRF014",
    name="double-or-slow-math-in-float-code",
    severity="note",
    summary="Constants without `f` switch part of the calculation to double precision, and some math calls are slower than needed.",
    why="A GPU computes doubles at a 2nd to a 64th of the speed of floats. `1.0 / x` with a float x is a double division; `1.0f / x` is "
    "not. A division by a value that stays the same in a loop is a multiplication by its reciprocal.",
    bad=_BAD,
    good=_BAD.replace("1.0", "1.0f"),
    detects=("text",),
    languages=("cuda",),
    guards="An initial value without f costs nothing. Once a row it hardly counts: a note.",
    fix="Adds the f.",
    check=check,
)

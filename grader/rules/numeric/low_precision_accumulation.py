"""NUM007: sums and products in half precision."""

import ast
import re
from collections.abc import Collection, Iterator, Sequence

from grader.records.observed import wrong_results
from grader.rules import Context, Edit, Evidence, Finding, Fix, Source, Unit, fix, rule_of
from grader.source.analysis import triton
from grader.source.analysis.triton_values import deciders
from grader.source.code_edits import add_argument, replace, replace_node
from grader.source.cpp import Assign, Binary, Call, Declare, Loop, Name, Part, walk
from grader.source.functions import Function

HALF = frozenset(
    {"half", "__half", "at::Half", "c10::Half", "__nv_bfloat16", "at::BFloat16", "c10::BFloat16",
     "half2", "__half2", "__nv_bfloat162"}
)  # fmt: skip
ADDING = frozenset({"__hadd", "__hadd_rn", "__hadd2", "__hadd2_rn", "__hfma", "__hfma2"})
NARROW = re.compile(r"float16|half|dtype|float8")
EXACT = 'input_precision="ieee"'
ROUNDED = frozenset({"half-precision", "half-sums"})
"""Patterns of errors from rounding."""
OF_TRITON = frozenset({"triton.language.float16", "triton.language.bfloat16"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Check the types of accumulators, and of a Triton kernel's sums and products."""
    rounded = tuple(i for i in wrong_results(context) if i.code in ROUNDED)
    for unit in source.cuda:
        halves = HALF | _dispatched_halves(unit)
        for function in unit.functions:
            if function.runs != "host":
                yield from _accumulators(unit, function, halves, rounded)
    floats = _floats(context)
    half = bool(floats) and floats <= {"float16", "bfloat16"}
    for kernel in triton.kernels(source):
        told = (_type_of_sum(kernel, half, *one) for one in _adding(kernel))
        for node, said, fixes in {one[0]: one for one in told if one is not None}.values():
            yield RULE.finding(
                source.place(node),
                said,
                severity="error" if rounded else "warning",
                evidence=rounded,
                fixes=fixes,
                kernels=(kernel.name,),
                predicts="wrong-values",
            )

    yield from _in_tf32(source, context)


def _dispatched_halves(unit: Unit) -> set[str]:
    """Return the type parameters that a dispatch also instantiates with half-precision types."""
    if not any(word in unit.text for word in ("AND_HALF", "AND2", "kHalf")):
        return set()
    return {p.name for f in unit.kernels for p in f.template_parameters if p.is_type}


def _accumulators(
    unit: Unit, function: Function, halves: Collection[str], rounded: tuple[Evidence, ...]
) -> Iterator[Finding]:
    """Yield sums in half precision, as errors where results show its rounding."""
    parts = list(walk(function.code))
    declared = {
        p.name: p
        for p in parts
        if isinstance(p, Declare) and not p.dims and not p.pointer and p.type in halves
    }
    for loop in (part for part in parts if isinstance(part, Loop)):
        for part in walk(loop.body):
            start = declared.get(_added_to(part))
            if start is not None and start.node.start_byte < loop.node.start_byte:
                del declared[start.name]
                kind = start.node.child_by_field_name("type")
                plus = isinstance(part, Assign) and part.op == "+=" and kind is not None
                yield RULE.finding(
                    unit.place(start.node),
                    f"`{start.name}` sums in half precision: beyond 2048 equal terms a half sum stops growing",
                    severity="error" if rounded else None,
                    evidence=rounded,
                    fixes=fix("sum in float", [replace_node(unit, kind, "float")] if plus else []),
                )


def _added_to(part: Part) -> str:
    """Return the variable that `s += x`, `s = s + x` or `s = __hadd(s, x)` adds to; empty for anything else."""
    if not isinstance(part, Assign) or not isinstance(part.target, Name):
        return ""
    value, name = part.value, part.target.id
    called = isinstance(value, Call) and value.name in ADDING
    adds = called or (isinstance(value, Binary) and value.op == "+")
    within = {one.id for one in walk(value) if isinstance(one, Name)}
    return name if part.op == "+=" or (part.op == "=" and adds and name in within) else ""


def _adding(kernel: triton.Kernel) -> Iterator[tuple[str, Sequence[ast.expr], ast.AST]]:
    """Yield accumulations with their operands: Triton's functions, and names that loops add to."""
    for call in kernel.calls("sum", "cumsum", "dot"):
        name = kernel.language_name(call)
        yield f"tl.{name}", call.args[: 2 if name == "dot" else 1], call
    loops = (node for node in ast.walk(kernel.node) if isinstance(node, ast.For | ast.While))
    for node in (node for loop in loops for node in ast.walk(loop)):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, (node.target,), node


def _type_of_sum(
    kernel: triton.Kernel, half: bool, name: str, values: Sequence[ast.expr], where: ast.AST
) -> tuple[ast.AST, str, tuple[Fix, ...]] | None:
    """Return in words where a half-precision sum gets its type, and the edits that make it float32.

    Where all that the task gives is `half`, loads are, and a product of halves is no loss.
    """
    source, each = kernel.source, [list(deciders(kernel, one)) for one in values]
    every = [one for of_value in each for one in of_value]
    loads = [one for one in every if kernel.language_name(one) == "load"]
    types = [one for one in every if one not in loads]
    named = [one for one in types if source.module.canonical(one) in OF_TRITON]
    of_loads = half and all(one in named or source.text(one).endswith(("dtype", "element_ty")) for one in types)  # fmt: skip
    narrow = of_loads or any(of_value and set(of_value) <= set(named) for of_value in each)
    multiplies = name == "tl.dot"
    if not every or not narrow or (multiplies and half):
        return None
    edits = [replace(source, one, "tl.float32") for one in (named if multiplies else types)]
    casts = [replace(source, one, f"{source.text(one)}.to(tl.float32)") for one in loads]
    exact = _exactly(source, where) if isinstance(where, ast.Call) and multiplies else casts
    does, of = ("multiplies", "factor") if multiplies else ("sums", "partial sum")
    said = f"`{name}` {does} in half precision: it keeps 11 bits or fewer of each {of}"
    at: ast.AST = named[0] if named else where
    return at, said, fix("stay in float32", [*edits, *exact])


def _floats(context: Context) -> set[str]:
    """Return the types of the numbers with a fraction that the task gives."""
    workloads = context.task.workloads if context.task is not None else ()
    kinds = {getattr(item, "dtype", "") for one in workloads for item in one.inputs}
    return {one for one in kinds if "float" in one}


def _exactly(source: Source, call: ast.Call) -> tuple[Edit, ...]:
    """Return the edit that makes a `tl.dot` multiply in full float32; none where it already does."""
    words = {word.arg: word for word in call.keywords}
    asked = words.get("input_precision") or words.get("allow_tf32")
    if asked is not None:
        rounds = source.text(asked.value) in {"'tf32'", '"tf32"', "True"}
        return (replace(source, asked, EXACT),) if rounds else ()
    return (add_argument(source, call, EXACT),)


def _in_tf32(source: Source, context: Context) -> Iterator[Finding]:
    """Report each `tl.dot` whose operands stay float32 and whose precision is the default, or TF32."""
    seen = tuple(item for item in wrong_results(context) if item.code == "half-precision")
    calls = ((kernel, call) for kernel in triton.kernels(source) for call in kernel.calls("dot"))
    for kernel, call in calls if _floats(context) <= {"float32"} else ():
        types = [one for operand in call.args[:2] for one in deciders(kernel, operand)]
        named = (source.text(one) for one in types if not isinstance(one, ast.Call))
        exact = _exactly(source, call)
        if exact and not any(map(NARROW.search, named)):
            yield RULE.finding(
                source.place(call),
                "`tl.dot` multiplies float32 operands as TF32 unless told otherwise: 10 bits of each operand are left; "
                f"`{EXACT}` keeps all{f' ({seen[0].text})' if seen else ''}",
                severity="error" if seen else "warning",
                evidence=seen,
                fixes=fix("multiply in full float32", exact),
                predicts="wrong-values",
                conditions="a tolerance tighter than TF32's three digits",
            )


RULE = rule_of(__file__, check, predicts="elsewhere")

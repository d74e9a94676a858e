"""NUM007: sums and products in half precision."""

import ast
from collections.abc import Collection, Iterator

from grader.records.observed import wrong_results
from grader.rules import Context, Edit, Evidence, Finding, Fix, Source, Unit, fix, rule_of
from grader.source.analysis import triton
from grader.source.code_edits import replace, replace_node
from grader.source.cpp import Assign, Binary, Call, Declare, Loop, Name, Part, walk
from grader.source.functions import Function

HALF = frozenset(
    {"half", "__half", "at::Half", "c10::Half", "__nv_bfloat16", "at::BFloat16", "c10::BFloat16",
     "half2", "__half2", "__nv_bfloat162"}
)  # fmt: skip
ADDING = frozenset({"__hadd", "__hadd_rn", "__hadd2", "__hadd2_rn", "__hfma", "__hfma2"})
NARROW = frozenset({"float16", "bfloat16", "half", "dtype"})
OF_TRITON = frozenset({"triton.language.float16", "triton.language.bfloat16"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the types of accumulators, and of what a Triton kernel sums or multiplies."""
    rounded = tuple(i for i in wrong_results(context) if i.code == "half-precision")
    for unit in source.cuda:
        halves = HALF | _dispatched_halves(unit)
        for function in unit.functions:
            if function.runs != "host":
                yield from _accumulators(unit, function, halves, rounded)
    for kernel in triton.kernels(source):
        for node, said in (*_blocks(source, kernel), *_cast(source, kernel)):
            yield RULE.finding(
                source.place(node),
                said,
                severity="error" if rounded else "warning",
                evidence=rounded,
                fixes=(
                    *fix("stay in float32", [replace(source, node, "tl.float32")]),
                    *_all_in_float32(source, kernel, node),
                ),
                kernels=(kernel.name,),
                predicts="wrong-values",
            )

    yield from _in_tf32(source, context)


def _dispatched_halves(unit: Unit) -> set[str]:
    """Return the type parameters that a dispatch also instantiates with half types."""
    if not any(word in unit.text for word in ("AND_HALF", "AND2", "kHalf")):
        return set()
    return {p.name for f in unit.kernels for p in f.template_parameters if p.is_type}


def _accumulators(
    unit: Unit, function: Function, halves: Collection[str], rounded: tuple[Evidence, ...]
) -> Iterator[Finding]:
    """Yield sums in half precision: errors where results are off as it leaves them."""
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


def _blocks(source: Source, kernel: triton.Kernel) -> Iterator[tuple[ast.expr, str]]:
    """Yield the types of blocks that start in a half type and are added to."""
    added = (node.target for node in ast.walk(kernel.node) if isinstance(node, ast.AugAssign))
    grown = {target.id for target in added if isinstance(target, ast.Name)}
    values = ((name, value) for name in grown for value in kernel.assigned.get(name, ()))
    for name, value in values:
        if isinstance(value, ast.Call) and kernel.language_name(value) in {"zeros", "full"}:
            for given in (*value.args, *(word.value for word in value.keywords)):
                if source.module.canonical(given) in OF_TRITON:
                    yield given, f"`{name}` sums in half precision: it keeps 11 bits or fewer of each partial sum"  # fmt: skip


def _cast(source: Source, kernel: triton.Kernel) -> Iterator[tuple[ast.expr, str]]:
    """Yield the half types to which operands of a sum or a product are cast."""
    for call in kernel.calls("sum", "dot", "cumsum"):
        name = kernel.language_name(call)
        for operand in call.args[: 2 if name == "dot" else 1]:
            for part in ast.walk(operand):
                match part:
                    case ast.Call(func=ast.Attribute(attr="to"), args=[given, *_]):
                        if source.module.canonical(given) in OF_TRITON:
                            yield given, f"values are rounded to half precision before `tl.{name}`: three digits of each are left"  # fmt: skip


def _all_in_float32(source: Source, kernel: triton.Kernel, node: ast.expr) -> tuple[Fix, ...]:
    """Return the `tl.dot` around a cast with both operands in float32, multiplied so."""
    for call in kernel.calls("dot"):
        given = [one for operand in call.args[:2] for one in ast.walk(operand) if source.module.canonical(one) in OF_TRITON]  # fmt: skip
        if node in given and not any(word.arg == "input_precision" for word in call.keywords):
            end = source.span(call)[1] - 1
            exact = Edit(start=end, end=end, text=', input_precision="ieee"')
            edits = [*(replace(source, one, "tl.float32") for one in given), exact]
            return fix("multiply in full float32", edits)
    return ()


def _in_tf32(source: Source, context: Context) -> Iterator[Finding]:
    """Report each `tl.dot` whose operands stay float32 and whose precision is the default, or TF32."""
    workloads = context.task.workloads if context.task is not None else ()
    kinds = {getattr(item, "dtype", "float32") for one in workloads for item in one.inputs}
    seen = tuple(item for item in wrong_results(context) if item.code == "half-precision")
    calls = ((kernel, call) for kernel in triton.kernels(source) for call in kernel.calls("dot"))
    for kernel, call in calls if kinds <= {"float32"} else ():
        words = {word.arg: word for word in call.keywords}
        asked = words.get("input_precision") or words.get("allow_tf32")
        rounds = asked is None or source.text(asked.value) in {"'tf32'", '"tf32"', "True"}
        if rounds and not _is_narrowed(kernel, call):
            text, exact = source.text(call), 'input_precision="ieee"'
            new = f"{text[:-1].rstrip().rstrip(',')}, {exact})"
            edit = replace(source, call, text.replace(source.text(asked), exact) if asked else new)
            yield RULE.finding(
                source.place(call),
                "`tl.dot` multiplies float32 operands as TF32 unless told otherwise: 10 bits of each operand are left; "
                f"`{exact}` keeps all{f' ({seen[0].text})' if seen else ''}",
                severity="error" if seen else "warning",
                evidence=seen,
                fixes=fix("multiply in full float32", [edit]),
                predicts="wrong-values",
                conditions="a tolerance tighter than TF32's three digits",
            )


def _is_narrowed(kernel: triton.Kernel, call: ast.Call) -> bool:
    """Whether the operands are cast to something that isn't float32."""
    parts = (part for operand in call.args[:2] for part in kernel.made_of(operand))
    names = (part.attr for part in parts if isinstance(part, ast.Attribute))
    return any(one in NARROW or one.startswith("float8") for one in names)


RULE = rule_of(__file__, check, predicts="elsewhere")

"""Fixes of what only the host has and device code uses: functions, constants, torch's mathematics, atomics."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.rules.build.fixes.undefined import first_code, line_of, unknown, uses
from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import cuda_code, descendants, text
from grader.source.statements import insert_before

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.records import Evidence, Fix
    from grader.source import Source, Unit

MATHS = {
    "exp": "expf", "log": "logf", "sqrt": "sqrtf", "rsqrt": "rsqrtf", "tanh": "tanhf", "abs": "fabsf", "fabs": "fabsf",
    "max": "fmaxf", "min": "fminf", "maximum": "fmaxf", "minimum": "fminf", "pow": "powf", "erf": "erff", "log1p": "log1pf",
    "sin": "sinf", "cos": "cosf", "floor": "floorf", "ceil": "ceilf", "expm1": "expm1f",
}  # fmt: skip
"""CUDA's float functions by the names that torch and the standard library use."""
ONE = {"sigmoid": "(1.0f / (1.0f + expf(-({0}))))", "relu": "fmaxf(({0}), 0.0f)",
       "silu": "(({0}) / (1.0f + expf(-({0}))))", "softplus": "log1pf(expf({0}))",
       "square": "(({0}) * ({0}))", "gelu": "(0.5f * ({0}) * (1.0f + erff(({0}) * 0.70710678f)))"}  # fmt: skip
"""Functions that torch has and CUDA does not, of one value."""
_HOST_FUNCTION = re.compile(
    r"calling a (?:constexpr )?__host__ function\(?[ ]*[\"'](?:\w+::)*(\w+)"
    r"|reference to __host__ function '(\w+)'"
)
_UNCONFIGURED = re.compile(
    r"__global__ function call must be configured|call to global function '?(\w+)'? not configured"
)
_HOST_VARIABLE = re.compile(
    r"identifier \"(\w+)\" is undefined in device code|reference to __host__ variable '(\w+)'"
)
_NO_OVERLOAD = re.compile(r"function \"(atomicM(?:ax|in))\"|call to '(atomicM(?:ax|in))'")
EXTREMA = {"fmaxf", "fminf", "fmax", "fmin", "max", "min", "std::max", "std::min"}
ATOMIC = """\
__device__ float {name}(float* address, float value) {{
    int* bits = (int*)address;
    int old = *bits, seen;
    do {{
        seen = old;
        old = atomicCAS(bits, seen, __float_as_int({pick}(value, __int_as_float(seen))));
    }} while (old != seen);
    return __int_as_float(old);
}}
"""


def device_function(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Let the GPU run a function that kernels call: `__device__` before it, or in the place of `__global__`."""
    found = _HOST_FUNCTION.search(item.said)
    called = next((name for name in found.groups() if name), "") if found else ""
    if not called and _UNCONFIGURED.search(item.said) and item.place is not None:
        called = _called_kernel(source, item.place.line)
    for unit in source.cuda if called else ():
        for function in unit.functions:
            if function.name != called or function.body is None or function.runs == "device":
                continue
            word = next((n for n in function.node.children if text(n) == "__global__"), None)
            start = function.node.start_byte
            edit = (
                replace_node(unit, word, "__device__")
                if word is not None
                else unit.edit(start, start, "__device__ ")
            )
            return fix(f"let device code call {called}", [edit])
    return ()


def _called_kernel(source: Source, line: int) -> str:
    for unit in source.cuda:
        kernels = {kernel.name for kernel in unit.kernels}
        for call in cuda_code(unit).calls:
            if call.last in kernels and line_of(unit, call.node) == line:
                return call.last
    return ""


def device_constant(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Make a constant that kernels use one that they can: `constexpr`, at file scope."""
    found = _HOST_VARIABLE.search(item.said)
    name = next((one for one in found.groups() if one), "") if found else unknown(item)
    for unit in source.cuda if name else ():
        for node in cuda_code(unit).of("declaration"):
            made = next(iter(descendants(node, "init_declarator")), None)
            kind = node.child_by_field_name("type")
            if made is None or kind is None or text(made.child_by_field_name("declarator")) != name:
                continue
            value = made.child_by_field_name("value")
            if value is None or not _constant(value):
                continue
            if node.parent is not None and node.parent.type == "translation_unit":
                edit = unit.edit(kind.start_byte, kind.start_byte, "constexpr ")
                return fix(f"make {name} a constant of the compiler's", [edit])
            return _at_file_scope(unit, name, text(kind), text(value))
    return ()


def _at_file_scope(unit: Unit, name: str, kind: str, value: str) -> tuple[Fix, ...]:
    first = first_code(unit)
    if first is None:
        return ()
    kind = "int" if kind == "auto" else kind
    line = f"constexpr {kind} {name} = {value};\n"
    return fix(f"define {name} for kernels too", [insert_before(unit, first, line)])


def _constant(node: Node) -> bool:
    """Whether a value is a number, or made of numbers."""
    return not any(True for _ in descendants(node, "identifier", "call_expression"))


def device_maths(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Call CUDA's own functions of numbers in device code, in the place of torch's or of none."""
    if item.place is None:
        return ()
    name = unknown(item)
    edits = []
    for unit in source.cuda:
        for call in cuda_code(unit).calls:
            foreign = call.name.startswith(("torch::", "at::"))
            if not cuda_code(unit).in_device_code(call.node) or not (foreign or call.name == name):
                continue
            callee = call.node.child_by_field_name("function")
            if call.last in MATHS and callee is not None:
                edits.append(replace_node(unit, callee, MATHS[call.last]))
            elif not any(
                True for one in call.arguments for _ in descendants(one, "call_expression")
            ):
                new = _computed(call.last, [text(one) for one in call.arguments])
                edits += [replace_node(unit, call.node, new)] if new else []
    return fix("call CUDA's own function", edits)


def _computed(name: str, given: list[str]) -> str:
    if name in ONE and len(given) == 1:
        return ONE[name].format(given[0])
    if name in {"clamp", "clip"} and len(given) == 3:
        return f"fminf(fmaxf({given[0]}, {given[1]}), {given[2]})"
    return ""


_TOO_MANY = re.compile(
    r"too many arguments|no matching function|no instance of overloaded function"
)


def nested_extremum(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Take the extremum of three values in two steps."""
    if item.place is None or not _TOO_MANY.search(item.said):
        return ()
    edits = []
    for unit in source.cuda:
        for call in cuda_code(unit).calls:
            on_line = line_of(unit, call.node) == item.place.line
            inner = any(True for one in call.arguments for _ in descendants(one, "call_expression"))
            if on_line and call.name in EXTREMA and len(call.arguments) > 2 and not inner:
                words = text(call.arguments[0])
                for one in call.arguments[1:]:
                    words = f"{call.name}({words}, {text(one)})"
                edits.append(replace_node(unit, call.node, words))
    return fix("take two at a time", edits)


def atomic_extremum(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Write the atomic maximum or minimum of floats that CUDA does not have, with a compare and swap."""
    found = _NO_OVERLOAD.search(item.said)
    name = next((one for one in found.groups() if one), "") if found else ""
    for unit in source.cuda if name else ():
        first = first_code(unit)
        if first is None or not any(owner is unit for owner, _ in uses(source, name)):
            continue
        pick = "fmaxf" if name == "atomicMax" else "fminf"
        new = ATOMIC.format(name=name, pick=pick)
        return fix(f"write {name} for floats", [insert_before(unit, first, new)])
    return ()

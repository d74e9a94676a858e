"""What Python allows and C++ does not, and other slips of a known form that stop the compiler."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from grader.rules.build.launch_fixes import written_through
from grader.source.analysis.diagnostics import confirming, errors
from grader.source.code_edits import fix, replace_node
from grader.source.cpp_types import type_of
from grader.source.cuda_code import cuda_code, one_line, read_call, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.records import Context, Evidence, Fix, Place
    from grader.source import Unit

SHAPING = {"reshape", "view", "expand", "permute", "repeat"}
PYTHON_WORDS = {"None": "nullptr", "True": "true", "False": "false"}
CONVOLUTION = re.compile(r"(?:torch|at)::conv[123]d")
PARTS = {"values": 0, "indices": 1}
PAIRS = {"max", "min", "sort", "topk", "median", "mode", "kthvalue", "cummax", "cummin"}
"""Functions that give values and indices."""
GIVEN_CONST = re.compile(r'argument of type "const [^"]*\*" is incompatible with parameter')
LOST_CONST = re.compile(
    r"\"const ([\w:]+) \*\" cannot be used to initialize an entity of type \"\1 \*\""
    r"|cannot initialize a variable of type '([\w:]+) \*' with an? \w+ of type 'const \2 \*'"
    r"|invalid conversion from \W?const (\w+) ?\*\W? to \W?\3 ?\*"
)
LIBRARY = (
    *(f"CUBLAS_{name}" for name in (
        "OP_N", "OP_T", "OP_C", "FILL_MODE_LOWER", "FILL_MODE_UPPER", "FILL_MODE_FULL",
        "SIDE_LEFT", "SIDE_RIGHT", "DIAG_NON_UNIT", "DIAG_UNIT", "POINTER_MODE_HOST",
        "POINTER_MODE_DEVICE", "COMPUTE_32F", "COMPUTE_32F_FAST_TF32", "COMPUTE_16F",
        "GEMM_DEFAULT", "GEMM_DEFAULT_TENSOR_OP", "STATUS_SUCCESS", "DEFAULT_MATH",
        "TF32_TENSOR_OP_MATH",
    )),
    "CUDA_R_32F", "CUDA_R_16F", "CUDA_R_16BF", "CUDA_R_64F",
    "cudaMemcpyDeviceToDevice", "cudaMemcpyDeviceToHost", "cudaMemcpyHostToDevice",
    "cudaFuncAttributeMaxDynamicSharedMemorySize",
)  # fmt: skip
"""Constants of CUDA's libraries that are often misremembered."""
ALIKE = 0.84
SHORT = 3
KINDS = ("undefined-identifier", "undefined-in-device", "no-overload", "no-operator", "syntax")


@dataclass(frozen=True)
class Idiom:
    """One place where such a form stands."""

    place: Place
    message: str
    evidence: tuple[Evidence, ...]
    """What the compiler said of it, where it was asked."""
    fixes: tuple[Fix, ...]


def idioms(unit: Unit, context: Context) -> Iterator[Idiom]:
    """Yield the places of all these forms in a text."""
    yield from _python_words(unit, context)
    yield from _lists_without_braces(unit, context)
    yield from _powers(unit, context)
    yield from _named_parts(unit, context)
    yield from _plain_strides(unit, context)
    yield from _lost_const(unit, context)
    yield from _takes_const(unit, context)
    yield from _near_names(unit, context)
    yield from _no_return(unit)


def _python_words(unit: Unit, context: Context) -> Iterator[Idiom]:
    code = cuda_code(unit)
    for word, cpp in PYTHON_WORDS.items():
        for node in code.names.get(word, ())[:1]:
            if node.type != "identifier" or word in unit.macros:
                continue
            evidence = confirming(context, KINDS, (word,))
            yield Idiom(
                unit.place(node),
                f"{word} is Python; C++ writes {cpp}",
                evidence,
                fix(f"write {cpp}", [replace_node(unit, node, cpp)]),
            )


def _lists_without_braces(unit: Unit, context: Context) -> Iterator[Idiom]:
    for call in cuda_code(unit).calls:
        if call.name not in SHAPING or call.object is None or len(call.arguments) < 2:
            continue
        numbers = all(type_of(unit, one) in {"int", "long", "unsigned"} for one in call.arguments)
        if not numbers or type_of(unit, call.object) != "Tensor":
            continue
        place = unit.place(call.node)
        first, last = call.arguments[0], call.arguments[-1]
        evidence = confirming(context, KINDS, lines=(place.line,))
        yield Idiom(
            place,
            f"{call.name} takes one list of sizes in C++: {one_line(call.node)} needs braces "
            "around its arguments",
            evidence,
            fix(
                "put the sizes in braces",
                [
                    unit.edit(first.start_byte, first.start_byte, "{"),
                    unit.edit(last.end_byte, last.end_byte, "}"),
                ],
                certain=True,
            ),
        )


def _named_parts(unit: Unit, context: Context) -> Iterator[Idiom]:
    """Look for `torch::max(x, dim).values`: in C++ it is a tuple without names."""
    for node in cuda_code(unit).of("field_expression"):
        made, part = node.child_by_field_name("argument"), text(node.child_by_field_name("field"))
        if made is None or made.type != "call_expression" or part not in PARTS:
            continue
        call = read_call(made)
        if call.last not in PAIRS or len(call.arguments) < (1 if call.object is not None else 2):
            continue
        place = unit.place(node)
        evidence = confirming(context, ("no-member",), lines=(place.line,))
        yield Idiom(
            place,
            f"{call.last} gives a std::tuple in C++, which has no `{part}`: std::get<{PARTS[part]}>(...)",
            evidence,
            fix(
                f"take it with std::get<{PARTS[part]}>",
                [replace_node(unit, node, f"std::get<{PARTS[part]}>({text(made)})")],
                certain=True,
            ),
        )


def _plain_strides(unit: Unit, context: Context) -> Iterator[Idiom]:
    """Look for `torch::conv2d(x, w, b, 1, 0)`: two versions of it take what a number turns into."""
    for call in cuda_code(unit).calls:
        if not CONVOLUTION.fullmatch(call.name):
            continue
        sizes = call.arguments[3:6]
        plain = [one for one in sizes if type_of(unit, one) in {"int", "long", "unsigned"}]
        place = unit.place(call.node)
        evidence = confirming(context, ("ambiguous-call", "no-overload"), lines=(place.line,))
        if not plain or not evidence:
            continue
        edits = [replace_node(unit, one, f"at::IntArrayRef({{{text(one)}}})") for one in plain]
        yield Idiom(
            place,
            f"{call.name} takes stride, padding and dilation as lists; plain numbers fit two of its versions",
            evidence,
            fix("pass them as lists", edits, certain=True),
        )


def _lost_const(unit: Unit, context: Context) -> Iterator[Idiom]:
    """Put `const` before the pointer that a pointer to const is kept in."""
    for item in context.seen("compiler"):
        if item.place is None or not LOST_CONST.search(item.said):
            continue
        for node in cuda_code(unit).of("declaration"):
            place, kind = unit.place(node), node.child_by_field_name("type")
            plain = not text(node).lstrip().startswith("const")
            if place.line != item.place.line or kind is None or not plain:
                continue
            yield Idiom(
                place,
                f"{one_line(node)} keeps a pointer to const in one that may be written through",
                (item,),
                fix(
                    "make it a pointer to const",
                    [unit.edit(kind.start_byte, kind.start_byte, "const ")],
                    certain=True,
                ),
            )


def _takes_const(unit: Unit, context: Context) -> Iterator[Idiom]:
    """Let a function that only reads take pointers to const, where it is handed one."""
    own = {function.name: function for function in unit.functions if function.runs != "kernel"}
    for item in context.seen("compiler"):
        if item.place is None or not GIVEN_CONST.search(item.said):
            continue
        for node in cuda_code(unit).of("call_expression"):
            called = own.get(read_call(node).last)
            if called is None or unit.place(node).line != item.place.line:
                continue
            read = [
                p
                for p in called.parameters
                if p.is_pointer
                and "const" not in p.type
                and not written_through(unit, called, p.name)
            ]
            starts = [p.node.start_byte for p in read]
            yield Idiom(
                unit.place(node),
                f"{called.name} is handed a pointer to const, and takes one that may be written through",
                (item,),
                fix(
                    f"let {called.name} take pointers to const",
                    [unit.edit(start, start, "const ") for start in starts],
                    certain=True,
                ),
            )


def _near_names(unit: Unit, context: Context) -> Iterator[Idiom]:
    """Look for names that don't exist and are written almost like one that does."""
    code = cuda_code(unit)
    for item, meaning in errors(context):
        if meaning is None or meaning.kind != "undefined-identifier":
            continue
        name = meaning.names[0]
        uses = [node for node in code.names.get(name, ()) if node.type == "identifier"]
        known = [other for other in (*LIBRARY, *code.names) if other != name and len(other) > SHORT]
        near = get_close_matches(name, known, 2, ALIKE) if len(name) > SHORT else []
        if not uses or item.place is None:
            continue
        for meant in near:
            yield Idiom(
                unit.place(uses[0]),
                f"{name} does not exist; {meant} may be meant",
                (item,),
                fix(f"write {meant}", [replace_node(unit, node, meant) for node in uses]),
            )


def _no_return(unit: Unit) -> Iterator[Idiom]:
    """Look for functions that promise a tensor and have no `return`: what the caller gets is anything."""
    for function in unit.host_functions:
        body = function.body
        if body is None or not function.return_type.endswith("Tensor"):
            continue
        code = cuda_code(unit)
        if any(code.under(body, "return_statement")) or any(code.under(body, "throw_statement")):
            continue
        made = [
            text(node.child_by_field_name("declarator"))
            for node in code.under(body, "init_declarator")
            if text(node.child_by_field_name("value")).startswith(("torch::", "at::"))
        ]
        end = body.end_byte - 1
        last = unit.edit(end, end, f"    return {made[-1]};\n") if made else None
        yield Idiom(
            unit.place(function.node),
            f"{function.name} promises a {function.return_type} and returns nothing",
            (),
            fix(f"return {made[-1]}", [last]) if made else (),
        )


def _powers(unit: Unit, context: Context) -> Iterator[Idiom]:
    for node in cuda_code(unit).of("binary_expression"):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None or right.type != "pointer_expression":
            continue
        exponent = right.child_by_field_name("argument")
        operator = text(node.child_by_field_name("operator"))
        if operator != "*" or exponent is None or exponent.type != "number_literal":
            continue
        place = unit.place(node)
        evidence = confirming(context, ("no-operator", "syntax"), lines=(place.line,))
        square = text(exponent) in {"2", "2.0", "2.0f"} and left.type == "identifier"
        new = f"({text(left)} * {text(left)})"
        yield Idiom(
            place,
            f"{one_line(node)}: C++ has no ** operator, this multiplies by what a number points to",
            evidence,
            fix("write the product", [replace_node(unit, node, new)]) if square else (),
        )

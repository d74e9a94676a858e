"""BLD015: what the compiler says where no other rule explains it, and Python idioms in C++."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Evidence, Finding, Fix, Place
from grader.rules.rule import Rule
from grader.source import Source, Unit
from grader.source.analysis.diagnostics import Explained, confirming, explain, failures
from grader.source.code_edits import fix, replace_node
from grader.source.cpp_types import type_of
from grader.source.cuda_code import around, cuda_code, one_line, read_call, text, units

PLAIN = re.compile(r"^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$")
KNOWN = {"stdout", "stderr", "stdin", "errno", "self", "this", "half", "float2", "float3", "float4"}
MANY = 6
SHAPING = {"reshape", "view", "expand", "permute", "repeat"}
PYTHON_WORDS = {"None": "nullptr", "True": "true", "False": "false"}
PARTS = {"values": 0, "indices": 1}
PAIRS = {"max", "min", "sort", "topk", "median", "mode", "kthvalue", "cummax", "cummin"}
"""Functions that give values and indices."""
KINDS = ("undefined-identifier", "undefined-in-device", "no-overload", "no-operator", "syntax")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Take the compiler's errors one root cause at a time, then look for Python idioms."""
    yield from _from_evidence(source, context)
    for unit in units(source):
        yield from _from_idioms(unit, context)
        yield from _unknown_names(unit, context)


# what the compiler said


def _from_evidence(source: Source, context: Context) -> Iterator[Finding]:
    for group in _groups(source, context)[:MANY]:
        first = group[0]
        meaning = explain(first.said)
        words = first.text.strip().rstrip(".")
        message = f"{meaning.sentence} ({words})" if meaning is not None else words
        yield RULE.finding(
            _of_the_helper(source, first) or first.place or _build_call(source),
            message[:400],
            evidence=group,
        )


def _groups(source: Source, context: Context) -> list[tuple[Evidence, ...]]:
    """Return the errors, those together that one defect causes.

    Errors on one line are one defect, and a broken grammar is what an error before it leaves
    behind. A standard of C++ that is too old breaks torch's headers at many places. What the linker and Python say counts only where the compilers were content.
    """
    for kinds in (("compiler", "ptxas"), ("link",), ("python",)):
        items = failures(context, *kinds)
        if items:
            break
    groups: list[list[Evidence]] = []
    in_headers = [item for item in items if _line(item) is None]
    asked = next((item for item in items if _kind(item) == "standard"), None)
    if asked is not None:
        groups.append([asked, *(item for item in in_headers if item is not asked)])
        items = tuple(item for item in items if item not in groups[0])
    for item in items:
        meaning = explain(item.said)
        same = [
            group
            for group in groups
            if _line(group[0]) == _line(item) is not None or _declares(source, group[0], meaning)
        ]
        if same:
            same[0].append(item)
        elif (
            groups and meaning is not None and meaning.kind == "syntax" and _near(groups[-1], item)
        ):
            groups[-1].append(item)
        else:
            groups.append([item])
    return [tuple(group) for group in groups]


def _declares(source: Source, refused: Evidence, meaning: Explained | None) -> bool:
    """Whether the unknown name is one that a refused line would have declared."""
    line = _line(refused)
    if meaning is None or meaning.kind != "undefined-identifier" or line is None:
        return False
    name = re.escape(meaning.names[0])
    return bool(re.search(rf"[\w>&*]\s[\s*&]*{name}\s*[;=(\[{{,]", source.lines[line - 1]))


def _of_the_helper(source: Source, item: Evidence) -> Place | None:
    """Return the head of the author's own function that only the host has and a kernel calls: that lacks `__device__`."""
    meaning = explain(item.said)
    if meaning is None or meaning.kind != "host-in-device":
        return None
    name = meaning.names[0].partition("(")[0].rpartition("::")[2]
    for unit in source.cuda:
        for function in unit.functions:
            if function.name == name and function.body is not None and function.runs == "host":
                return unit.place_span(function.node.start_byte, function.body.start_byte)
    return None


def _kind(item: Evidence) -> str:
    meaning = explain(item.said)
    return meaning.kind if meaning is not None else ""


def _line(item: Evidence) -> int | None:
    return item.place.line if item.place is not None else None


def _near(group: list[Evidence], item: Evidence) -> bool:
    last, line = _line(group[-1]), _line(item)
    return last is not None and line is not None and 0 <= line - last <= 3


def _build_call(source: Source) -> Place | None:
    return source.place(source.extensions[0].node) if source.extensions else None


# what Python allows and C++ does not


def _from_idioms(unit: Unit, context: Context) -> Iterator[Finding]:
    for node, message, kinds, fixes in _idioms(unit):
        place = unit.place(node)
        evidence = confirming(context, kinds, lines=(place.line,))
        yield RULE.finding(
            place,
            message,
            evidence=evidence,
            fixes=fixes,
        )


Idiom = tuple["Node", str, tuple[str, ...], tuple["Fix", ...]]
"""Where such a form stands, what is wrong with it, what compilers call that, and its fix."""


def _idioms(unit: Unit) -> Iterator[Idiom]:
    yield from _python_words(unit)
    yield from _lists_without_braces(unit)
    yield from _powers(unit)
    yield from _named_parts(unit)
    yield from _no_return(unit)


def _python_words(unit: Unit) -> Iterator[Idiom]:
    for word, cpp in PYTHON_WORDS.items():
        for node in cuda_code(unit).names.get(word, ())[:1]:
            if node.type == "identifier" and word not in unit.macros:
                made = fix(f"write {cpp}", [replace_node(unit, node, cpp)])
                yield node, f"{word} is Python; C++ writes {cpp}", KINDS, made


def _lists_without_braces(unit: Unit) -> Iterator[Idiom]:
    """Look for `x.reshape(a, b)`: C++ takes one list of sizes."""
    for call in cuda_code(unit).calls:
        given = call.arguments
        if call.name not in SHAPING or call.object is None or len(given) < 2:
            continue
        numbers = all(type_of(unit, one) in {"int", "long", "unsigned"} for one in given)
        if numbers and type_of(unit, call.object) == "Tensor":
            start, end = given[0].start_byte, given[-1].end_byte
            edits = [unit.edit(start, start, "{"), unit.edit(end, end, "}")]
            message = f"{call.name} takes one list of sizes in C++: {one_line(call.node)} needs braces around its arguments"
            yield call.node, message, KINDS, fix("put the sizes in braces", edits, certain=True)


def _named_parts(unit: Unit) -> Iterator[Idiom]:
    """Look for `torch::max(x, dim).values`: in C++ it is a tuple without names."""
    for node in cuda_code(unit).of("field_expression"):
        made, part = node.child_by_field_name("argument"), text(node.child_by_field_name("field"))
        if made is None or made.type != "call_expression" or part not in PARTS:
            continue
        call = read_call(made)
        if call.last in PAIRS and len(call.arguments) >= (1 if call.object is not None else 2):
            taken = f"std::get<{PARTS[part]}>"
            edit = replace_node(unit, node, f"{taken}({text(made)})")
            message = f"{call.last} gives a std::tuple in C++, which has no `{part}`: {taken}(...)"
            yield node, message, ("no-member",), fix(f"take it with {taken}", [edit], certain=True)


def _no_return(unit: Unit) -> Iterator[Idiom]:
    """Look for functions that promise a tensor and have no `return`: what the caller gets is anything."""
    code = cuda_code(unit)
    for function in unit.host_functions:
        body = function.body
        if body is None or not function.return_type.endswith("Tensor"):
            continue
        if any(code.under(body, "return_statement")) or any(code.under(body, "throw_statement")):
            continue
        made = [
            text(node.child_by_field_name("declarator"))
            for node in code.under(body, "init_declarator")
            if text(node.child_by_field_name("value")).startswith(("torch::", "at::"))
        ]
        end = body.end_byte - 1
        last = unit.edit(end, end, f"    return {made[-1]};\n") if made else None
        message = f"{function.name} promises a {function.return_type} and returns nothing"
        yield function.node, message, (), fix(f"return {made[-1]}", [last]) if made else ()


def _powers(unit: Unit) -> Iterator[Idiom]:
    for node in cuda_code(unit).of("binary_expression"):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None or right.type != "pointer_expression":
            continue
        exponent = right.child_by_field_name("argument")
        operator = text(node.child_by_field_name("operator"))
        if operator == "*" and exponent is not None and exponent.type == "number_literal":
            square = text(exponent) in {"2", "2.0", "2.0f"} and left.type == "identifier"
            edit = replace_node(unit, node, f"({text(left)} * {text(left)})")
            message = f"{one_line(node)}: C++ has no ** operator, this multiplies by what a number points to"
            fixes = fix("write the product", [edit]) if square else ()
            yield node, message, ("no-operator", "syntax"), fixes


# names that nothing defines


def _unknown_names(unit: Unit, context: Context) -> Iterator[Finding]:
    code = cuda_code(unit)
    if unit.tree.has_error or not unit.resolved or any(code.of("preproc_function_def")):
        return
    if any(header.endswith((".h", ".hpp", ".cuh")) and "/" not in header and
           not header.startswith(("cuda", "math", "std", "float", "limits", "cub", "mma", "curand",
                                  "assert", "string", "device", "vector", "cooperative"))
           for header in unit.includes):  # fmt: skip
        return
    for name, nodes in code.names.items():
        if not PLAIN.match(name) or name in KNOWN or name in unit.macros:
            continue
        plain = [node for node in nodes if node.type == "identifier"]
        if len(plain) < len(nodes) or any(_introduces(node) for node in plain):
            continue
        used = [node for node in plain if _is_use(node) and code.in_device_code(node)]
        if used:
            evidence = confirming(context, KINDS, (name,))
            yield RULE.finding(
                unit.place(used[0]),
                f"{name} is used here, but nothing in the CUDA text defines it",
                evidence=evidence,
            )


def _introduces(node: Node) -> bool:
    """Whether an identifier stands where a name is introduced, of whatever kind."""
    parent = node.parent
    return parent is not None and (
        (parent.type.endswith(("declarator", "declaration", "specifier"))
        and parent.child_by_field_name("value") != node
        and parent.child_by_field_name("size") != node)
        or parent.type in {"for_range_loop", "lambda_capture_specifier", "enumerator",
                           "structured_binding_declarator", "labeled_statement",
                           "goto_statement", "asm_expression", "attribute",
                           "template_parameter_list",
                           "lambda_capture_initializer", "parameter_list", "preproc_def",
                           "preproc_ifdef", "preproc_defined", "concept_definition"}
    )  # fmt: skip


def _is_use(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type in {"qualified_identifier", "template_function"}:
        return False
    if parent.type == "call_expression" and parent.child_by_field_name("function") == node:
        return False
    if any(outer.type.startswith(("preproc", "gnu_asm", "attribute")) for outer in around(node)):
        return False
    return parent.type in {
        "binary_expression", "subscript_expression", "subscript_argument_list", "argument_list",
        "assignment_expression", "parenthesized_expression", "return_statement", "cast_expression",
        "update_expression", "unary_expression", "init_declarator", "conditional_expression",
    }  # fmt: skip


KERNEL = """
__global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * SCALE;
}
torch::Tensor f(torch::Tensor x) {
    auto y = torch::empty_like(x);
    k<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), 32);
    return y;
}
"""

RULE = Rule(
    code="BLD015",
    name="identifier-or-overload-error",
    severity="error",
    summary="The C++ text uses a name that does not exist there, or calls a function in a form that C++ does not have.",
    why="This is the compiler's own verdict, put into words, where no other rule explains it; and "
    "some idioms of Python that no C++ compiler takes.",
    bad="""
torch::Tensor f(torch::Tensor x, int a, int b) {
    return x.reshape(a, b);
}
""",
    good=KERNEL.replace("SCALE", "M_PI"),
    detects=("build", "text"),
    languages=("cuda",),
    guards="One finding for one cause: errors on one line and the broken grammar that an error "
    "leaves behind belong together, and a rule that explains an error takes it over. Names are "
    "only looked up in device code of texts that parse and have no macros with parameters.",
    fix="Semicolons, braces and parentheses that are missing or too many; C++ words for Python's, names as CUDA and torch write them, "
    "methods that are called, braces around lists of sizes; macros, constants and functions that kernels need, declared where they can use "
    "them; `const`, types and language standards that stand in the way; CUDA's own functions for torch's in device code; masks for "
    "exchanges of a warp; an atomic maximum of floats. See `grader/repair/fixes/compiler/`.",
    check=check,
    explained_by=("EXT001",),
    catch_all=True,
)

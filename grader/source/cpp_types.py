"""The types of simple C++ expressions: what a declaration, a literal or a tensor method says.

Knows the types that decide whether a call compiles: integers of each width, float and double, half,
tensors, pointers. Everything else, and everything ambiguous, is None.
"""

import re
from bisect import bisect_right

from tree_sitter import Node

from grader.source import Unit
from grader.source.cuda_code import CudaCode, cuda_code, read_call, text
from grader.source.functions import Function

CANONICAL = {
    "int": "int", "int32_t": "int", "signed": "int", "signed int": "int", "unsigned": "unsigned",
    "unsigned int": "unsigned", "uint32_t": "unsigned", "uint": "unsigned", "int64_t": "long",
    "long": "long", "long int": "long", "ptrdiff_t": "long", "std::ptrdiff_t": "long",
    "std::int64_t": "long", "size_t": "ulong", "std::size_t": "ulong", "unsigned long": "ulong",
    "uint64_t": "ulong", "long long": "ll", "long long int": "ll", "unsigned long long": "ull",
    "unsigned long long int": "ull", "float": "float", "double": "double", "bool": "bool",
    "char": "char", "short": "short", "half": "half", "__half": "half", "half2": "half2",
    "__half2": "half2", "__nv_bfloat16": "bf16", "nv_bfloat16": "bf16", "at::Tensor": "Tensor",
    "torch::Tensor": "Tensor", "Tensor": "Tensor", "dim3": "dim3", "cudaStream_t": "cudaStream_t",
}  # fmt: skip
RANKS = ("short", "int", "unsigned", "long", "ulong", "ll", "ull", "float", "double")
LONG_METHODS = {"size", "numel", "stride", "dim", "nbytes", "itemsize", "element_size"}
TENSOR_METHODS = {
    "contiguous", "clone", "view", "reshape", "to", "flatten", "transpose", "permute", "unsqueeze",
    "squeeze", "sum", "mean", "cuda", "cpu", "t",
}  # fmt: skip
TENSOR_MAKERS = {
    "empty", "zeros", "ones", "empty_like", "zeros_like", "ones_like", "full", "full_like",
    "tensor",
    "arange",
}  # fmt: skip
QUALIFIERS = re.compile(
    r"\b(?:const|constexpr|static|volatile|register|__restrict__|__restrict|restrict|extern"
    r"|__shared__|__constant__|inline)\b"
)
PARAMETERS = {"parameter_declaration", "optional_parameter_declaration"}
DEPTH = 30


def canonical(written: str) -> str | None:
    """Return the canonical name of a written type; pointers keep their stars: `const float*`."""
    stars = written.count("*")
    constant = (
        "const " if stars and re.search(r"\bconst\b", written.split("*", maxsplit=1)[0]) else ""
    )
    base = " ".join(QUALIFIERS.sub(" ", written).replace("*", " ").replace("&", " ").split())
    if stars:
        return f"{constant}{CANONICAL.get(base, base)}{'*' * stars}"
    return CANONICAL.get(base, base if base and base != "auto" else None)


def type_of(unit: Unit, node: Node | None, depth: int = DEPTH) -> str | None:  # noqa: C901, PLR0912
    """Return the canonical type of an expression, or None where it isn't clear."""
    if node is None or depth == 0:
        return None
    match node.type:
        case "number_literal":
            return _literal(text(node))
        case "true" | "false":
            return "bool"
        case "identifier":
            return _declared_type(unit, node, depth)
        case "parenthesized_expression" if node.named_child_count == 1:
            return type_of(unit, node.named_child(0), depth - 1)
        case "unary_expression" | "update_expression":
            return type_of(unit, node.child_by_field_name("argument"), depth - 1)
        case "binary_expression":
            return _binary(unit, node, depth)
        case "conditional_expression":
            first = type_of(unit, node.child_by_field_name("consequence"), depth - 1)
            second = type_of(unit, node.child_by_field_name("alternative"), depth - 1)
            return first if first == second else _wider(first, second)
        case "cast_expression" | "sizeof_expression":
            if node.type == "sizeof_expression":
                return "ulong"
            return canonical(text(node.child_by_field_name("type")))
        case "call_expression":
            return _call(unit, node, depth)
        case "field_expression":
            return _field(unit, node, depth)
        case "subscript_expression":
            base = type_of(unit, node.child_by_field_name("argument"), depth - 1)
            return base.removeprefix("const ")[:-1] if base and base.endswith("*") else None
        case "pointer_expression":
            return _pointer(unit, node, depth)
        case _:
            return None


def _literal(written: str) -> str | None:
    lowered = written.lower()
    if lowered.startswith("0x"):
        suffix = lowered[len(lowered.rstrip("ul")) :]
    elif any(mark in lowered for mark in ".e") or lowered.endswith("f"):
        return "float" if lowered.endswith("f") else "double"
    else:
        suffix = lowered[len(lowered.rstrip("ul")) :]
    return {"": "int", "u": "unsigned", "l": "long", "ul": "ulong", "lu": "ulong", "ll": "ll",
            "ull": "ull", "llu": "ull"}.get(suffix)  # fmt: skip


def _binary(unit: Unit, node: Node, depth: int) -> str | None:
    operator = text(node.child_by_field_name("operator"))
    if operator in {"<", ">", "<=", ">=", "==", "!=", "&&", "||"}:
        return "bool"
    left = type_of(unit, node.child_by_field_name("left"), depth - 1)
    if operator in {"<<", ">>"}:
        return left
    right = type_of(unit, node.child_by_field_name("right"), depth - 1)
    for pointer in (left, right):
        if pointer is not None and pointer.endswith("*"):
            return pointer
    return _wider(left, right)


def _wider(left: str | None, right: str | None) -> str | None:
    """Return the type of the usual arithmetic conversions."""
    promoted = ["int" if one in {"bool", "char", "short"} else one for one in (left, right)]
    if promoted[0] == promoted[1] and promoted[0] is not None:
        return promoted[0]
    ranks = [RANKS.index(one) for one in promoted if one in RANKS]
    return RANKS[max(ranks)] if len(ranks) == 2 else None


def _call(unit: Unit, node: Node, depth: int) -> str | None:
    call = read_call(node)
    if call.object is not None:
        return _method(unit, call.object, call.name, call.template, depth)
    if call.last in {"static_cast", "reinterpret_cast", "const_cast"}:
        return canonical(call.template)
    if call.last in {"min", "max"} and call.template:
        return canonical(call.template)
    if call.name in CANONICAL:
        return CANONICAL[call.name]
    if call.name.startswith(("torch::", "at::")) and call.last in TENSOR_MAKERS:
        return "Tensor"
    if call.last in {"__float2half", "__hadd", "__hmul", "__hsub"}:
        return "half"
    if call.last == "__half2float":
        return "float"
    if call.last == "__ldg" and len(call.arguments) == 1:
        inner = type_of(unit, call.arguments[0], depth - 1)
        return inner.removeprefix("const ").removesuffix("*") if inner else None
    own = {function.return_type for function in unit.functions if function.name == call.name}
    return canonical(next(iter(own))) if len(own) == 1 else None


def _method(unit: Unit, owner: Node, name: str, template: str, depth: int) -> str | None:
    if name in {"data_ptr", "mutable_data_ptr", "data"}:
        return f"{canonical(template)}*" if template else ("void*" if name != "data" else None)
    if name == "const_data_ptr" and template:
        return f"const {canonical(template)}*"
    if type_of(unit, owner, depth - 1) != "Tensor":
        return None
    if name in LONG_METHODS:
        return "long"
    if name == "item" and template:
        return canonical(template)
    return "Tensor" if name in TENSOR_METHODS else None


def _field(unit: Unit, node: Node, depth: int) -> str | None:
    owner = node.child_by_field_name("argument")
    field = text(node.child_by_field_name("field"))
    if text(owner) in {"threadIdx", "blockIdx", "blockDim", "gridDim"} and field in "xyz":
        return "unsigned"
    kind = type_of(unit, owner, depth - 1)
    if kind == "dim3":
        return "unsigned"
    if kind in {"float2", "float3", "float4"}:
        return "float"
    return None


def _pointer(unit: Unit, node: Node, depth: int) -> str | None:
    inner = type_of(unit, node.child_by_field_name("argument"), depth - 1)
    if inner is None:
        return None
    if text(node).startswith("&"):
        return f"{inner}*"
    return inner.removeprefix("const ")[:-1] if inner.endswith("*") else None


def declaration_of(unit: Unit, use: Node) -> Node | None:
    """Return the identifier in the declaration that a name refers to: the nearest one before it."""
    code = cuda_code(unit)
    function = code.function(use)
    name = text(use)
    if name not in code.declared:
        code.declared[name] = _declarations(code, name)
    declared = code.declared[name]
    last = bisect_right(declared, use.start_byte, key=lambda one: one[0].start_byte)
    for node, outside in reversed(declared[:last]):
        if outside is None or function is None or outside is function:
            return node
    return None


def _declarations(code: CudaCode, name: str) -> list[tuple[Node, Function | None]]:
    """Return where a name is declared, in order, and the function around each place."""
    return [(node, code.function(node)) for node in code.variable(name) if _is_declared(node)]


def _is_declared(node: Node) -> bool:
    here, parent = node, node.parent
    while parent is not None and parent.type in {
        "init_declarator",
        "pointer_declarator",
        "array_declarator",
        "reference_declarator",
    }:
        if (
            parent.child_by_field_name("value") == here
            or parent.child_by_field_name("size") == here
        ):
            return False
        here, parent = parent, parent.parent
    if parent is None or here not in parent.children_by_field_name("declarator"):
        return False
    if parent.type in PARAMETERS:
        return not _of_prototype(parent)
    return parent.type in {"declaration", "for_range_loop"}


def _of_prototype(parameter: Node) -> bool:
    """Whether no body sees a parameter; `dim3 grid(B * H, N);` reads like such a declaration."""
    here = parameter.parent
    while here is not None and here.type.endswith(("declarator", "parameter_list")):
        here = here.parent
    return here is not None and here.type == "declaration"


def _declared_type(unit: Unit, use: Node, depth: int) -> str | None:
    node = declaration_of(unit, use)
    if node is None:
        return _constant(unit, text(use))
    stars, value = "", None
    parent = node.parent
    while parent is not None and parent.type not in {
        "declaration",
        "parameter_declaration",
        "optional_parameter_declaration",
        "for_range_loop",
    }:
        if parent.type in {"pointer_declarator", "array_declarator"}:
            stars += "*"
        elif parent.type == "init_declarator":
            value = parent.child_by_field_name("value")
        parent = parent.parent
    if parent is None:
        return None
    written = text(parent.child_by_field_name("type"))
    words = [text(child) for child in parent.children if child.type == "type_qualifier"]
    if written == "auto":
        return type_of(unit, value, depth - 1) if value is not None and value != use else None
    constant = "const " if "const" in words or "constexpr" in words else ""
    return canonical(f"{constant}{written}{stars}")


def _constant(unit: Unit, name: str) -> str | None:
    macro = unit.macros.get(name)
    plain = macro is not None and re.match(r"^[0-9.][\w.]*$", macro.value)
    return _literal(macro.value) if macro is not None and plain else None

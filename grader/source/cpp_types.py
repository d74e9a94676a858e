"""The types of simple C++ expressions: what a declaration, a literal or a tensor method says.

Knows the types that decide whether a call compiles: integers of each width, float and double, half,
tensors, pointers. Everything else, and everything ambiguous, is None.
"""

import re
from bisect import bisect_right

from tree_sitter import Node

from grader.source import Unit, cpp
from grader.source.cpp_reading import expression
from grader.source.cuda_code import CudaCode, around, cuda_code, text
from grader.source.functions import Function
from grader.source.scalar_types import CANONICAL

NAMES = CANONICAL | {
    "half2": "half2", "__half2": "half2", "at::Tensor": "Tensor", "torch::Tensor": "Tensor", "Tensor": "Tensor",
    "dim3": "dim3", "cudaStream_t": "cudaStream_t",
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
INDICES = {"threadIdx", "blockIdx", "blockDim", "gridDim"}
ELEMENTS = {"dim3": "unsigned", **dict.fromkeys(("float2", "float3", "float4"), "float")}
"""What the members of objects are."""
RESULTS = {
    **dict.fromkeys(("__float2half", "__hadd", "__hmul", "__hsub"), "half"),
    "__half2float": "float",
}
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
        return f"{constant}{NAMES.get(base, base)}{'*' * stars}"
    return NAMES.get(base, base if base and base != "auto" else None)


def type_of(unit: Unit, node: Node | None) -> str | None:
    """Return the canonical type of an expression, or None where it isn't clear."""
    return None if node is None else _type(unit, expression(node))


def _type(unit: Unit, expr: cpp.Expr | None, depth: int = DEPTH) -> str | None:  # noqa: C901, PLR0912
    def of(part: cpp.Expr) -> str | None:
        return _type(unit, part, depth - 1)

    match expr if depth else None:
        case cpp.Number(type="b"):
            return "bool"
        case cpp.Number(node=node):
            return _literal(text(node))
        case cpp.Name(node=node):
            return _declared_type(unit, node, depth)
        case cpp.Unary(op="&", operand=inner):
            kind = of(inner)
            return kind and f"{kind}*"
        case cpp.Unary(op="*", operand=inner) | cpp.Subscript(base=inner):
            return _pointee(of(inner))
        case cpp.Unary(operand=inner) | cpp.Update(target=inner):
            return of(inner)
        case cpp.Binary(op="<" | ">" | "<=" | ">=" | "==" | "!=" | "&&" | "||"):
            return "bool"
        case cpp.Binary(op="<<" | ">>", left=left):
            return of(left)
        case cpp.Binary(left=left, right=right):
            sides = of(left), of(right)
            pointers = (side for side in sides if side is not None and side.endswith("*"))
            return next(pointers, None) or _wider(*sides)
        case cpp.Select(yes=yes, no=no):
            kinds = of(yes), of(no)
            return kinds[0] if kinds[0] == kinds[1] else _wider(*kinds)
        case cpp.Cast(written=written):
            return canonical(written)
        case cpp.SizeOf():
            return "ulong"
        case cpp.Call(base=None) as call:
            return _result(unit, call, depth)
        case cpp.Call(base=cpp.Expr() as owner) as call:
            return _method(call, of(owner))
        case cpp.Member(base=cpp.Name(id=index), name=name) if index in INDICES and name in "xyz":
            return "unsigned"
        case cpp.Member(base=base):
            return ELEMENTS.get(of(base) or "")
    return None


def _pointee(pointer: str | None) -> str | None:
    return pointer.removeprefix("const ")[:-1] if pointer and pointer.endswith("*") else None


def _literal(written: str) -> str | None:
    lowered = written.lower()
    whole = lowered.startswith("0x") or not (set(lowered) & set(".e") or lowered.endswith("f"))
    suffix = "".join(sorted(lowered[len(lowered.rstrip("ul")) :]))
    if not whole:
        return "float" if lowered.endswith("f") else "double"
    return {"": "int", "u": "unsigned", "l": "long", "lu": "ulong", "ll": "ll", "llu": "ull"}.get(suffix)  # fmt: skip


def _wider(left: str | None, right: str | None) -> str | None:
    """Return the type of the usual arithmetic conversions."""
    promoted = ["int" if one in {"bool", "char", "short"} else one for one in (left, right)]
    if promoted[0] == promoted[1] and promoted[0] is not None:
        return promoted[0]
    ranks = [RANKS.index(one) for one in promoted if one in RANKS]
    return RANKS[max(ranks)] if len(ranks) == 2 else None


def _result(unit: Unit, call: cpp.Call, depth: int) -> str | None:
    """Return what a function gives."""
    if call.name in {"min", "max"} and call.template:
        return canonical(call.template[0])
    if call.name == "__ldg" and len(call.args) == 1:
        return _pointee(_type(unit, call.args[0], depth - 1))
    if call.qualified.startswith(("torch::", "at::")) and call.name in TENSOR_MAKERS:
        return "Tensor"
    if (known := NAMES.get(call.qualified) or RESULTS.get(call.name)) is not None:
        return known
    own = {function.return_type for function in unit.functions if function.name == call.qualified}
    return canonical(next(iter(own))) if len(own) == 1 else None


def _method(call: cpp.Call, owner: str | None) -> str | None:
    """Return what a method gives."""
    given = canonical(", ".join(call.template)) if call.template else None
    match call.name:
        case "data_ptr" | "mutable_data_ptr":
            return f"{given}*" if given else "void*"
        case "data" | "const_data_ptr":
            constant = "const " if call.name == "const_data_ptr" else ""
            return f"{constant}{given}*" if given else None
        case "item" if owner == "Tensor" and given:
            return given
        case name if owner == "Tensor":
            return "long" if name in LONG_METHODS else "Tensor" if name in TENSOR_METHODS else None
    return None


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
    for parent in around(node):
        if parent.type in {"pointer_declarator", "array_declarator"}:
            stars += "*"
        elif parent.type == "init_declarator":
            value = parent.child_by_field_name("value")
        elif parent.type in {"declaration", "for_range_loop", *PARAMETERS}:
            written = text(parent.child_by_field_name("type"))
            words = {text(child) for child in parent.children if child.type == "type_qualifier"}
            if written == "auto":
                return None if value == use else _type(unit, expression(value), depth - 1)
            constant = "const " if words & {"const", "constexpr"} else ""
            return canonical(f"{constant}{written}{stars}")
    return None


def _constant(unit: Unit, name: str) -> str | None:
    macro = unit.macros.get(name)
    plain = macro is not None and re.match(r"^[0-9.][\w.]*$", macro.value)
    return _literal(macro.value) if macro is not None and plain else None

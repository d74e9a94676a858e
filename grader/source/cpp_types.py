"""The types of simple C++ expressions, from declarations, literals and tensor methods.

It knows the types that decide whether a call compiles: integers of each width, float and double, half, tensors,
pointers. Everything else, and everything ambiguous, is None.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from tree_sitter import Node

from grader.source import Unit, cpp
from grader.source.cpp_reading import expression, variables
from grader.source.declarators import Parameter
from grader.source.functions import Function
from grader.source.nodes import descendants, text
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
"""Types of members of objects."""
RESULTS = {
    **dict.fromkeys(("__float2half", "__hadd", "__hmul", "__hsub"), "half"),
    "__half2float": "float",
}
DEPTH = 30
_TORCH = re.compile(r"(?:torch|at)::|\w+\.contiguous\(\)")


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
            return None if node.type == "null" else _literal(text(node))
        case cpp.Name() as name:
            return _declared_type(unit, name, depth)
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
        case cpp.Member(base=base, name=str(member)):
            kind = of(base) or ""
            return ELEMENTS.get(kind) or fields(unit).get((kind, member))
    return None


@lru_cache(maxsize=64)
def fields(unit: Unit) -> Mapping[tuple[str, str], str | None]:
    """Return the types of the plain members of a text's structs, by the struct's name and their own."""
    return {
        (text(one.child_by_field_name("name")), text(name)): canonical(
            text(field.child_by_field_name("type"))
        )
        for one in unit.nodes("struct_specifier")
        for field in descendants(one, "field_declaration")
        for name in field.children_by_field_name("declarator")
        if name.type == "field_identifier"
    }


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
    """Return the type of a function's result."""
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
    """Return the type of a method's result."""
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


def declaration_of(unit: Unit, use: Node) -> cpp.Declare | Parameter | None:
    """Return a name's declaration: the nearest one before it, a parameter, or a constant of the text."""
    function, name = unit.function_around(use), text(use)
    declared = _declared_in(function).get(name, ()) if function is not None else ()
    before = [one for one in declared if one.node.start_byte <= use.start_byte]
    return before[-1] if before else unit.constants.get(name)


@lru_cache(maxsize=64)
def _declared_in(function: Function) -> Mapping[str, list[cpp.Declare | Parameter]]:
    """Return a function's declarations, by name and in the order of the text."""
    found: dict[str, list[cpp.Declare | Parameter]] = {}
    for parameter in (*function.template_parameters, *function.parameters):
        found.setdefault(parameter.name, []).append(parameter)
    for part in cpp.walk(function.code):
        if isinstance(part, cpp.Declare):
            found.setdefault(part.name, []).append(part)
        for parameter in part.parameters if isinstance(part, cpp.Lambda) else ():
            found.setdefault(parameter.name, []).append(parameter)
    return found


def _declared_type(unit: Unit, name: cpp.Name, depth: int) -> str | None:
    declared = declaration_of(unit, name.node)
    if declared is None:
        return _constant(unit, name.id)
    if isinstance(declared, Parameter):
        array = declared.is_pointer and "*" not in declared.type
        return None if declared.is_type else canonical(declared.type + "*" * array)
    if declared.type == "auto":
        return _type(unit, declared.init, depth - 1)
    constant = "const " if declared.const else ""
    return canonical(f"{constant}{declared.type}{'*' * (declared.stars + len(declared.dims))}")


def _constant(unit: Unit, name: str) -> str | None:
    """Return the type of a macro's number."""
    value = unit.macros[name].value if name in unit.macros else ""
    return _literal(value) if re.match(r"^[0-9.][\w.]*$", value) else None


def known_at(unit: Unit, node: Node) -> dict[str, str]:
    """Return the variables visible at a node in its function, with their types."""
    function = unit.function_around(node)
    if function is None:
        return {}
    found = {one.name: one.type for one in function.parameters}
    for one in variables(function.body):
        if one.node.end_byte <= node.start_byte:
            tensor = one.type == "auto" and _TORCH.match(text(one.value))
            found[one.name] = "Tensor" if tensor else one.type
    return found

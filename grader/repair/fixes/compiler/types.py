"""Declarations and values of another type than the compiler takes: results, pointers, braces, second declarations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Fix
from grader.repair.fixes.compiler.diagnostic import Diagnostic
from grader.source import Function
from grader.source.code_edits import fix, replace_node
from grader.source.cpp_types import canonical
from grader.source.cuda_code import cuda_code, descendants, read_call, text, units

OWN = {
    "half": "at::Half", "__half": "at::Half", "__nv_bfloat16": "at::BFloat16", "nv_bfloat16": "at::BFloat16",
    "long long": "int64_t", "long long int": "int64_t", "unsigned int": "int", "unsigned": "int", "uint32_t": "int",
    "unsigned long long": "int64_t", "size_t": "int64_t", "uint64_t": "int64_t", "char": "int8_t",
}  # fmt: skip
"""torch's types of the same bits, by CUDA's and C's."""
GENERIC = re.compile(r"data_ptr<\s*scalar_t\s*>")


def returned_type(found: Diagnostic) -> Iterator[Fix]:
    """Write the type that a function returns, in its definition and wherever it is declared."""
    if found.kind not in {"no-conversion", "kernel-returns", "wrong-return"}:
        return
    for unit in found.source.cuda:
        for function in unit.functions:
            first = unit.place(function.node).line
            if not first <= found.line <= first + function.text.count("\n"):
                continue
            new = "void" if function.runs == "kernel" else _returned(function)
            if function.body is None or not new or new == function.return_type:
                continue
            edits = [
                replace_node(owner, kind, new)
                for owner in units(found.source)
                for one in (*owner.functions, *owner.declarations)
                if one.name == function.name
                and (kind := one.node.child_by_field_name("type")) is not None
            ]
            yield from fix(f"let {function.name} return {new}", edits)
            return


def _returned(function: Function) -> str:
    """Return the type of what stands after `return`, as far as the text shows it."""
    for node in descendants(function.node, "return_statement"):
        value = next(iter(node.named_children), None)
        call = read_call(value) if value is not None and value.type == "call_expression" else None
        if call is not None and call.last in {"make_tuple", "tuple"}:
            return f"std::tuple<{', '.join('torch::Tensor' for _ in call.arguments)}>"
        if value is not None and value.type == "initializer_list":
            return "std::vector<torch::Tensor>"
        if value is not None and value.type == "identifier" and _is_tensor(function, value):
            return "torch::Tensor"
    return ""


def _is_tensor(function: Function, value: Node) -> bool:
    """Whether a variable was made by one of torch's functions, or is a tensor parameter."""
    name = text(value)
    if any(p.name == name and "Tensor" in p.type for p in function.parameters):
        return True
    return any(
        text(made.child_by_field_name("declarator")) == name
        and text(made.child_by_field_name("value")).startswith(("torch::", "at::"))
        for made in descendants(function.node, "init_declarator")
    )


def narrowed(found: Diagnostic) -> tuple[Fix, ...]:
    """Convert what stands in braces to the type that is asked for."""
    kind = next((name for name in found.names if name), "") if found.kind == "narrowing" else ""
    edits = []
    for unit, node in found.nodes("initializer_list") if kind else ():
        for one in node.named_children:
            if one.type not in {"number_literal", "initializer_list", "comment"}:
                start, end = one.start_byte, one.end_byte
                edits.append(unit.edit(start, start, f"static_cast<{kind}>("))
                edits.append(unit.edit(end, end, ")"))
    return fix(f"convert it to {kind}", edits)


def plain_pointers(found: Diagnostic) -> tuple[Fix, ...]:
    """Take pointers in the kernel's own type, where a dispatch takes them in each type in turn."""
    edits = []
    for unit in found.source.cuda if found.kind in {"argument-type", "no-overload"} else ():
        kernels = {kernel.name: kernel for kernel in unit.kernels}
        for launch in unit.launches:
            kernel = kernels.get(launch.kernel)
            if kernel is None or kernel.template_parameters:
                continue
            for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False):
                base = (canonical(parameter.type) or "").removeprefix("const ").rstrip("*")
                if base in {"float", "double", "int"} and GENERIC.search(text(argument)):
                    new = GENERIC.sub(f"data_ptr<{base}>", text(argument))
                    edits.append(replace_node(unit, argument, new))
    return fix("take the pointers in the kernel's type", edits)


def reinterpreted(found: Diagnostic) -> tuple[Fix, ...]:
    """Take the pointer in torch's type, and read it as the one of the same bits, where no library defines it."""
    edits = []
    for unit in units(found.source) if found.kind == "undefined-symbol" else ():
        for call in cuda_code(unit).calls:
            taken = call.name in {"data_ptr", "data"} and call.object is not None
            if taken and call.template in OWN and found.says("data_ptr"):
                asked = f"{text(call.object)}.data_ptr<{OWN[call.template]}>()"
                new = f"reinterpret_cast<{call.template}*>({asked})"
                edits.append(replace_node(unit, call.node, new))
    return fix("take the pointer in torch's own type", edits)


def assigned(found: Diagnostic) -> tuple[Fix, ...]:
    """Assign to a variable that is there already, in the place of declaring it once more."""
    for unit, node in found.nodes("declaration") if found.kind == "redefinition" else ():
        made = list(descendants(node, "init_declarator"))
        if len(made) == 1 and cuda_code(unit).function(node) is not None:
            edit = unit.edit(node.start_byte, made[0].start_byte, "")
            return fix("assign to the variable that is there", [edit])
    return ()


def bare_shared(found: Diagnostic) -> tuple[Fix, ...]:
    """Drop the first values of shared memory, which it can't have."""
    edits = []
    for unit, node in found.nodes("declaration") if found.kind == "shared-initialiser" else ():
        for made in descendants(node, "init_declarator") if "__shared__" in text(node) else ():
            declarator = made.child_by_field_name("declarator")
            if declarator is not None:
                edits.append(unit.edit(declarator.end_byte, made.end_byte, ""))
    return fix("leave the shared array without first values", edits)

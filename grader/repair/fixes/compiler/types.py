"""Fixes of mismatched types: of a function's result, and of tensors' pointers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.records import Edit, Fix
from grader.repair.fixes.compiler.diagnostic import Diagnostic
from grader.repair.fixes.names import names
from grader.source import Function, Unit
from grader.source.code_edits import fix, replace_node
from grader.source.cpp_reading import read_call
from grader.source.cpp_types import type_of
from grader.source.nodes import descendants, text
from grader.source.rewriting.launch_arguments import as_parameter

STANDARD = re.compile(r"(,\s*)?([\"'])--?std=[^\"']*\2(?(1)|\s*,?\s*)")
"""A flag among others, with the comma that belongs to it."""


def returned_type(found: Diagnostic) -> Iterator[Fix]:
    """Write the type that a function returns, in its definition and wherever it is declared."""
    if found.kind not in {"no-conversion", "kernel-returns", "wrong-return"}:
        return
    for unit in found.source.cuda:
        for function in unit.functions:
            place = unit.place(function.node)
            new = "void" if function.runs == "kernel" else _returned_type(unit, function)
            here = place.line <= found.line <= place.end_line and function.body is not None
            if not here or not new or new == function.return_type:
                continue
            edits = [
                replace_node(owner, kind, new)
                for owner in found.source.units
                for one in (*owner.functions, *owner.declarations)
                if one.name == function.name
                and (kind := one.node.child_by_field_name("type")) is not None
            ]
            yield from fix(f"let {function.name} return {new}", edits)
            return


def _returned_type(unit: Unit, function: Function) -> str:
    """Return the type of the returned expression, as far as the text shows it."""
    for node in descendants(function.node, "return_statement"):
        value = next(iter(node.named_children), None)
        call = read_call(value) if value is not None and value.type == "call_expression" else None
        if call is not None and call.name in {"make_tuple", "tuple"}:
            return f"std::tuple<{', '.join('torch::Tensor' for _ in call.arguments)}>"
        if value is not None and value.type == "initializer_list":
            return "std::vector<torch::Tensor>"
        if value is not None and type_of(unit, value) == "Tensor":
            return "torch::Tensor"
    return ""


def plain_pointers(found: Diagnostic) -> tuple[Fix, ...]:
    """Take pointers in the kernel's own type, where a dispatch takes them in each type in turn."""
    edits = []
    for unit in found.source.cuda if found.kind in {"argument-type", "no-overload"} else ():
        plain = {one.name: one for one in unit.kernels if not one.template_parameters}
        for launch in (one for one in unit.launches if one.kernel in plain):
            pairs = zip(plain[launch.kernel].parameters, launch.arguments, strict=False)
            generic = (pair for pair in pairs if "scalar_t" in text(pair[1]))
            made = (one for pair in generic for one in as_parameter(unit, *pair))
            edits += [edit for one in made for edit in one.edits]
    return fix("take the pointers in the kernel's type", edits)


def reinterpret_pointer(found: Diagnostic) -> tuple[Fix, ...]:
    """Take the pointer in torch's type, and read it as the one of the same bits, where no library defines it."""
    edits = []
    for unit in found.source.units if found.kind == "undefined-symbol" else ():
        for call in unit.calls:
            tensor = call.base if call.name in {"data_ptr", "data"} else None
            template = ", ".join(call.template)
            if tensor is not None and template in names()["own"] and found.says("data_ptr"):
                asked = f"{text(tensor.node)}.data_ptr<{names()['own'][template]}>()"
                new = f"reinterpret_cast<{template}*>({asked})"
                edits.append(replace_node(unit, call.node, new))
    return fix("take the pointer in torch's own type", edits)


def without_standard(found: Diagnostic) -> tuple[Fix, ...]:
    """Leave the language standard to torch, which selects the one that its headers need."""
    code = found.source.code if found.kind == "standard" else ""
    edits = [Edit(start=one.start(), end=one.end(), text="") for one in STANDARD.finditer(code)]
    return fix("leave the language standard to torch", edits)

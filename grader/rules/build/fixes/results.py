"""A fix: a function that returns something else than it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import descendants, read_call, text, units

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.records import Evidence, Fix
    from grader.source import Function, Source

_OTHER = re.compile(
    r"no suitable (?:user-defined )?(?:conversion|constructor)|no viable conversion|could not convert|cannot convert"
    r"|return value type does not match|void function|return-statement with a value|return value type"
)
_KERNEL = re.compile(
    r"__global__\W* function .*void return type|kernel function type .* must have void return type"
)


def returned_type(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Write the type that a function returns, in its definition and wherever it is declared."""
    if item.place is None or not (_OTHER.search(item.said) or _KERNEL.search(item.said)):
        return ()
    for unit in source.cuda:
        for function in unit.functions:
            if function.body is None or not _spans(unit.place(function.node).line, function, item):
                continue
            new = "void" if function.runs == "kernel" else _returned(function)
            if new and new != function.return_type:
                edits = [
                    replace_node(owner, kind, new)
                    for owner in units(source)
                    for one in (*owner.functions, *owner.declarations)
                    if one.name == function.name
                    and (kind := one.node.child_by_field_name("type")) is not None
                ]
                return fix(f"let {function.name} return {new}", edits)
    return ()


def _spans(first: int, function: Function, item: Evidence) -> bool:
    last = first + function.text.count("\n")
    return item.place is not None and first <= item.place.line <= last


def _returned(function: Function) -> str:
    """Return the type of what stands after `return`, as far as the text shows it."""
    for node in descendants(function.node, "return_statement"):
        value = next(iter(node.named_children), None)
        if value is None:
            continue
        if value.type == "call_expression":
            call = read_call(value)
            if call.last in {"make_tuple", "tuple"}:
                return f"std::tuple<{', '.join('torch::Tensor' for _ in call.arguments)}>"
        if value.type == "initializer_list":
            return "std::vector<torch::Tensor>"
        if value.type == "identifier" and _is_tensor(function, value):
            return "torch::Tensor"
    return ""


def _is_tensor(function: Function, value: Node) -> bool:
    """Whether a variable was made by one of torch's functions, or is a tensor parameter."""
    name = text(value)
    if any(p.name == name and "Tensor" in p.type for p in function.parameters):
        return True
    for made in descendants(function.node, "init_declarator"):
        if text(made.child_by_field_name("declarator")) == name:
            return text(made.child_by_field_name("value")).startswith(("torch::", "at::"))
    return False

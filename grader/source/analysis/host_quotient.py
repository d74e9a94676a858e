"""Quotients that host code makes of a size, and hands to a kernel as the number of its elements."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from grader.source import Unit
from grader.source.constants import fold
from grader.source.cuda_code import descendants, text
from grader.source.functions import Function

SIZE = re.compile(r"\b(?:numel|size|sizes|nelement)\s*\(")


@dataclass(frozen=True, eq=False)
class Quotient:
    """`int n4 = x.numel() / 4;`, and the kernel that goes no further than `n4`."""

    unit: Unit
    kernel: str
    name: str
    value: Node
    by: int


def quotients(unit: Unit) -> Iterator[Quotient]:
    """Yield the quotients whose remainder neither the host nor another launch takes up.

    A host function that uses `%`, or multiplies the quotient back, is taken to care for it.
    """
    for host in unit.host_functions:
        if host.body is None or "%" in text(host.body):
            continue
        for node in descendants(host.body, "init_declarator"):
            name, value = (
                text(node.child_by_field_name("declarator")),
                _quotient_of(unit, host, node),
            )
            if value is None or re.search(rf"\b{re.escape(name)}\s*\*", text(host.body)):
                continue
            kernel = _bounded_kernel(unit, host, name)
            if kernel:
                yield Quotient(unit, kernel, name, value[0], value[1])


def _quotient_of(unit: Unit, host: Function, node: Node) -> tuple[Node, int] | None:
    """Return the quotient that a variable starts with, and its divisor, if it is of a size."""
    value = node.child_by_field_name("value")
    if value is None or value.type != "binary_expression":
        return None
    left, right = value.child_by_field_name("left"), value.child_by_field_name("right")
    operator = text(value.child_by_field_name("operator"))
    by = fold(unit, right)
    if left is None or by is None or operator not in {"/", ">>"}:
        return None
    by = 1 << by if operator == ">>" and by < 8 else by
    return (value, by) if by >= 2 and _is_size(host, left) else None


def _is_size(host: Function, node: Node) -> bool:
    """Whether an expression is a tensor's size, or a variable that holds one; not a rounded up one."""
    if node.type in {"identifier", "field_expression", "call_expression"} and host.body is not None:
        declared = re.search(rf"\b{re.escape(text(node))}\s*=\s*([^;]+);", text(host.body))
        return bool(SIZE.search(declared[1] if declared else text(node)))
    return False


def _bounded_kernel(unit: Unit, host: Function, name: str) -> str:
    """Return the kernel that compares its indices with the quotient, if only one is launched."""
    launches = [
        launch
        for launch in unit.launches
        if launch.host_function and launch.host_function.node == host.node
    ]
    if len(launches) != 1:
        return ""
    given = [text(argument) for argument in launches[0].arguments]
    kernel = next((one for one in unit.kernels if one.name == launches[0].kernel), None)
    if kernel is None or name not in given or given.index(name) >= len(kernel.parameters):
        return ""
    limit = re.escape(kernel.parameters[given.index(name)].name)
    return kernel.name if re.search(rf"<\s*{limit}\b|>=\s*{limit}\b", text(kernel.body)) else ""

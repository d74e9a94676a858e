"""Quotients of a size that host code passes to a kernel as its number of elements."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from grader.source import Unit
from grader.source.constants import fold
from grader.source.definitions import definitions
from grader.source.functions import Function
from grader.source.nodes import text

SIZE = re.compile(r"\b(?:numel|size|sizes|nelement)\s*\(")


@dataclass(frozen=True, eq=False)
class Quotient:
    """`int n4 = x.numel() / 4;`, and the kernel that stops at `n4`."""

    unit: Unit
    kernel: str
    name: str
    value: Node
    by: int


def quotients(unit: Unit) -> Iterator[Quotient]:
    """Yield the quotients whose remainder neither the host nor another launch handles.

    A host function that uses `%`, or multiplies the quotient back, is assumed to handle it.
    """
    for host in unit.host_functions:
        words = text(host.body)
        for one in definitions(host.body) if "%" not in words else ():
            by = _divisor(unit, host, one.value) if one.declares else 0
            back = re.search(rf"\b{re.escape(one.name)}\s*\*", words)
            kernel = _bounded_kernel(unit, host, one.name) if by and not back else ""
            if kernel:
                yield Quotient(unit, kernel, one.name, one.value, by)


def _divisor(unit: Unit, host: Function, value: Node) -> int:
    """Return a size's divisor; 0 where none is divided, or by an unknown number."""
    left, right = (value.child_by_field_name(side) for side in ("left", "right"))
    operator, by = text(value.child_by_field_name("operator")), fold(unit, right) or 0
    by = 1 << by if operator == ">>" and by < 8 else by
    divides = operator in {"/", ">>"} and by >= 2 and left is not None
    return by if divides and left is not None and _is_size(host, left) else 0


def _is_size(host: Function, node: Node) -> bool:
    """Whether an expression is a tensor's size, or a variable that holds one; not a rounded up one."""
    if node.type in {"identifier", "field_expression", "call_expression"} and host.body is not None:
        declared = re.search(rf"\b{re.escape(text(node))}\s*=\s*([^;]+);", text(host.body))
        return bool(SIZE.search(declared[1] if declared else text(node)))
    return False


def _bounded_kernel(unit: Unit, host: Function, name: str) -> str:
    """Return the kernel that compares its indices with the quotient, if only one is launched."""
    launches = unit.launches_in(host)
    if len(launches) != 1:
        return ""
    given = [text(argument) for argument in launches[0].arguments]
    kernel = unit.function_named(launches[0].kernel)
    if kernel is None or name not in given or given.index(name) >= len(kernel.parameters):
        return ""
    limit = re.escape(kernel.parameters[given.index(name)].name)
    return kernel.name if re.search(rf"<\s*{limit}\b|>=\s*{limit}\b", text(kernel.body)) else ""

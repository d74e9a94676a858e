"""PRF014: constants without f make float code compute in double."""

from collections.abc import Iterator

from tree_sitter import Node

from grader.rules import Context, Finding, Fix, Source, Unit, fix, rule_of
from grader.source import Function, cpp
from grader.source.cpp_reading import assigned_in
from grader.source.cpp_types import type_of
from grader.source.nodes import descendants, one_line, text
from grader.source.statements import enclosing_loops

FLOATS = frozenset({"float", "scalar_t", "T"})


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for operations of a float with a double, and for slow forms in loops."""
    for unit in source.cuda:
        for function in (*unit.kernels, *unit.device_functions):
            seen: set[int] = set()
            for node in _in_double(unit, function):
                line = unit.place(node).line
                where = " for every element" if next(enclosing_loops(node), None) else ""
                if line not in seen:
                    seen.add(line)
                    yield RULE.finding(
                        unit.place(node),
                        f"`{one_line(node, 50)}` computes in double precision{where}: a constant without `f` (or a double) meets a float",
                        fixes=_suffix(unit, node),
                        kernels=(function.name,),
                    )
            for node, said in list(_slow(function))[:1]:
                message = f"`{one_line(node, 40)}` {said}"
                yield RULE.finding(unit.place(node), message, kernels=(function.name,))


def _in_double(unit: Unit, function: Function) -> Iterator[Node]:
    """Yield the operations in which a float meets a double."""
    for part in cpp.walk(function.code):
        match part:
            case cpp.Binary(op="+" | "-" | "*" | "/", left=left, right=right):
                sides = {type_of(unit, left.node), type_of(unit, right.node)}
            case cpp.Assign(op="+=" | "-=" | "*=" | "/=", target=left, value=right):
                sides = {type_of(unit, left.node), type_of(unit, right.node)}
            case _:
                continue
        if "double" in sides and sides & FLOATS:
            yield part.node


def _suffix(unit: Unit, node: Node) -> tuple[Fix, ...]:
    numbers = [n for n in descendants(node, "number_literal") if text(n)[-1] not in "fFlLxX"]
    real = [n for n in numbers if "." in text(n) or "e" in text(n).lower()]
    return fix("compute in float", [unit.edit(n.end_byte, n.end_byte, "f") for n in real])


def _slow(function: Function) -> Iterator[tuple[Node, str]]:
    """Yield the powers of two and the divisions by something constant in loops."""
    for loop in cpp.walk(function.code):
        for part in cpp.walk(loop.body) if isinstance(loop, cpp.Loop) else ():
            divisor = _divisor(part)
            match part:
                case cpp.Call(name="pow" | "powf", args=(_, cpp.Number(value=2)), node=node):
                    yield node, "is a slow way to write a product"
                case _ if divisor is not None and isinstance(loop, cpp.Loop):
                    if divisor.id not in assigned_in(loop):
                        same = f"divides every element by `{divisor.id}`, which stays the same"
                        yield part.node, f"{same}: multiply by its reciprocal"


def _divisor(part: cpp.Part) -> cpp.Name | None:
    """Return an element's divisor."""
    match part:
        case cpp.Binary(op="/", left=left, right=cpp.Name() as name):
            return name if any(isinstance(p, cpp.Subscript) for p in cpp.walk(left)) else None
        case cpp.Assign(op="/=", target=cpp.Subscript(), value=cpp.Name() as name):
            return name
    return None


RULE = rule_of(__file__, check)

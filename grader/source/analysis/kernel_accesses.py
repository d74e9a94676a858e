"""The loads, stores and atomics in a CUDA kernel's text, by pointer parameter."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from grader.source import Function, Unit, cpp

LOADS = frozenset({"__ldg", "__ldcg", "__ldcs", "__ldca", "__ldlu", "__ldcv"})
STORES = frozenset({"__stcs", "__stcg", "__stwb", "__stwt"})
ATOMIC = ("atomic", "gpuAtomic")
"""Prefixes of atomics' names."""


@dataclass(frozen=True, eq=False)
class Access:
    """One access: `x[i]`, `*p`, or the call of a function that loads or stores."""

    kind: Literal["load", "store", "atomic"]
    expr: cpp.Expr
    parameter: str
    """The kernel's pointer parameter."""
    at: int
    """Order of execution: a store comes after the reads of its right side."""

    @property
    def node(self) -> cpp.Node:
        """The node of the access."""
        return self.expr.node


@lru_cache(maxsize=64)
def accesses(kernel: Function) -> tuple[Access, ...]:
    """Return a kernel's accesses through its pointers, in order of execution."""
    pointers, found, done = _pointers(kernel), list[Access](), set[int]()

    def add(kind: Literal["load", "store", "atomic"], expr: cpp.Expr, whole: cpp.Part) -> None:
        inside = {part.node.id for part in cpp.walk(expr) if part.node is not None}
        name = _base(expr, pointers)
        if name and expr.node.id not in done:
            at = expr.node.start_byte if kind == "load" else whole.node.end_byte
            found.append(Access(kind, expr, name, at))
        done.update(inside if isinstance(expr, cpp.Call) else {expr.node.id})

    for part in cpp.walk(kernel.code):
        match part:
            case cpp.Assign(target=cpp.Subscript() | cpp.Unary(op="*") as target, op=op):
                if op != "=":
                    add("load", target, part)
                    done.discard(target.node.id)
                add("store", target, part)
            case cpp.Update(target=cpp.Subscript() | cpp.Unary(op="*") as target):
                add("store", target, part)
            case cpp.Call(name=name, args=(_, *_)) if name.startswith(ATOMIC):
                add("atomic", part, part)
            case cpp.Call(name=name, args=(_, *_)) if name in LOADS | STORES:
                add("load" if name in LOADS else "store", part, part)
            case cpp.Unary(op="&", operand=cpp.Subscript(node=node)):
                done.add(node.id)
            case cpp.Subscript() | cpp.Unary(op="*"):
                add("load", part, part)
    return tuple(sorted(found, key=lambda one: one.at))


def _pointers(kernel: Function) -> Mapping[str, str]:
    """Return the kernel's pointers and the variables derived from them, by name."""
    found = {one.name: one.name for one in kernel.parameters if one.is_pointer}
    for part in cpp.walk(kernel.code):
        match part:
            case cpp.Declare(name=name, init=cpp.Expr() as init) if part.pointer:
                behind = _base(init, found)
                if behind:
                    found[name] = behind
    return found


def _base(expr: cpp.Expr, pointers: Mapping[str, str]) -> str:
    """Return the base pointer of an address: the first that it names outside indices."""
    if isinstance(expr, cpp.Subscript):
        return _base(expr.base, pointers)
    inside = expr.args[:1] if isinstance(expr, cpp.Call) else cpp.children(expr)
    own = pointers.get(expr.id, "") if isinstance(expr, cpp.Name) else ""
    every = (_base(one, pointers) for one in inside if isinstance(one, cpp.Expr))
    return own or next(filter(None, every), "")


def written_through(unit: Unit, function: Function, name: str) -> bool:
    """Whether a function may write through a pointer: it stores, or passes the pointer on."""
    for node in unit.uses_of(name):
        if not function.node.start_byte <= node.start_byte < function.node.end_byte:
            continue
        parent = node.parent
        if parent is None or parent.type == "pointer_declarator":
            continue
        if parent.type != "subscript_expression":
            return True
        outer = parent.parent
        if outer is not None and (
            outer.type in {"update_expression", "pointer_expression"}
            or (
                outer.type == "assignment_expression"
                and outer.child_by_field_name("left") == parent
            )
        ):
            return True
    return False

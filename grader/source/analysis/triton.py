"""Triton kernels in the text: accesses with their masks, the parts of values, and launches."""

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Literal

from grader.records import Place
from grader.source import Source
from grader.source.analysis.data_flow import assignments, bound_names

JIT = "triton.jit"
TUNE = "triton.autotune"
LANGUAGE = "triton.language."
Kind = Literal["load", "store", "atomic"]
_ATOMICS = ("add", "max", "min", "and", "or", "xor", "xchg", "cas")
ACCESSES: Mapping[str, Kind] = MappingProxyType(
    {
        "load": "load",
        "store": "store",
        **dict.fromkeys((f"atomic_{name}" for name in _ATOMICS), "atomic"),
    }
)
POSITIONS = {"load": ("pointer", "mask", "other"), "store": ("pointer", "value", "mask")}


@dataclass(frozen=True, eq=False)
class Access:
    """One `tl.load`, `tl.store` or `tl.atomic_*`."""

    kind: Literal["load", "store", "atomic"]
    call: ast.Call
    arguments: Mapping[str, ast.expr]
    """`pointer`, `value`, `mask`, `other`, `boundary_check` and so on, as far as they are given."""

    @property
    def pointer(self) -> ast.expr:
        """The pointer expression."""
        return self.arguments["pointer"]

    @property
    def mask(self) -> ast.expr | None:
        """The mask, if it has one."""
        return self.arguments.get("mask")


@dataclass(frozen=True, eq=False)
class Kernel:
    """A function under `@triton.jit`."""

    source: Source
    node: ast.FunctionDef

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.name

    def holds(self, place: Place | None) -> bool:
        """Whether its text contains a place."""
        return self.node.lineno <= (place.line if place else 0) <= (self.node.end_lineno or 0)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of its parameters, in order."""
        given = self.node.args
        return tuple(one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs))

    @cached_property
    def constants(self) -> frozenset[str]:
        """Parameters that are known when it is compiled: those marked `tl.constexpr`."""
        given = self.node.args
        return frozenset(
            one.arg
            for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)
            if one.annotation
            and self.source.module.canonical(one.annotation) == "triton.language.constexpr"
        )

    @cached_property
    def tuned(self) -> ast.Call | None:
        """Return its `@triton.autotune(...)`, if it has one."""
        marks = (mark for mark in self.node.decorator_list if isinstance(mark, ast.Call))
        return next(
            (mark for mark in marks if self.source.module.canonical(mark.func) == TUNE), None
        )

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """Every load, store and atomic, in the order of the text."""
        found = (self._access(call) for call in self.calls(*ACCESSES))
        return tuple(one for one in found if one is not None)

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Yield the calls of some functions of `tl`, in the order of the text."""
        nodes = (node for node in ast.walk(self.node) if isinstance(node, ast.Call))
        for call in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
            if self.language_name(call) in names:
                yield call

    def language_name(self, call: ast.expr) -> str:
        """Return which function of `tl` is called; empty for others."""
        if not isinstance(call, ast.Call):
            return ""
        name = self.source.module.canonical(call.func)
        return name.removeprefix(LANGUAGE) if name.startswith(LANGUAGE) else ""

    @cached_property
    def assigned(self) -> Mapping[str, tuple[ast.expr, ...]]:
        """All values assigned to each name, in the order of the text."""
        found: dict[str, list[ast.expr]] = {}
        nodes = (node for node in ast.walk(self.node) if isinstance(node, ast.stmt))
        for node in sorted(nodes, key=lambda one: one.lineno):
            for target, value in bound_names(node):
                found.setdefault(target, []).append(value)
        return {name: tuple(values) for name, values in found.items()}

    def names_behind(self, value: ast.expr) -> frozenset[str]:
        """Return every name that a value depends on, through assignments."""
        seen: set[str] = set()
        todo = [value]
        while todo:
            for name in _names(todo.pop()) - seen:
                seen.add(name)
                todo += self.assigned.get(name, ())
        return frozenset(seen)

    def made_of(self, value: ast.expr) -> Iterator[ast.expr]:
        """Yield a value's expression and those of every name in it, each once."""
        for name in (None, *sorted(self.names_behind(value))):
            for one in (value,) if name is None else self.assigned.get(name, ()):
                yield from (part for part in ast.walk(one) if isinstance(part, ast.expr))

    def parameter_of(self, access: Access) -> str:
        """Return the pointer parameter of an access, if it is unique."""
        return next(iter(self._bases(access.pointer, frozenset())), "")

    def _bases(self, value: ast.expr, seen: frozenset[str]) -> Iterator[str]:
        """Yield the parameters in the pointer's place of a sum."""
        if isinstance(value, ast.BinOp):
            yield from self._bases(value.left, seen)
            yield from self._bases(value.right, seen)
        elif isinstance(value, ast.Call) and value.args:
            yield from self._bases(value.args[0], seen)
        elif isinstance(value, ast.Call) and value.keywords:
            based = (word.value for word in value.keywords if word.arg == "base")
            for base in based:
                yield from self._bases(base, seen)
        elif isinstance(value, ast.Name) and value.id not in seen:
            if value.id in self.parameters and value.id in self.pointers:
                yield value.id
            for one in self.assigned.get(value.id, ()):
                yield from self._bases(one, seen | {value.id})

    @cached_property
    def pointers(self) -> frozenset[str]:
        """Parameters used as the pointer of an access and not only as numbers, which get tensors in launches."""
        given = [one.arguments for one in launches(self.source) if one.kernel is self]
        tensors = {
            name
            for arguments in given
            for name, value in arguments.items()
            if not _is_number(value)
        }
        named = {p for p in self.parameters if "ptr" in p.lower()}
        based = {self._first(one.pointer) for one in self.accesses} & tensors
        return frozenset(named or based or tensors)

    def _first(self, pointer: ast.expr, depth: int = 8) -> str:
        """Return the name that a pointer's sum begins with, through assignments."""
        while isinstance(pointer, ast.BinOp):
            pointer = pointer.left
        name = pointer.id if isinstance(pointer, ast.Name) else ""
        made = self.assigned.get(name, ())
        return self._first(made[0], depth - 1) if made and depth else name

    def _access(self, call: ast.Call) -> Access | None:
        kind = ACCESSES[self.language_name(call)]
        names = POSITIONS.get(kind, ("pointer", "value", "mask"))
        given = dict(zip(names, call.args, strict=False))
        given |= {word.arg: word.value for word in call.keywords if word.arg}
        return Access(kind, call, given) if "pointer" in given else None


@dataclass(frozen=True, eq=False)
class Launch:
    """One `kernel[grid](...)`."""

    kernel: Kernel
    call: ast.Call
    grid: ast.expr
    """The grid's expression in the brackets, or the value of the only name there."""
    arguments: Mapping[str, ast.expr]
    """By the kernel's parameters; other arguments (`num_warps`) by their own names."""
    host: ast.FunctionDef | None
    """The function around it."""


@lru_cache(maxsize=64)
def kernels(source: Source) -> tuple[Kernel, ...]:
    """Return a submission's kernels and the functions that they call: those under `@triton.jit`, or passed to it."""
    made = (call for call in source.walk(ast.Call) if _is_jit(call.func, source))
    given = {one.id for call in made for one in call.args if isinstance(one, ast.Name)}
    return tuple(
        Kernel(source, node)
        for node in source.walk(ast.FunctionDef)
        if node.name in given or any(_is_jit(mark, source) for mark in node.decorator_list)
    )


def _called_as(source: Source) -> Mapping[str, Kernel]:
    """Return the kernels by name, including names bound to objects made from one."""
    found = {one.name: one for one in kernels(source)}
    for node in source.walk(ast.Assign) if found else ():
        inside = _names(node.value) & set(found)
        if len(inside) == 1 and isinstance(node.value, ast.Call | ast.Name | ast.Subscript):
            for name in filter(None, map(_last_name, node.targets)):
                found.setdefault(name, found[min(inside)])
    return found


@lru_cache(maxsize=64)
def launches(source: Source) -> tuple[Launch, ...]:
    """Return a submission's launches in the order of the text."""
    known = _called_as(source)
    found = []
    for host in (None, *source.walk(ast.FunctionDef)):
        for call in _own_calls(host, source):
            name = _last_name(call.func.value) if isinstance(call.func, ast.Subscript) else ""
            if name in known and isinstance(call.func, ast.Subscript):
                grid = _grid_meant(call.func.slice, host)
                given = _given_arguments(known[name], call)
                found.append(Launch(known[name], call, grid, given, host))
    return tuple(sorted(found, key=lambda one: one.call.lineno))


def last_store(source: Source) -> Access | None:
    """Return the last store of the kernel that is launched last."""
    for launch in reversed(launches(source)):
        stores = [one for one in launch.kernel.accesses if one.kind != "load"]
        if stores:
            return stores[-1]
    return None


def accesses_at(source: Source, line: int) -> tuple[Access, ...]:
    """Return the accesses written on a line; where there is none, those whose values the line uses.

    A compiler may move a load to where its value is needed, and its line table then names that line.
    """
    for kernel in kernels(source):
        if kernel.node.lineno <= line <= (kernel.node.end_lineno or 0):
            spans = [(one, one.call.lineno, one.call.end_lineno or 0) for one in kernel.accesses]
            there = tuple(one for one, first, last in spans if first <= line <= last)
            return there or tuple(_used_at(kernel, line))
    return ()


def no_part_of(source: Source, stored: Collection[int]) -> frozenset[int]:
    """Return the lines of kernels that the stores at some lines don't depend on, so that changing them alone can't fix these."""
    found: set[int] = set()
    for kernel in kernels(source):
        every = [one for one in ast.walk(kernel.node) if isinstance(one, ast.stmt)]
        for access in kernel.accesses:
            if access.kind != "load" and access.call.lineno in stored:
                names = kernel.names_behind(access.call)
                made = [s for s in every if any(n in names for n, _ in bound_names(s)) or _is_call(s, access.call)]  # fmt: skip
                ranges = [(s.lineno, s.end_lineno or 0) for s in made if not isinstance(s, ast.For)]
                heads = {s.lineno for s in every if hasattr(s, "body") if any(s.lineno <= a <= (s.end_lineno or 0) for a, _ in ranges)}  # fmt: skip
                part = heads.union(*(range(a, b + 1) for a, b in ranges))
                found |= set(range(kernel.node.lineno, (kernel.node.end_lineno or 0) + 1)) - part
    return frozenset(found)


def _is_call(statement: ast.stmt, call: ast.Call) -> bool:
    return isinstance(statement, ast.Expr) and statement.value is call


def _used_at(kernel: Kernel, line: int) -> Iterator[Access]:
    """Yield the loads into names that are read on a line."""
    used = {
        node.id
        for node in ast.walk(kernel.node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.lineno == line
    }
    for access in kernel.accesses:
        for name in used:
            if any(access.call is value for value in kernel.assigned.get(name, ())):
                yield access


def _names(value: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}


def _is_number(value: ast.expr) -> bool:
    """Whether an argument is clearly not a tensor."""
    if isinstance(value, ast.Constant | ast.BinOp | ast.UnaryOp | ast.Compare | ast.BoolOp):
        return True
    if isinstance(value, ast.Call):
        last = value.func.attr if isinstance(value.func, ast.Attribute) else ""
        return last in {"numel", "size", "stride", "cdiv", "next_power_of_2", "item"}
    return False


def _is_jit(mark: ast.expr, source: Source) -> bool:
    return source.module.canonical(mark.func if isinstance(mark, ast.Call) else mark) == JIT


def _own_calls(host: ast.FunctionDef | None, source: Source) -> Iterator[ast.Call]:
    """Yield the calls in a function's own body, or those outside of all functions."""
    body: list[ast.AST] = list((host or source.module.tree).body)
    while body:
        node = body.pop()
        if isinstance(node, ast.Call):
            yield node
        if not isinstance(node, ast.FunctionDef):
            body += ast.iter_child_nodes(node)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _grid_meant(grid: ast.expr, host: ast.FunctionDef | None) -> ast.expr:
    """Return the value of a grid's name in its function; the grid itself where it isn't unique."""
    found = assignments(host, grid.id) if isinstance(grid, ast.Name) and host else []
    return found[0].value if len(found) == 1 else grid


def _given_arguments(kernel: Kernel, call: ast.Call) -> Mapping[str, ast.expr]:
    given = dict(zip(kernel.parameters, call.args, strict=False))
    if any(isinstance(one, ast.Starred) for one in call.args):
        given = {}
    return given | {word.arg: word.value for word in call.keywords if word.arg}

"""The origin of a launch's argument in host code, to find the line to blame for a wrong argument."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tree_sitter import Node

from grader.records import Place
from grader.records.changes import GRID
from grader.source import Function, Source, Unit
from grader.source import Launch as CudaLaunch
from grader.source.analysis import triton
from grader.source.analysis.data_flow import last_value
from grader.source.cpp_reading import variables
from grader.source.nodes import text
from grader.source.python_code import PythonCode

THE_GRID = "the grid"
"""Pseudo-parameter for the grid of a launch."""
_UNSAID = frozenset(
    {"ptr", "data", "float", "size", "self", "stride", "int", "contiguous", "num", "n"}
)
_CAST = re.compile(r"^\(\s*(?:const\s+)?[\w:]+\s*\**\s*\)\s*|^static_cast<[\w:]+>\s*(?=\()")
_AS_IT_IS = re.compile(
    r"(?:->|\.)(?:(?:mutable_|const_)?data_ptr(?:<[^>]*>)?|contiguous|float|item)\(\)$"
)
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Step:
    """One step of a value's flow: into a parameter of a call, or into a variable."""

    name: str
    """Name of the parameter or variable."""
    text: str
    place: Place
    into_parameter: bool

    @property
    def computed(self) -> bool:
        """Whether the host computes the value here, rather than passing it on."""
        return not re.fullmatch(r"[A-Za-z_][\w.\->]*", plain(self.text))

    def alike(self, name: str) -> int:
        """Return the number of words of a parameter's name in the text."""
        return len(_words(self.text) & _words(name)) + (plain(self.text) == name)


@dataclass(frozen=True)
class Blame:
    """The line of the host code to blame for a wrong argument."""

    step: Step
    sure: bool
    """Whether the kernel can't be the cause, since its argument has the parameter's name."""
    other: Step | None = None
    """Place of the argument that it is exchanged with."""


def plain(expression: str) -> str:
    """Return an expression without casts and calls that keep its values."""
    before = ""
    while before != expression:
        before = expression
        expression = _AS_IT_IS.sub("", _CAST.sub("", expression.strip()))
        if expression.startswith("(") and expression.endswith(")") and ")" not in expression[:-1]:
            expression = expression[1:-1]
    return expression


def _words(name: str) -> frozenset[str]:
    parts = re.findall(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+|\d+", name)
    return frozenset(part.lower() for part in parts) - _UNSAID


def blame(
    source: Source, kernel: str, nth: int, parameters: Sequence[int], made: bool
) -> Blame | None:
    """Return the line that gives the nth launch of a kernel these arguments; None where unknown.

    With two parameters, each should have the other's value. `made`: none of the launch's values is right, so the line
    that computes the value is to blame, not the one that passes it.
    """
    launch = _launch(source, kernel, nth)
    chains = [list(launch.steps(n)) for n in parameters] if launch else []
    if not all(chains) or not chains:
        return None
    if parameters[0] >= GRID:
        return Blame(chains[0][-1], sure=True)
    if len(chains) > 1:
        return _exchanged_call(chains[0], chains[1])
    return _single(chains[0], made)


def given_name(source: Source, kernel: str, n: int) -> str:
    """Return a launch's argument for a kernel's parameter, without casts; empty where unknown."""
    launch = _launch(source, kernel, 0)
    step = next(launch.steps(n), None) if launch else None
    return plain(step.text) if step else ""


def _single(chain: list[Step], made: bool) -> Blame:
    for step in chain:
        if step.computed or (step.into_parameter and not made and not step.alike(step.name)):
            named = not made and not step.into_parameter and chain[0].alike(chain[0].name)
            return Blame(step, sure=not named)
    return Blame(chain[0], sure=False)


def _exchanged_call(first: list[Step], second: list[Step]) -> Blame:
    """Return the first call at which the names of arguments and parameters differ."""
    for a, b in zip_longest(first, second):
        if a is None or b is None:
            break
        if a.into_parameter and b.into_parameter:
            straight = a.alike(a.name) + b.alike(b.name)
            if a.alike(b.name) + b.alike(a.name) >= straight:
                return Blame(a, sure=True, other=b)
    return Blame(first[0], sure=False, other=second[0])


class _CudaSteps:
    """The arguments of a `kernel<<<...>>>(...)`."""

    def __init__(self, source: Source, unit: Unit, kernel: Function, launch: CudaLaunch) -> None:
        self._source, self._unit, self._kernel, self._launch = source, unit, kernel, launch

    def steps(self, n: int) -> Iterator[Step]:
        if n >= GRID:
            if self._launch.grid is not None:
                yield self._step(THE_GRID, self._launch.grid, into_parameter=True)
                yield from self._makers_of(text(self._launch.grid))
        elif n < min(len(self._launch.arguments), len(self._kernel.parameters)):
            given = self._launch.arguments[n]
            yield self._step(self._kernel.parameters[n].name, given, into_parameter=True)
            yield from self._makers_of(text(given))

    def _step(self, name: str, node: Node, *, into_parameter: bool) -> Step:
        return Step(name, text(node), self._unit.place(node), into_parameter)

    def _makers_of(self, expression: str) -> Iterator[Step]:
        """Yield the origin of a name in the host function: a variable, or its own caller."""
        host, name = self._unit.function_around(self._launch.node), plain(expression)
        if host is None or not _NAME.fullmatch(name):
            return
        known = [one for one in variables(host.body) if one.name == name]
        values = [one.value for one in known if one.value is not None]
        if values:
            yield self._step(name, values[-1], into_parameter=False)
            if plain(text(values[-1])) != name:
                yield from self._makers_of(text(values[-1]))
        names = [one.name for one in host.parameters]
        if not known and name in names:
            yield from _given_by_python(
                self._source, self._source.module, host.name, names.index(name), name
            )


def _given_by_python(
    source: Source, code: PythonCode, function: str, n: int, name: str
) -> Iterator[Step]:
    """Yield the arguments that Python passes to a bound function."""
    for call in code.of(ast.Call):
        called = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if called == function and n < len(call.args):
            yield from _python_steps(source, code, name, call.args[n], call)
            return


def _python_steps(
    source: Source, code: PythonCode, name: str, given: ast.expr, call: ast.AST
) -> Iterator[Step]:
    yield Step(name, source.text(given), source.place(given), into_parameter=True)
    host = code.function_of(call)
    variable = plain(source.text(given))
    for _ in range(4):
        found = last_value(host, variable, getattr(call, "lineno", 0)) if host else None
        if found is None:
            return
        value, _ = found
        yield Step(variable, source.text(value), source.place(value), into_parameter=False)
        variable = plain(source.text(value))


class _TritonSteps:
    """The arguments of a `kernel[grid](...)`."""

    def __init__(self, source: Source, code: PythonCode, launch: triton.Launch) -> None:
        self._source, self._code, self._launch = source, code, launch

    def steps(self, n: int) -> Iterator[Step]:
        kernel = self._launch.kernel
        names = [name for name in kernel.parameters if name not in kernel.constants]
        if n >= GRID:
            yield from self._givers_of(THE_GRID, self._launch.grid)
        elif n < len(names) and names[n] in self._launch.arguments:
            yield from self._givers_of(names[n], self._launch.arguments[names[n]])

    def _givers_of(self, name: str, given: ast.expr) -> Iterator[Step]:
        return _python_steps(self._source, self._code, name, given, self._launch.call)


def _launch(source: Source, kernel: str, nth: int) -> _CudaSteps | _TritonSteps | None:
    """Return the nth launch of a kernel, by its compiled name; if the text has fewer, they repeat."""
    found: list[_CudaSteps | _TritonSteps] = []
    for unit in source.units:
        for launch in unit.launches:
            called = [one for one in unit.kernels if one.name == launch.kernel]
            if called and _is_named(kernel, launch.kernel):
                found.append(_CudaSteps(source, unit, called[0], launch))
    found += [
        _TritonSteps(source, source.module, one)
        for one in triton.launches(source)
        if one.kernel.name == kernel
    ]
    return found[nth % len(found)] if found else None


def _is_named(symbol: str, name: str) -> bool:
    return symbol == name or f"{len(name)}{name}" in symbol

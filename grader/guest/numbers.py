"""Sizes and other numbers of a traced forward, which have a value and remember their origin."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import fx


class Number:
    """A number with the node of the graph that gives it."""

    graph: fx.Graph
    node: fx.Node

    @property
    def plain(self) -> int | float:
        """The value alone."""
        return float(self) if isinstance(self, float) else int(self)  # type: ignore[call-overload]


class Whole(Number, int):
    """An integer, such as a size."""


class Real(Number, float):
    """A floating-point number, such as the root of a size."""


def number(graph: fx.Graph, node: fx.Node, value: float) -> int | float:
    """Return a value that remembers its node; a boolean stays unchanged."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    made: Whole | Real = Whole(value) if isinstance(value, int) else Real(value)
    made.graph, made.node = graph, node
    return made


def plain(value: Any) -> Any:
    """Return a value without its node."""
    return value.plain if isinstance(value, Number) else value


def _remembering_operator(name: str, *, swapped: bool) -> Callable[[Any, Any], Any]:
    function = getattr(operator, name)

    def method(self: Any, other: Any) -> Any:
        if isinstance(other, bool) or not isinstance(other, int | float):
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        return _record_call(self.graph, function, a, b)

    return method


def _record_call(graph: fx.Graph, function: Callable[..., Any], *given: Any) -> Any:
    value = function(*map(plain, given))
    args = tuple(v.node if isinstance(v, Number) else v for v in given)
    return number(graph, graph.call_function(function, args), value)


def _negative(self: Any) -> Any:
    return _record_call(self.graph, operator.neg, self)


for _kind in (Whole, Real):
    setattr(_kind, "__neg__", _negative)  # noqa: B010 - as below
for _name in ("add", "sub", "mul", "floordiv", "truediv", "mod", "pow"):
    for _kind in (Whole, Real):
        setattr(_kind, f"__{_name}__", _remembering_operator(_name, swapped=False))
        setattr(_kind, f"__r{_name}__", _remembering_operator(_name, swapped=True))


class _Rounding(type):
    """The traced text's `int`: it remembers nodes, and is `int` in every other way."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, int)

    def __call__(cls, *given: Any) -> Any:
        if given and isinstance(given[0], Whole | Real):
            return _record_call(given[0].graph, int, given[0])
        return int(*given)


class _Int(int, metaclass=_Rounding):
    """Replaces `int` while a forward is traced."""


@contextmanager
def remember_numbers(names: dict[str, Any]) -> Iterator[None]:
    """Make `math.sqrt`, under any of the text's names, and `int` remember nodes too."""
    known = math.sqrt

    def sqrt(value: Any) -> Any:
        return value**0.5 if isinstance(value, Whole | Real) else known(value)

    own = [name for name, value in names.items() if value is known]
    math.sqrt = sqrt
    names.update(dict.fromkeys(own, sqrt))
    names.setdefault("int", _Int)
    try:
        yield
    finally:
        math.sqrt = known
        names.update(dict.fromkeys(own, known))
        if names["int"] is _Int:
            del names["int"]

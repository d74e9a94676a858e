"""A CUDA or C++ text as its functions, macros and constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.source.declarators import Parameter
from grader.source.flow.tree import Declare, Expr, Node, Stmt
from grader.source.functions import Runs


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function with a body: one of `Unit.functions`, lowered."""

    name: str
    runs: Runs
    parameters: tuple[Parameter, ...]
    template: tuple[Parameter, ...]
    body: Stmt
    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class Macro:
    """A `#define`; `parameters` is None for one without parentheses."""

    name: str
    parameters: tuple[str, ...] | None
    expr: Expr | None
    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """One CUDA or C++ text."""

    functions: tuple[Function, ...]
    macros: Mapping[str, Macro]
    constants: tuple[Declare, ...]
    aliases: Mapping[str, str]

    def named(self, name: str) -> Function | None:
        """Return the last function of that name with a body."""
        return next((one for one in reversed(self.functions) if one.name == name), None)

    @property
    def kernels(self) -> tuple[Function, ...]:
        """The `__global__` functions."""
        return tuple(f for f in self.functions if f.runs == "kernel")

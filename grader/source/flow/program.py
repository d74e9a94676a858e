"""A CUDA or C++ text as its functions, macros, constants and launches."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.source.flow.tree import Declare, Expr, LaunchCall, Node, Parameter, Stmt


@dataclass(frozen=True, slots=True, eq=False)
class TemplateParameter:
    """A template parameter: a type, or a value with its default's text."""

    name: str
    is_type: bool
    default: str


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function with a body."""

    name: str
    kind: str
    """`global`, `device` or `host`."""
    returns: str
    parameters: tuple[Parameter, ...]
    template: tuple[TemplateParameter, ...]
    body: Stmt
    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class Macro:
    """A `#define`; `parameters` is None for one without parentheses."""

    name: str
    parameters: tuple[str, ...] | None
    text: str
    expr: Expr | None
    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """One CUDA or C++ text."""

    functions: tuple[Function, ...]
    macros: Mapping[str, Macro]
    constants: tuple[Declare, ...]
    launches: tuple[tuple[Function, LaunchCall], ...]
    aliases: Mapping[str, str] = field(default_factory=dict)

    def named(self, name: str) -> Function | None:
        """Return the last function of that name with a body."""
        for function in reversed(self.functions):
            if function.name == name:
                return function
        return None

    @property
    def kernels(self) -> tuple[Function, ...]:
        """The `__global__` functions."""
        return tuple(f for f in self.functions if f.kind == "global")

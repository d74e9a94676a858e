"""What a host function of a Triton program has for a kernel: the names that it binds, and what a parameter is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.source import nodes_under
from grader.source.analysis.triton import Launch


def in_host(launch: Launch, name: str) -> str:
    """Return the text that a launch gives for a parameter; for the block of a grid that is a function, its own word."""
    given = launch.arguments.get(name)
    if given is not None:
        return launch.kernel.source.text(given)
    if isinstance(launch.grid, ast.Lambda) and name in launch.kernel.constants:
        return f'{launch.grid.args.args[0].arg}["{name}"]'
    return name if name.isdecimal() else ""


def bound_names(host: ast.FunctionDef) -> tuple[str, ...]:
    """Return the names that a function binds, in the order of the text; its own parameters first."""
    own = [one.arg for one in host.args.args if one.arg != "self"]
    stored = [one for one in nodes_under(host) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]  # fmt: skip
    stored.sort(key=lambda one: (one.lineno, one.col_offset))
    return tuple(dict.fromkeys((*own, *(one.id for one in stored))))


def idle_names(launch: Launch) -> Iterator[str]:
    """Yield the names that a host function binds and neither the grid nor the launch uses."""
    host = launch.host
    used = {one.id for part in (launch.call, launch.grid) for one in ast.walk(part) if isinstance(one, ast.Name)}  # fmt: skip
    yield from (
        (name for name in bound_names(host) if name not in used and name != "_") if host else ()
    )

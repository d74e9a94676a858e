"""What a family of reference-fixed kernels is, and how its text is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.records import Task


@dataclass(frozen=True)
class Names:
    """The names that the sample's author used."""

    extension: str
    function: str


Write = Callable[[Task, Names], str | None]
"""Return a whole Python file with `ModelNew`, or None where the family doesn't cover the task."""


@dataclass(frozen=True)
class Family:
    """Reference-fixed kernels for tasks of one shape of computation."""

    name: str
    write: Write


@dataclass(frozen=True)
class Scalar:
    """A number that the kernel takes beside its tensors."""

    name: str
    """Name in C++; the Python side passes it by position."""
    type: str = "float"


@dataclass(frozen=True)
class Operation:
    """The operator-specific part of a kernel: C++ statements over `s` (a Stat), `v` and `i`."""

    finish: str
    """Gives the result: `return ...;` with `v` the value (where it maps) and `n` the length."""
    fields: tuple[tuple[str, str, str], ...] = ()
    """Type, name and start value of each field of Stat."""
    add: str = ""
    """Folds the value `v` (at index `i`) into `s`."""
    batch: str = ""
    """Folds the kCount vectors `v` of four values into `s`, where that is cheaper than one by one."""
    blank: str = "0.0f"
    """A value that changes nothing when it is folded in."""
    warp: str = ""
    """Merges the `s` of all lanes of a warp, where that is cheaper than `merge` in five steps."""
    merge: str = ""
    """Folds `b` into `a`."""
    scalars: tuple[Scalar, ...] = ()
    result: str = "float"
    maps: bool = True
    """One result for each value; otherwise one for each row."""
    indexed: bool = False
    """Whether `add` needs the index."""

    @property
    def counted(self) -> bool:
        """Whether `finish` needs the number of values."""
        return re.search(r"\bn\b", self.finish) is not None


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - program text, not HTML
    )
    environment.filters |= {
        "parameters": lambda scalars: "".join(f", {item.type} {item.name}" for item in scalars),
        "arguments": lambda scalars: "".join(f", {item.name}" for item in scalars),
        "casts": lambda scalars: "".join(f", ({item.type}){item.name}" for item in scalars),
        "cpp_parameters": lambda scalars: "".join(
            f", {'double' if item.type == 'float' else 'int64_t'} {item.name}" for item in scalars
        ),
    }
    return environment


def render(template: str, function: str, values: Mapping[str, Any]) -> str:
    """Return the CUDA text of a template."""
    return _environment().get_template(template).render(function=function, **values)


def module(
    template: str, names: Names, *, title: str, idea: str, body: str, values: Mapping[str, Any]
) -> str:
    """Return the Python file around the CUDA text of a template."""
    cuda = render(template, names.function, values)
    head = cuda[: cuda.index("{", cuda.rindex(f" {names.function}(torch::Tensor"))]
    declaration = " ".join(head[head.rindex("torch::Tensor " + names.function) :].split())
    return (
        _environment()
        .get_template("module.py.jinja")
        .render(
            title=title,
            idea=idea,
            cuda=cuda,
            declaration=f"{declaration};",
            extension=names.extension,
            function=names.function,
            body=body.replace("EXTENSION", names.extension).replace("FUNCTION", names.function),
        )
    )

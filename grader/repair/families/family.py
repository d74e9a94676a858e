"""What a family of reference-fixed kernels is, and how its text is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.records import Form, Task


@dataclass(frozen=True)
class Names:
    """The names that the sample's author used."""

    extension: str
    function: str


Values = Mapping[str, Any]
"""What a template is filled with, beside the function's name."""


@dataclass(frozen=True)
class Text:
    """One form of a kernel, before it has names."""

    template: str
    """Of the CUDA text, below `templates/`."""
    idea: str
    """What the kernel does about time; below the file's title."""
    body: str
    """The methods of `ModelNew`, with EXTENSION and FUNCTION where the names go."""
    values: Values = field(default_factory=dict)


_ELEMENTS = {None: "float", "bfloat16": "c10::BFloat16", "float16": "c10::Half"}


def element(task: Task) -> Values:
    """Return the value of a template for any of them: the type in C++ that the task is asked in."""
    return {"type": _ELEMENTS[task.precision]}


@dataclass(frozen=True)
class Draft:
    """A task's kernel in both forms, or in one."""

    fast: Text | None
    """None where no form is written that is worth more than the plain one."""
    plain: Text | None = None
    """What a textbook shows; None where there is no such form."""

    @classmethod
    def both(
        cls, template: str, ideas: tuple[str, str], body: str, values: Values | None = None,
        plain: str = "", plain_values: Values | None = None,
    ) -> Draft:  # fmt: skip
        """Return both forms around one body; the plain one has the same template's name and values where no others are said."""
        given = values or {}
        return cls(
            fast=Text(f"{template}.cu.jinja", ideas[0], body, given),
            plain=Text(f"plain/{plain or template}.cu.jinja", ideas[1], body, given if plain_values is None else plain_values),
        )  # fmt: skip


Write = Callable[[Task], Draft | None]
"""Return the task's kernel; None where the family doesn't cover the task."""


@dataclass(frozen=True)
class Family:
    """Reference-fixed kernels for tasks of one shape of computation."""

    name: str
    draft: Write

    def write(self, task: Task, names: Names, form: Form) -> str | None:
        """Return a whole Python file with `ModelNew`, or None where there is none of this form."""
        draft = self.draft(task)
        text = getattr(draft, form, None)
        return module(text, f"{task.title}: reference-fixed kernel", names) if text else None


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


def module(text: Text, title: str, names: Names) -> str:
    """Return the Python file around the CUDA text of a form."""
    cuda = render(text.template, names.function, text.values)
    head = cuda[: cuda.index("{", cuda.rindex(f" {names.function}(torch::Tensor"))]
    declaration = " ".join(head[head.rindex("torch::Tensor " + names.function) :].split())
    return (
        _environment()
        .get_template("module.py.jinja")
        .render(
            title=title,
            idea=text.idea,
            cuda=cuda,
            declaration=f"{declaration};",
            extension=names.extension,
            function=names.function,
            body=text.body.replace("EXTENSION", names.extension).replace(
                "FUNCTION", names.function
            ),
        )
    )


MOST_LINES = 80
"""Of the CUDA text of a plain form."""


def cuda_lines(code: str) -> list[str]:
    """Return the lines of CUDA in a file that `module` wrote, comments and blank ones among them."""
    _, _, after = code.partition('CUDA = r"""\n')
    return after.partition('\n"""')[0].splitlines()

"""What a family of reference-fixed kernels is, and how its text is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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


Values = Mapping[str, Any]
"""What a template is filled with, beside the function's name."""


@dataclass(frozen=True)
class Text:
    """A kernel as a textbook shows it, before it has names."""

    template: str
    """Of the CUDA text, in `templates/plain`."""
    idea: str
    """What the kernel does about time; below the file's title."""
    body: str
    """The methods of `ModelNew`, with EXTENSION and FUNCTION where the names go."""
    values: Values = field(default_factory=dict)


_ELEMENTS = {None: "float", "bfloat16": "c10::BFloat16", "float16": "c10::Half"}


def element(task: Task) -> Values:
    """Return the value of a template for any of them: the type in C++ that the task is asked in."""
    return {"type": _ELEMENTS[task.precision]}


Write = Callable[[Task], Text | None]
"""Return the task's kernel; None where the family doesn't cover the task."""


@dataclass(frozen=True)
class Family:
    """Reference-fixed kernels for tasks of one shape of computation."""

    name: str
    text: Write

    def write(self, task: Task, names: Names) -> str | None:
        """Return a whole Python file with `ModelNew`, or None where there is none for a task."""
        text = self.text(task)
        return module(text, f"{task.title}: reference-fixed kernel", names) if text else None


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
    cuda = render(f"plain/{text.template}.cu.jinja", names.function, text.values)
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

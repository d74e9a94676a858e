"""The kernels of a built-in task: the templates of its family, filled with the task's parameters.

A template below `templates/plain`, or `templates/fast` where what is composed is slower, holds the CUDA text, and sets `idea`, what the kernel does about time, and `body`, the
methods of `ModelNew`. It knows the task's family, parameters and reference, its type in C++, and the names to use.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.records import Form, Task

ALIKE = {"layer-norm": "group-norm", "instance-norm": "group-norm", "arg-reduce": "reduce"}
"""Families whose kernels another one's template writes."""
ELEMENTS = {None: "float", "bfloat16": "c10::BFloat16", "float16": "c10::Half"}
MOST_LINES = 80
"""Most lines of a plain form's CUDA text."""


@dataclass(frozen=True)
class Names:
    """Names of a program's extension and its function."""

    extension: str
    function: str


class UncoveredOperationError(Exception):
    """A family's template doesn't know a task's operation."""


def kernel_of_family(task: Task, names: Names, form: Form) -> str | None:
    """Return a whole Python file with `ModelNew`; None for a task of no family, or that its family has no such form of."""
    name = _template_of(task, form)
    given: dict[str, Any] = {
        "family": task.family,
        "parameters": task.parameters,
        "reference": task.reference,
    }
    given |= {"type": ELEMENTS[task.precision], **HELPERS}
    called = {"extension": names.extension, "function": names.function}
    try:
        made = environment().get_template(name).make_module(given | called) if name else None
    except UncoveredOperationError:
        return None
    if made is None:
        return None
    parts = {"idea": vars(made)["idea"], "body": vars(made)["body"], "cuda": str(made)}
    title = f"{task.title}: reference-fixed kernel"
    declaration = _declaration(parts["cuda"], names.function)
    module = environment().get_template("module.py.jinja")
    return module.render(title=title, declaration=declaration, **parts, **called)


def _template_of(task: Task, form: Form) -> str:
    """Return the template of a task's operation, else of its family; empty where there is neither."""
    family = ALIKE.get(task.family, task.family)
    found = (f"{family}-{task.parameters.get('op', '')}", family)
    files = (f"{form}/{name.replace('-', '_')}.cu.jinja" for name in found)
    return next((file for file in files if family and (TEMPLATES / file).exists()), "")


def _refuse() -> str:
    raise UncoveredOperationError


def _declaration(cuda: str, function: str) -> str:
    """Return the declaration of the function that Python calls."""
    head = cuda[: cuda.index("{", cuda.rindex(f" {function}(torch::Tensor"))]
    return " ".join(head[head.rindex("torch::Tensor " + function) :].split()) + ";"


def constructor(reference: str) -> str:
    """Return the text of the reference's constructor: parameters keep their names that way."""
    return textwrap.dedent(ast.unparse(_method(reference, "__init__")))


def result_of_calls(reference: str, function: str) -> str:
    """Return what the reference's `forward` returns, with `function(self.layer, x)` for each `self.layer(x)`."""
    last = _method(reference, "forward").body[-1]
    value = last.value if isinstance(last, ast.Return) else None
    return re.sub(r"\bself\.(\w+)\(", rf"{function}(self.\1, ", ast.unparse(value)) if value else _refuse()  # fmt: skip


def _method(reference: str, name: str) -> ast.FunctionDef:
    classes = (node for node in ast.walk(ast.parse(reference)) if isinstance(node, ast.ClassDef))
    for node in (node for node in classes if node.name == "Model"):
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and item.name == name:
                return item
    raise UncoveredOperationError


HELPERS = {"constructor": constructor, "result": result_of_calls, "uncovered": _refuse}
"""Functions available to templates."""


def cuda_lines(code: str) -> list[str]:
    """Return the lines of CUDA in a file by `kernel_of_family`, including comments and blank ones."""
    _, _, after = code.partition('CUDA = r"""\n')
    return after.partition('\n"""')[0].splitlines()


TEMPLATES = Path(__file__).parent / "templates"


@cache
def environment(folder: Path = TEMPLATES) -> Environment:
    """Return the template environment of a folder."""
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - program text and prompts, not HTML
    )


def render(template: str, function: str, values: Mapping[str, Any]) -> str:
    """Return the CUDA text of a template."""
    return environment().get_template(template).render(function=function, **values)

"""Reference pages of the documentation that are made from the code: `python -m grader.reference`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any, get_args

from pydantic import BaseModel

from grader.config import PREFIX, Options
from grader.judge.slope import DEVIATIONS, SHARED
from grader.judge.tolerance import CAP, ONE_OFF, RESULT_ROUNDINGS, ROUNDINGS, TERMS
from grader.records import Task
from grader.report import rows
from grader.tasks import builtin_tasks
from grader.tasks.kinds import by_kind, types_of


def write(folder: Path) -> None:
    """Write `options.md`, `rows.md` and `tasks.md` into an existing folder."""
    for name, text in (("options", _options()), ("rows", _rows()), ("tasks", _tasks())):
        (folder / f"{name}.md").write_text(text, "utf-8")


def _options() -> str:
    told = _docstrings(Options)
    lines = [
        "# Options\n",
        "As a flag, in a variable, or in `[tool.kernel-grader]` of a `pyproject.toml`; flags win over",
        "variables, and variables over the file.\n",
        "| flag | variable | default | what it says |",
        "|---|---|---|---|",
    ]
    for name, field in Options.model_fields.items():
        flag = name.replace("_", "-")
        default = _cell(f"`{field.default}`") if field.default not in (None, ()) else ""
        variable = f"`{PREFIX}{name.upper()}`"
        lines.append(f"| `--{flag}` | {variable} | {default} | {_cell(told[name])} |")
    return "\n".join(lines) + "\n"


def _rows() -> str:
    lines = [
        "# Rows of results.jsonl\n",
        "One JSON object a line for each sample; the machine-readable schema is `docs/results.schema.json`.\n",
    ]
    for model in _models(rows.Row):
        lines += [f"## {model.__name__}\n", f"{inspect.getdoc(model)}\n", *_table(model), ""]
    return "\n".join(lines)


def _models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield a model and those that its fields hold, each once, outermost first."""
    found, waiting = dict.fromkeys([model]), [model]
    while waiting:
        for field in waiting.pop(0).model_fields.values():
            for inner in _models_held(field.annotation):
                if inner not in found:
                    found[inner] = None
                    waiting.append(inner)
    yield from found


def _models_held(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_held(part)


def _table(model: type[BaseModel]) -> Iterator[str]:
    told = _docstrings(model)
    yield "| field | type | what it says |"
    yield "|---|---|---|"
    for name, field in model.model_fields.items():
        kind = inspect.formatannotation(field.annotation).replace("grader.", "")
        yield f"| `{name}` | {_cell(f'`{kind}`')} | {_cell(told.get(name, ''))} |"


def _tasks() -> str:
    lines = [
        "# Built-in tasks\n",
        (
            "Each row has the shapes of the task's inputs, one set for each `nominal` workload, and in brackets what its module is made with. "
            "Nominal sizes decide; the others are reported apart. The types are those of the inputs. A type after `also` is selected "
            "by a name with `-bf16` or `-fp16` after it, or by `--dtype`; `backward` says that its [gradients](../how-to/gradients.md) can be "
            "judged as well, by a name with `-backward` after it, or by `--backward`.\n"
        ),
        "## When a result is right\n",
        *_tolerances(),
    ]
    for kind, some in by_kind().items():
        lines += [
            f"## {kind.capitalize()}\n",
            "| name | what | types | nominal inputs |",
            "|---|---|---|---|",
        ]
        lines += [_task(entry.task) for entry in some]
        lines.append("")
    return "\n".join(lines)


def _tolerances() -> Iterator[str]:
    """Yield in words what `grader.judge.tolerance`, `slope` and `steps` grant."""
    yield (
        "A result a is right where |a - r| <= bound * (|r| + the root mean square of r), with r the reference in float64. The bound follows from "
        "the type of the accumulator, with unit roundoff u, and the number n of terms that meet in one result:\n"
    )
    yield f"- float32 and float64: u * ({ROUNDINGS:.0f} + {TERMS:.0f} * sqrt(n)); in float32 at most {CAP:.2g}."
    yield (
        f"- float16 and bfloat16: {RESULT_ROUNDINGS:.0f} u of the type itself, for the result and what steps hand on, and the bound of a sum in float32. "
        "A running sum in half precision is off by u * sqrt(n) / 4 (one standard deviation), so it is told from n of about 64 on."
    )
    yield (
        f"- float16 and bfloat16, all elements together: |sum(a r) / sum(r r) - 1| <= u * ({SHARED} + {DEVIATIONS:.0f} / sqrt(N)) + the bound of a sum, with "
        "N = sum(r^2)^2 / sum(r^4). Roundings have no direction; a factor of 1% has one."
    )
    yield f"- 8-bit floats: equal, but for {ONE_OFF:.0%} of the elements, which may be one step off. Whole numbers: equal.\n"
    yield "Where torch's own result is farther off, the bound is wider. Tasks with a rule of their own:\n"
    for name, task in builtin_tasks().items():
        if task.tolerance is not None:
            yield f"- `{name}`: {task.tolerance.why}."
    yield ""


def _task(task: Task) -> str:
    nominal = ", ".join(each.name for each in task.workloads if each.role == "nominal")
    return f"| `{task.name}` | {_cell(task.title)} | {types_of(task)} | {_cell(nominal)} |"


def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return the string below each field of a class, by the field's name."""
    body = ast.parse(dedent(inspect.getsource(model))).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = below.value if isinstance(below, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found[field.target.id] = inspect.cleandoc(text.value)
    return found


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    write(Path(__file__).resolve().parent.parent / "docs" / "reference")

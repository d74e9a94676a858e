"""The reference-fixed kernel of a task with gradients: one program of the kernels for both passes."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from grader.records import Task, TensorSpec
from grader.repair.compose import UncoveredError
from grader.repair.families import render
from grader.tasks.backward import PARAMETERS, with_backward


@cache
def formulas() -> Mapping[str, str]:
    """Return the gradient formula of each built-in task that has one."""
    return tomllib.loads(Path(__file__).with_name("gradient_formulas.toml").read_text("utf-8"))


def gradient_reference(task: Task) -> str:
    """Return the text of a module that computes a built-in task's gradients by its formula."""
    tree = ast.parse(task.reference)
    model = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Model")
    forward = next(n for n in model.body if isinstance(n, ast.FunctionDef) and n.name == "forward")
    names = ", ".join(("self", *_arguments(forward), *_weights(task), *_upstream(task)))
    body = "\n".join(f"        {line}" for line in formulas()[task.name].strip().split("\n"))
    lines = task.reference.splitlines()[: forward.lineno - 1]
    return "\n".join((*lines, f"    def forward({names}):", body, ""))


def gradient_task(task: Task) -> Task:
    """Return a built-in task's gradients as a separate task for tracing, with inputs only."""
    asked = with_backward(task)
    if asked is None or task.name not in formulas():
        raise UncoveredError(f"no formula for the gradients of {task.name}")
    first = asked.workloads[0]
    count = 1 + (first.backward.upstream if first.backward else 0)
    plain, upstream = first.inputs[:-count], first.inputs[-count:-1]
    like = plain[0].shape if isinstance(plain[0], TensorSpec) else ()
    shape = like[1:] if task.name == "layer-norm" else like[1:2]
    weights = tuple(TensorSpec(shape=shape) for _ in _weights(task))
    traced = first.model_copy(update={"inputs": (*plain, *weights, *upstream)})
    return task.model_copy(
        update={
            "name": f"{task.name}-gradients",
            "family": f"{task.family}-gradients",
            "reference": gradient_reference(task),
            "workloads": (traced,),
        }
    )


def join_passes(task: Task, results: str, gradients: str) -> str:
    """Return one program whose `ModelNew` has the results of one and the gradients of the other."""
    asked = with_backward(task)
    first = asked.workloads[0].backward if asked else None
    by = first.by if first else ()
    inputs = _arguments(_forward(task))
    weights, upstream = _weights(task), _upstream(task)
    tensors = [*(inputs[k] for k in _tensors(task)), *weights]
    position = {f"input {k + 1}": name for k, name in enumerate(inputs)}
    position |= dict(zip(PARAMETERS.get(task.name, ()), weights, strict=True))
    text = render(
        "with_gradients.py.jinja", "",
        {
            "inputs": inputs, "arguments": [*inputs, *weights], "tensors": tensors, "upstream": upstream,
            "plain": [name for name in inputs if name not in tensors],
            "found": {position[one]: f"by_{position[one]}" for one in by},
            "parameters": PARAMETERS.get(task.name, ()),
        },
    )  # fmt: skip
    parts = (_part(results, "Results", ""), _part(gradients, "Gradients", "_BACKWARD"))
    imports = dict.fromkeys(line for lines, _ in parts for line in lines)
    title = f'"""{task.title}, with gradients: reference-fixed kernel.\n\nA kernel for each pass, joined by a torch.autograd.Function.\n"""'
    return "\n\n".join(
        (title, "\n".join(imports), *(body for _, body in parts), text.strip() + "\n")
    )


def _part(program: str, name: str, suffix: str) -> tuple[list[str], str]:
    """Return a program's imports and the rest, with its module and its texts renamed."""
    tree, lines = ast.parse(program), program.splitlines()
    kept = [n for n in tree.body if not isinstance(n, ast.Import | ast.ImportFrom)]
    kept = kept[1:] if ast.get_docstring(tree) else kept
    imports = [ast.unparse(n) for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    body = "\n\n".join("\n".join(lines[n.lineno - 1 : n.end_lineno]) for n in kept)
    return imports, re.sub(
        r"\b(CUDA|CPP)\b(?=\s*=|,)", rf"\1{suffix}", body.replace("ModelNew", name)
    )


def _forward(task: Task) -> ast.FunctionDef:
    found = (n for n in ast.walk(ast.parse(task.reference)) if isinstance(n, ast.FunctionDef))
    return next(n for n in found if n.name == "forward")


def _arguments(forward: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in forward.args.args[1:]]


def _weights(task: Task) -> list[str]:
    return [name.rsplit(".", 1)[-1] for name in PARAMETERS.get(task.name, ())]


def _upstream(task: Task) -> Sequence[str]:
    asked = with_backward(task)
    first = asked.workloads[0].backward if asked else None
    return ["upstream", *(f"upstream_{k + 2}" for k in range((first.upstream if first else 1) - 1))]


def _tensors(task: Task) -> list[int]:
    return [k for k, item in enumerate(task.workloads[0].inputs) if hasattr(item, "shape")]

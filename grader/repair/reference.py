"""The reference-fixed kernel: what a good engineer would have handed in for the task."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable

from grader.diagnose import Evaluate
from grader.records import JsonValue, Repair, Submission, Task
from grader.repair.compose import UncoveredError, compose, read_graph
from grader.repair.compose.write import Composed
from grader.repair.families import Names, families
from grader.source import parse

Trace = Callable[[str], JsonValue]
"""Gives the graph of a reference's text, as a guest tells it."""


def reference_fixed(
    task: Task, submission: Submission, evaluate: Evaluate, trace: Trace
) -> Repair | None:
    """Write the task's kernel, put it through the same evaluation, and return it if it passed."""
    code = reference_code(task, submission) or _composed_code(task, trace, submission)
    if code is None:
        return None
    evaluation = evaluate(program(code, submission.sample))
    if evaluation.verdict.status != "correct":
        return None
    return Repair(kind="reference", code=code, evaluation=evaluation, title=task.title)


def program(code: str, sample: str) -> Submission:
    """Return a program of ours as what is evaluated."""
    lines = (0,) * len(code.splitlines())
    return Submission(sample=sample, code=code, line_map=lines, how="reference-fixed kernel")


def reference_code(task: Task, submission: Submission | None = None) -> str | None:
    """Return the program's text, with the author's own names; None for a task of no family."""
    family = families().get(task.family)
    return family.write(task, _names(task, submission)) if family else None


def _composed_code(task: Task, trace: Trace, submission: Submission) -> str | None:
    try:
        return composed(task, trace, submission).code
    except UncoveredError:
        return None


def composed(task: Task, trace: Trace, submission: Submission | None = None) -> Composed:
    """Return the program that is written from the traced reference, with the author's own names where they fit.

    Raises UncoveredError, with the reason, where no family covers an operation of it.
    """
    plain, names = _names(task, None), _names(task, submission)
    title = f"{task.title}: reference-fixed kernel"
    graph = read_graph(trace(task.reference))
    taken = {node.name for node in graph.nodes} | set(re.findall(r"\w+", task.reference))
    extension = plain.extension if names.extension in taken else names.extension
    function = "" if names.function in {plain.function, *taken} else names.function
    return compose(task.reference, graph, title, extension, function)


def _names(task: Task, submission: Submission | None) -> Names:
    plain = re.sub(r"\W+", "_", task.name).strip("_") or "kernel"
    plain = f"problem_{plain}" if plain[0].isdigit() else plain
    names = Names(extension=f"{plain}_extension", function=f"{plain}_forward")
    if submission is None:
        return names
    for extension in parse(submission.code).extensions:
        functions = [name for name in extension.functions or () if _usable(name)]
        if len(functions) == 1 and _usable(extension.variable or ""):
            return Names(extension=extension.variable or names.extension, function=functions[0])
    return names


def _usable(name: str) -> bool:
    """Whether a name of the sample can stand in a program of ours."""
    taken = {
        "x",
        "y",
        "add",
        "merge",
        "apply",
        "main",
        "row_kernel",
        "column_kernel",
        "Stat",
        "CUDA",
        "CPP",
    }
    plain = re.fullmatch(r"[a-zA-Z]\w{2,60}", name, re.ASCII) is not None
    return plain and name not in taken and not keyword.iskeyword(name)

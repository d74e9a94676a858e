"""A built-in task together with the signs by which a transcript is recognised as an answer to it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property

from grader.records import JsonValue, Task, Tolerance, Workload


@dataclass(frozen=True)
class Entry:
    """One built-in task and the signals by which a sample is recognised as an answer to it.

    `words` and `against` are regular expressions over lower-case words separated by one space
    (identifiers split at underscores and capitals: `l2NormKernel` reads "l2 norm kernel").
    `formulas` are regular expressions over the text without any white space, case kept.
    """

    task: Task
    words: tuple[str, ...]
    """Names of the operation, the most specific first."""
    kind: str = ""
    """Heading that it is listed under, if not that of its kernels' family."""
    formulas: tuple[str, ...] = ()
    """Forms in which the reference may be written in Python."""
    against: tuple[str, ...] = ()
    """Words that point to a similar task instead."""
    usual: tuple[str, ...] = ()
    """For a special case, names of the usual case: they count where any of `words` is found."""
    inside: tuple[str, ...] = ()
    """Patterns that its CUDA code is likely to have; matched on the code without white space and comments."""
    outside: tuple[str, ...] = ()
    """Patterns that its CUDA code is unlikely to have; likewise."""
    prior: float = 0.0
    """Below 0 for a special case of a more usual task, which is chosen only where it is named."""
    problems: tuple[int, ...] = ()
    """Numbers in KernelBench's level 1 that this task stands for."""
    vocabulary: frozenset[str] = field(default_factory=frozenset)
    """Words of other operations that a kernel's name for this one may contain."""

    @cached_property
    def constructor(self) -> tuple[str, ...]:
        """Names of the parameters of the reference's constructor, without `self`."""
        return _parameters(self.task.reference, "__init__")

    @cached_property
    def forward(self) -> tuple[str, ...]:
        """Names of the arguments of the reference's `forward`, without `self`."""
        return _parameters(self.task.reference, "forward")


def builtin(
    name: str,
    title: str,
    reference: str,
    workloads: tuple[Workload, ...],
    *,
    family: str,
    prompt: str,
    parameters: dict[str, JsonValue] | None = None,
    reduction_length: str = "1",
    tolerance: Tolerance | None = None,
    notes: tuple[str, ...] = (),
) -> Task:
    """Return a task of our own; see `grader.records.Task` for the fields."""
    return Task(
        name=name,
        title=title,
        source="builtin",
        reference=reference,
        workloads=workloads,
        family=family,
        prompt=prompt,
        parameters=parameters or {},
        reduction_length=reduction_length,
        tolerance=tolerance,
        notes=notes,
    )


def _parameters(reference: str, method: str) -> tuple[str, ...]:
    for node in ast.walk(ast.parse(reference)):
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name == method:
                    return tuple(argument.arg for argument in item.args.args[1:])
    return ()

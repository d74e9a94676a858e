"""Inputs of one shape for a kernel that counts on it, where the task's own shapes differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.records import Fix, TensorSpec
from grader.rules.forward_fixes import inputs_broadcast
from grader.source.analysis.walks import task_inputs
from grader.source.python_code import python_code

if TYPE_CHECKING:
    from grader.records import Context
    from grader.source import Source


def of_one_shape(source: Source, context: Context) -> tuple[Fix, ...]:
    """Return the fixes that hand the kernel the task's inputs broadcast to one shape, where their shapes differ."""
    inputs = task_inputs(context.task, "nominal")
    shapes = [item.shape for item in inputs if isinstance(item, TensorSpec)]
    code = python_code(source)
    return inputs_broadcast(source, code, shapes) if code and len(shapes) == len(inputs) else ()


__all__ = ["of_one_shape"]

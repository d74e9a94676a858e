"""Inputs of one shape for a kernel that counts on it, where the task's own shapes differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grader.records import Context, Finding, Fix, TensorSpec
from grader.repair.fixes.maker import FixMaker
from grader.source import Source
from grader.source.analysis.walks import task_inputs
from grader.source.code_edits import fix
from grader.source.python_code import PythonCode, python_code
from grader.source.rewriting.forward import at_the_start


def of_one_shape(source: Source, context: Context) -> tuple[Fix, ...]:
    """Return the fixes that hand the kernel the task's inputs broadcast to one shape, where their shapes differ."""
    inputs = task_inputs(context.task, "nominal")
    shapes = [item.shape for item in inputs if isinstance(item, TensorSpec)]
    code = python_code(source)
    return inputs_broadcast(source, code, shapes) if code and len(shapes) == len(inputs) else ()


def inputs_broadcast(
    source: Source, code: PythonCode, shapes: Sequence[tuple[int, ...]]
) -> tuple[Fix, ...]:
    """Return the fix that hands the kernel inputs of one shape, where theirs differ and broadcast to it."""
    forward = code.method("forward")
    names = [one.arg for one in forward.args.args[1:]] if forward is not None else []
    if len(names) != len(shapes) or len(set(shapes)) < 2:
        return ()
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return ()
    listed = ", ".join(names)
    line = f"{listed} = (t.contiguous() for t in torch.broadcast_tensors({listed}))"
    edit = at_the_start(source, code, [line])
    return fix("broadcast the inputs to one shape first", [edit])


def propose(finding: Finding, source: Source, context: Context) -> tuple[Fix, ...]:
    """Return the fixes where a run saw memory left, or all of a result wrong."""
    shared = any("shared" in item.code for item in finding.evidence[:1])
    told = finding.rule == "MEM011" or finding.severity == "error"
    return of_one_shape(source, context) if finding.evidence and told and not shared else ()


FIX = FixMaker(codes=("MEM011", "NUM001", "DEP001", "DEP003", "DEP005"), propose=propose)

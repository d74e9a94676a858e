"""PRF010: data moves between CPU and GPU inside forward."""

import ast
from collections.abc import Iterator

from grader.records import Context, Edit, Finding
from grader.rules.rule import Rule
from grader.source import Source, nodes_under
from grader.source.code_edits import fix
from grader.source.flow import flow
from grader.source.flow.tree import Call, Name, walk
from grader.source.python_code import python_code


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for copies in what forward runs, in Python and in the host functions."""
    code = python_code(source)
    for function in code.reached if code is not None else ():
        for node in nodes_under(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield from _python(source, node, node.func)
    for unit in source.cuda:
        for host in flow(unit).program.functions:
            for part in walk(host.body) if host.kind == "host" else ():
                if isinstance(part, Call) and part.name in {"cudaMemcpy", "cudaMemcpyAsync"}:
                    words = {a.id for a in part.args if isinstance(a, Name)}
                    if words & {"cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost"}:
                        yield RULE.finding(
                            unit.place(part.node),
                            "the host function copies between CPU and GPU memory on every call",
                        )


def _python(source: Source, node: ast.Call, called: ast.Attribute) -> Iterator[Finding]:
    away = called.attr == "cpu" or (called.attr == "to" and _to(node) == "cpu")
    there = called.attr == "cuda" or (called.attr == "to" and _to(node) == "cuda")
    if not away and not there:
        return
    start = source.span(called.value)[1]
    end = source.span(node)[1]
    edits = [Edit(start=start, end=end, text="")]
    if away:
        yield RULE.finding(
            source.place((start, end)),
            "the result is copied to CPU memory on every call: the host waits, and the data crosses the bus",
            fixes=fix("leave the data on the GPU", edits),
        )
    else:
        yield RULE.finding(
            source.place((start, end)),
            "the data is moved to the GPU on every call: free when it is there already, a slow copy when not",
            severity="note",
            fixes=fix("leave the data where it is", edits),
        )


def _to(node: ast.Call) -> str:
    values = [*node.args, *(k.value for k in node.keywords if k.arg == "device")]
    for value in values[:1]:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return value.value.split(":")[0]
    return ""


_BAD = """
import torch
import torch.nn as nn
class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x.cuda()).cpu()
"""
RULE = Rule(
    code="PRF010",
    name="host-device-copy-in-forward",
    severity="warning",
    summary="Data is moved between CPU and GPU inside forward; the transfer is far slower than the computation.",
    why="The bus between CPU and GPU moves a hundredth of what the GPU's own memory does, and "
    "`.cpu()` waits for everything before it. Results belong where the inputs are.",
    bad=_BAD,
    good=_BAD.replace("cuda()).cpu(", "contiguous().to(torch.float32)"),
    guards="`.cuda()` costs nothing for a tensor that is already there: a note. A change of dtype is no copy between devices.",
    fix="Deletes the call.",
    check=check,
)

"""MEM015: a Triton kernel is given a view, and reads it as if its elements lay next to each other."""

import ast
from collections.abc import Iterator

from grader.records import Context, Finding
from grader.records.observed import wrong_results
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.triton import Launch, launches
from grader.source.code_edits import fix, replace

VIEWS = frozenset(
    {
        "t",
        "transpose",
        "permute",
        "movedim",
        "moveaxis",
        "swapaxes",
        "expand",
        "expand_as",
        "mT",
        "T",
        "unfold",
    }
)


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for views that reach a launch which isn't given their strides."""
    wrong = wrong_results(context)
    for launch in launches(source):
        for value, made in _views(launch):
            if not _strides_given(source, launch, value):
                yield RULE.finding(
                    source.place(made),
                    f"`{source.text(made)}` is a view: its elements don't lie in the order of its shape, and "
                    f"`{launch.kernel.name}` is not given its strides",
                    severity="error" if wrong else "warning",
                    fixes=fix(
                        "copy it in order",
                        [replace(source, made, f"{_grouped(source, made)}.contiguous()")],
                    ),
                    kernels=(launch.kernel.name,),
                )


def _views(launch: Launch) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the arguments that are views, and where these are made."""
    assigned: dict[str, list[ast.expr]] = {}
    for node in ast.walk(launch.host) if launch.host else ():
        if isinstance(node, ast.Assign) and node.lineno < launch.call.lineno:
            for target in node.targets:
                if isinstance(target, ast.Name):
                    assigned.setdefault(target.id, []).append(node.value)
    for value in launch.arguments.values():
        if _is_view(value):
            yield value, value
        elif (
            isinstance(value, ast.Name)
            and assigned.get(value.id)
            and _is_view(assigned[value.id][-1])
        ):
            yield value, assigned[value.id][-1]


def _is_view(value: ast.expr) -> bool:
    called = value.func if isinstance(value, ast.Call) else value
    return isinstance(called, ast.Attribute) and called.attr in VIEWS


def _strides_given(source: Source, launch: Launch, value: ast.expr) -> bool:
    name = source.text(value)
    return any(
        isinstance(part, ast.Attribute)
        and part.attr == "stride"
        and source.text(part.value) == name
        for node in (*launch.call.args, *launch.call.keywords)
        for part in ast.walk(node)
    )


def _grouped(source: Source, made: ast.expr) -> str:
    text = source.text(made)
    return text if "\n" not in text else f"({text})"


_CODE = """
import torch
import triton
import triton.language as tl

@triton.jit
def row_sum_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    tl.store(y_ptr + row, tl.sum(x, axis=0))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        columns = x.transpose(0, 1)
        y = torch.empty(columns.shape[0], device=x.device)
        n = columns.shape[1]
        row_sum_kernel[(columns.shape[0],)](columns, y, n, BLOCK=triton.next_power_of_2(n))
        return y
"""
RULE = Rule(
    code="MEM015",
    name="view-taken-for-contiguous",
    severity="warning",
    summary="A Triton kernel reads a view as if its elements lay next to each other.",
    why="`transpose`, `permute`, `expand` and their like change strides, not memory. A kernel that multiplies rows by a "
    "length reads the elements in memory's order, not in the view's. Pass the strides, or call `contiguous()`.",
    bad=_CODE,
    good=_CODE.replace("x.transpose(0, 1)", "x.transpose(0, 1).contiguous()"),
    guards="Launches that are given a stride of the view. Without a wrong result it is a warning.",
    fix="Calls `contiguous()`.",
    check=check,
    predicts="wrong-values",
    languages=("triton",),
)

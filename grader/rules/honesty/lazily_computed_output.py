"""CHT010: the output is an object that computes when it is looked at."""

import ast
from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.python_code import python_code

TENSORS = {"torch.Tensor", "torch.nn.Parameter", "torch.FloatTensor"}
HOOKS = {"__torch_function__", "__torch_dispatch__", "__array__", "__eq__", "allclose", "__sub__"}
MAKERS = {"torch.Tensor._make_subclass", "torch.Tensor._make_wrapper_subclass",
          "torch.Tensor.as_subclass"}  # fmt: skip
MODES = ("torch.overrides.TorchFunctionMode", "torch.utils._python_dispatch.TorchDispatchMode")


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for subclasses of Tensor, and for modes that intercept torch's functions."""
    code = python_code(source)
    if code is None:
        return
    for name, node in code.classes.items():
        bases = {code.canonical(base) for base in node.bases}
        methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        if bases & TENSORS:
            yield _finding(source, node, name, methods & HOOKS)
        elif bases & set(MODES):
            yield RULE.finding(
                source.line_place(node.lineno),
                f"{name} intercepts every torch function that runs while it is active, the grader's comparison included",
                severity="warning",
            )
    for name, call in code.calls:
        if name in MAKERS or (name.endswith(".as_subclass") and code.runs_in_forward(call)):
            yield RULE.finding(
                source.place(call),
                "forward returns a tensor of another class, whose operations the file defines",
                severity="warning",
            )
            return


def _finding(source: Source, node: ast.ClassDef, name: str, hooks: set[str]) -> Finding:
    does = f" and overrides {', '.join(sorted(hooks))}" if hooks else ""
    return RULE.finding(
        source.line_place(node.lineno),
        f"{name} derives from Tensor{does}: its values can be computed when a grader compares them, outside of the measured time",
        severity="warning",
    )


_BAD = """
import torch
class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*args)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.as_subclass(Lazy)
"""
RULE = Rule(
    code="CHT010",
    name="lazily-computed-output",
    severity="warning",
    summary="The output is a Tensor subclass that can compute when it is compared, outside of the measured time.",
    why="A timer stops when forward returns. An object that does the work on its first use makes the kernel look free.",
    bad=_BAD,
    good=_BAD.replace("torch.Tensor", "object").replace("x.as_subclass(Lazy)", "x"),
    guards="autograd functions and modules are no tensors. A class is a warning and no more: what comes back is read as "
    "plain memory, so that a result which is yet to be computed is wrong.",
    check=check,
)

"""Pooling and convolution: results that see a window of the input."""

from __future__ import annotations

import ast
import re
import textwrap

from grader.records import Task
from grader.repair.families.family import Family, Text

POOL_BODY = """\

def forward(self, x: torch.Tensor) -> torch.Tensor:
    pool = self.pool

    def sizes(value):
        return list(value) if isinstance(value, (tuple, list)) else [value] * DIMS

    return EXTENSION.FUNCTION(
        x, sizes(pool.kernel_size), sizes(pool.stride), sizes(pool.padding),
        sizes(getattr(pool, "dilation", 1)), pool.ceil_mode,
    )
"""
CONV_BODY = """\

@staticmethod
def convolve(conv: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(
        x, conv.weight, conv.bias, conv.stride, conv.padding, conv.dilation, conv.output_padding, conv.groups
    )

def forward(self, x: torch.Tensor) -> torch.Tensor:
    return RESULT
"""
_CALL = re.compile(r"\bself\.(\w+)\(")


POOL_IDEA = "One thread for each result looks at all cells of its window; neighbours share them in the cache."
CONV_IDEA = "Direct convolution: one thread for each result sums the products of its window and the weights."


def _pool(task: Task) -> Text | None:
    init = reference_init(task.reference)
    if init is None:
        return None
    dims, op = int(str(task.parameters.get("dims", 2))), task.parameters.get("op", "max")
    body = init + POOL_BODY.replace("DIMS", str(dims))
    return Text("pool", POOL_IDEA, body, {"op": op, "dims": dims})


def _conv(task: Task) -> Text | None:
    init = reference_init(task.reference)
    result = _returned_call(task.reference)
    if init is None or result is None:
        return None
    result = _CALL.sub(r"self.convolve(self.\1, ", result)
    body = init + CONV_BODY.replace("RESULT", result)
    transposed, dims = bool(task.parameters.get("transposed")), task.parameters.get("dims", 2)
    return Text("conv", CONV_IDEA, body, {"transposed": transposed, "dims": int(str(dims))})


def reference_init(reference: str) -> str | None:
    """Return the text of the reference's constructor: parameters keep their names that way."""
    method = _method(reference, "__init__")
    return textwrap.dedent(ast.unparse(method)) + "\n" if method else None


def _returned_call(reference: str) -> str | None:
    method = _method(reference, "forward")
    last = method.body[-1] if method else None
    return ast.unparse(last.value) if isinstance(last, ast.Return) and last.value else None


def _method(reference: str, name: str) -> ast.FunctionDef | None:
    for node in ast.walk(ast.parse(reference)):
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name == name:
                    return item
    return None


FAMILIES = (Family("pool", _pool), Family("conv", _conv))

"""Pooling and convolution: results that see a window of the input."""

from __future__ import annotations

import ast
import re
import textwrap

from grader.records import Task
from grader.repair.families.family import Draft, Family

POOL_IDEA = (
    "Windows of neighbours overlap. Threads that are neighbours ask for the same lines at the same time, so that\n"
    "the L1 cache serves what they share; a thread makes several results of a line, and walks along another axis\n"
    "to join each line once for all windows that see it. The sizes of the usual windows are known to the\n"
    "compiler, which unrolls them; other windows have one thread for each result."
)
ROW_POOL_IDEA = (
    "Windows of neighbours overlap: a warp copies what its windows see into shared memory once, and makes its\n"
    "results from there, so many that it writes whole lines. The sizes of the usual windows are known to the\n"
    "compiler, which unrolls them; other windows have one thread for each result."
)
CONV_IDEA = (
    "Direct convolution: each thread keeps eight output channels of one position in registers, so that every\n"
    "input value is used eight times, and all lanes of a warp read the same weights."
)
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
MOST_CELLS = 16
"""Along an axis, of a window that is unrolled."""
MOST_REACH = {1: 32, 2: 8, 3: 8}
"""By rank: from a window's first cell to its last one along an axis, where a thread keeps all of it in registers."""
_CALL = re.compile(r"\bself\.(\w+)\(")


PLAIN_POOL_IDEA = "One thread for each result looks at all cells of its window; neighbours share them in the cache."
PLAIN_CONV_IDEA = "Direct convolution: one thread for each result sums the products of its window and the weights."


def _pool(task: Task) -> Draft | None:
    init = reference_init(task.reference)
    if init is None:
        return None
    dims, op = int(str(task.parameters.get("dims", 2))), task.parameters.get("op", "max")
    body = init + POOL_BODY.replace("DIMS", str(dims))
    idea = ROW_POOL_IDEA if dims == 1 else POOL_IDEA
    values, plain = {"op": op, "fixed": _fixed_windows(task)}, {"op": op, "dims": dims}
    return Draft.both("pool", (idea, PLAIN_POOL_IDEA), body, values, plain_values=plain)


Kind = tuple[int, int, int, int, int]
"""Of windows: rank, cells along an axis, stride, dilation, and padding before a row."""


def _fixed_windows(task: Task) -> tuple[Kind, ...]:
    """Return the windows of the task's own sizes that overlap; see `overlapping`."""
    method = _method(task.reference, "__init__")
    names = [argument.arg for argument in method.args.args[1:]] if method else []
    rank = int(str(task.parameters.get("dims", 2)))
    found: dict[Kind, None] = {}
    for workload in task.workloads:
        given = dict(zip(names, workload.init, strict=False))
        kernel = given.get("kernel_size")
        stride = given.get("stride") or kernel
        sizes = kernel, stride, given.get("dilation", 1)
        found |= dict.fromkeys(overlapping_windows(rank, *sizes, given.get("padding", 0)))
    return tuple(found)


def overlapping_windows(
    rank: int, kernel: object, stride: object, dilation: object, padding: object
) -> tuple[Kind, ...]:
    """Return the kind of windows that overlap and are alike along all axes; none for others.

    Windows that share no cells gain nothing from it.
    """
    sizes = []
    for value in (kernel, stride, dilation, padding):
        each = set(value) if isinstance(value, list | tuple) else {value}
        size = each.pop()
        if each or not isinstance(size, int):
            return ()
        sizes.append(size)
    wide, step, apart, before = sizes
    reach = (wide - 1) * apart + 1
    fits = 1 < wide <= MOST_CELLS and reach <= MOST_REACH[rank]
    return ((rank, wide, step, apart, before),) if fits and step < reach else ()


def _conv(task: Task) -> Draft | None:
    init = reference_init(task.reference)
    result = _returned_call(task.reference)
    if init is None or result is None:
        return None
    result = _CALL.sub(r"self.convolve(self.\1, ", result)
    body = init + CONV_BODY.replace("RESULT", result)
    values: dict[str, object] = {"transposed": bool(task.parameters.get("transposed"))}
    plain = values | {"dims": int(str(task.parameters.get("dims", 2)))}
    return Draft.both("conv", (CONV_IDEA, PLAIN_CONV_IDEA), body, values, plain_values=plain)


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

"""Uninitialised tensors that host code of Triton kernels makes, and the launches that get them."""

import ast
from collections.abc import Iterator

from grader.source import Source
from grader.source.analysis.triton import Kernel, Launch, launches

ALLOCATIONS = frozenset({"torch.empty", "torch.empty_like", "torch.empty_strided"})


def allocation(source: Source) -> tuple[ast.expr, Launch | None] | None:
    """Return the allocation of the last uninitialised tensor, and the launch that gets it."""
    for launch in reversed(launches(source)):
        names = {
            value.id
            for name, value in launch.arguments.items()
            if isinstance(value, ast.Name) and name in _written_pointers(launch.kernel)
        }
        for made_as, value in allocated_tensors(launch.host, source):
            if made_as in names:
                return value, launch
    hosts = (None, *source.walk(ast.FunctionDef))
    made = [value for host in hosts if host for _, value in allocated_tensors(host, source)]
    return (made[-1], None) if made else None


def _written_pointers(kernel: Kernel) -> set[str]:
    return {kernel.parameter_of(one) for one in kernel.accesses if one.kind != "load"}


def allocated_tensors(
    host: ast.FunctionDef | None, source: Source
) -> Iterator[tuple[str, ast.Call]]:
    """Yield the names of uninitialised tensors that a function makes, with their calls."""
    for node in ast.walk(host) if host else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = source.module.canonical(node.value.func)
            target = node.targets[0]
            made = name in ALLOCATIONS or name.rpartition(".")[2] == "new_empty"
            if made and isinstance(target, ast.Name):
                yield target.id, node.value

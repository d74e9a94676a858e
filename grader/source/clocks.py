"""Code that measures time."""

import ast

from grader.source import nodes_under
from grader.source.python_code import PythonCode

CLOCKS = {f"time.{name}{unit}" for name in ("time", "perf_counter", "monotonic", "process_time") for unit in ("", "_ns")}  # fmt: skip


def reads_a_clock(code: PythonCode, node: ast.AST) -> bool:
    """Whether an expression reads a clock, or the time between CUDA events."""
    if not isinstance(node, ast.Call):
        return False
    between = isinstance(node.func, ast.Attribute) and node.func.attr == "elapsed_time"
    return between or code.canonical(node.func) in CLOCKS


def measures_time(code: PythonCode, node: ast.AST) -> bool:
    """Whether the function around a node measures time."""
    function = code.function_of(node)
    inner = nodes_under(function) if function is not None else ()
    return any(reads_a_clock(code, one) for one in inner)

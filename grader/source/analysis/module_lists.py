"""EXT004's look at lists of modules: what is put into one must be a module, and a pair of parameters is none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Fix
from grader.source import dotted
from grader.source.code_edits import fix, replace

if TYPE_CHECKING:
    from grader.source import Source
    from grader.source.python_code import PythonCode


def pairs_in_module_lists(
    source: Source, code: PythonCode
) -> Iterator[tuple[ast.expr, str, tuple[Fix, ...]]]:
    """Yield each tuple or list that is appended to an `nn.ModuleList`, the list, and the fix of all of them.

    An `nn.ParameterList` holds parameters, is a module, and can be taken apart like a tuple.
    """
    lists = {
        dotted(target)
        for assign in code.of(ast.Assign)
        if isinstance(assign.value, ast.Call)
        and code.canonical(assign.value.func) == "torch.nn.ModuleList"
        for target in assign.targets
    }
    found = [
        (given, owner)
        for call in code.of(ast.Call)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "append"
        and (owner := dotted(call.func.value)) in lists
        and len(call.args) == 1
        and isinstance(given := call.args[0], ast.Tuple | ast.List)
    ]
    edits = [
        replace(source, pair, f"nn.ParameterList({_listed(source, pair)})") for pair, _ in found
    ]
    for pair, owner in found:
        yield pair, owner, fix("keep the parameters in an nn.ParameterList", edits)


def _listed(source: Source, pair: ast.Tuple | ast.List) -> str:
    return f"[{', '.join(source.text(one) for one in pair.elts)}]"


__all__ = ["pairs_in_module_lists"]

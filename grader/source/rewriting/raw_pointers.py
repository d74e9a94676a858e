"""Functions that Python can call in no useful way: raw pointers for tensors, and no result where one is used."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from grader.records import Edit
from grader.source.code_edits import fix, replace, replace_node
from grader.source.rewriting.launch_arguments import data_of

if TYPE_CHECKING:
    from grader.records import Fix
    from grader.source import Function, Parameter, Source
    from grader.source.python_code import PythonCode

ELEMENTS = ("float", "double", "int", "int64_t", "long", "bool", "half", "__half")


def raw_pointers(function: Function) -> list[Parameter]:
    """Return a host function's parameters that are pointers to numbers, which pybind11 makes of no tensor."""
    if function.runs != "host":
        return []
    return [one for one in function.parameters if one.is_pointer and _element(one) in ELEMENTS]


def _element(parameter: Parameter) -> str:
    return parameter.type.replace("const", "").replace("__restrict__", "").rstrip("* &").strip()


def take_tensors(source: Source, name: str) -> tuple[Fix, ...]:
    """Take tensors in the place of a function's raw pointers, wherever it is declared or defined."""
    edits: list[Edit | None] = []
    for unit in source.units:
        for function in (*unit.functions, *unit.declarations):
            pointers = raw_pointers(function) if function.name == name else []
            for one in pointers:
                edits.append(replace_node(unit, one.node, f"torch::Tensor {_tensor(one)}"))
            if function.body is not None and pointers:
                lines = (f"\n    auto {p.name} = {data_of(p, _tensor(p))};" for p in pointers)
                at = function.body.start_byte + 1
                edits.append(unit.edit(at, at, "".join(lines)))
    return fix("take tensors in the place of raw pointers", edits)


def _tensor(parameter: Parameter) -> str:
    return f"{parameter.name}_tensor" if parameter.name else "tensor"


def used_result(code: PythonCode, call: ast.Call) -> bool:
    """Whether something is done with what a call returns."""
    return not isinstance(code.parents.get(call), ast.Expr)


def keep_the_output(source: Source, code: PythonCode, call: ast.Call) -> tuple[Fix, ...]:
    """Call for its effect alone what writes into a tensor that it is handed: `y = f(x, y)` is `f(x, y)`."""
    match code.parents.get(call):
        case ast.Assign(targets=[ast.Name(id=name)]) as statement if any(
            isinstance(one, ast.Name) and one.id == name for one in call.args
        ):
            return fix(
                f"keep {name}, which it writes into",
                [replace(source, statement, source.text(call))],
            )
    return ()

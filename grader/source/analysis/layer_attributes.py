"""What the attributes of a layer hold by the way in which it was made: None, or a tuple."""

import ast
import re

from grader.source import dotted_name
from grader.source.python_code import PythonCode


def absent(code: PythonCode, node: ast.expr) -> bool:
    """Whether the constructor may leave an attribute of self without a tensor: a bias, mostly."""
    spelled = dotted_name(node)
    if not isinstance(node, ast.Attribute) or not spelled:
        return False
    registered = any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr in {"register_parameter", "register_buffer"}
        and [one.value for one in call.args if isinstance(one, ast.Constant)] == [node.attr, None]
        for call in code.of(ast.Call)
    )
    return (
        registered
        or _made_without(code, node)
        or any(
            isinstance(assign.value, ast.Constant)
            and assign.value.value is None
            and any(dotted_name(target) == spelled for target in assign.targets)
            for assign in code.of(ast.Assign)
        )
    )


def _made_without(code: PythonCode, node: ast.Attribute) -> bool:
    """Whether an attribute of a layer is the bias that it was made without."""
    spelled = dotted_name(node.value)
    return node.attr == "bias" and any(
        isinstance(assign.value, ast.Call)
        and any(
            word.arg == "bias"
            and isinstance(word.value, ast.Constant)
            and word.value.value is False
            for word in assign.value.keywords
        )
        for assign in code.of(ast.Assign)
        if any(dotted_name(target) == spelled for target in assign.targets if spelled)
    )


def keeps_tuples(code: PythonCode, node: ast.AST) -> bool:
    """Whether an attribute of self holds one of torch's layers whose settings are tuples."""
    spelled = dotted_name(node)
    return any(
        isinstance(assign.value, ast.Call)
        and code.canonical(assign.value.func).startswith("torch.nn.")
        and re.search(r"Conv|LayerNorm", code.canonical(assign.value.func))
        for assign in code.of(ast.Assign)
        if any(dotted_name(target) == spelled for target in assign.targets if spelled)
    )

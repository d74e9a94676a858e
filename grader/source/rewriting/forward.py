"""Edits of `forward` around a right kernel: what is handed to it, and what is done with what it gives back."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from grader.records import Edit, Fix
from grader.source import nodes_under
from grader.source.code_edits import fix

if TYPE_CHECKING:
    from grader.source import Source
    from grader.source.python_code import PythonCode

DTYPES = {
    "Float": "torch.float32",
    "Double": "torch.float64",
    "Half": "torch.float16",
    "BFloat16": "torch.bfloat16",
    "Long": "torch.int64",
    "Int": "torch.int32",
    "Short": "torch.int16",
    "Char": "torch.int8",
    "Byte": "torch.uint8",
    "Bool": "torch.bool",
}
"""torch's dtypes by the names of C++'s scalar types."""
FLOATING = {"Float", "Double", "Half", "BFloat16"}


def after_results(source: Source, code: PythonCode, suffix: str) -> list[Edit | None]:
    """Return the edits that put a method call after what `forward` returns."""
    forward = code.method("forward")
    edits: list[Edit | None] = []
    for node in nodes_under(forward) if forward is not None else ():
        if not isinstance(node, ast.Return) or code.function_of(node) is not forward:
            continue
        if node.value is None or isinstance(node.value, ast.Tuple | ast.List):
            return []
        start, end = source.span(node.value)
        plain = isinstance(node.value, ast.Name | ast.Call | ast.Attribute | ast.Subscript)
        edits += [] if plain else [Edit(start=start, end=start, text="(")]
        edits.append(Edit(start=end, end=end, text=suffix if plain else f"){suffix}"))
    return edits


def at_the_start(source: Source, code: PythonCode, lines: Sequence[str]) -> Edit | None:
    """Return the edit that puts statements at the beginning of `forward`; `{}` stands for its indentation."""
    forward = code.method("forward")
    if forward is None or not lines:
        return None
    first = forward.body[0]
    has_words = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    first = forward.body[1] if has_words and len(forward.body) > 1 else first
    at, _ = source.span(first)
    indent = " " * first.col_offset
    text = "".join(f"{line}\n{indent}" for line in lines)
    return Edit(start=at, end=at, text=text.replace("{}", indent))


def dimension_last(source: Source, code: PythonCode) -> Iterator[Fix]:
    """WorkerProcess a function that only works along the last dimension a tensor whose dimension is the last.

    The result may lack the dimension, keep it with one entry, or have it as it was.
    """
    forward = code.method("forward")
    for call in nodes_under(forward) if forward is not None else ():
        if (
            not isinstance(call, ast.Call)
            or not call.args
            or not isinstance(call.args[0], ast.Name)
        ):
            continue
        told = [
            one for one in call.args[1:] if ast.unparse(one) in {"self.dim", "self.axis", "dim"}
        ]
        if len(told) != 1:
            continue
        tensor, dim = call.args[0].id, ast.unparse(told[0])
        (a, b), (c, d), end = source.span(call.args[0]), source.span(told[0]), source.span(call)[1]
        edits = [
            Edit(start=a, end=b, text=f"{tensor}.movedim({dim}, -1).contiguous()"),
            Edit(start=c, end=d, text=f"{tensor}.dim() - 1"),
        ]
        for suffix in ("", f".unsqueeze({dim})", f".movedim(-1, {dim})"):
            after = [Edit(start=end, end=end, text=suffix)] if suffix else []
            yield from fix(
                f"hand it the dimension as the last one{suffix and ', ' + suffix}", [*edits, *after]
            )


def inputs_as(source: Source, code: PythonCode, wanted: str, made: str) -> tuple[Fix, ...]:
    """Return the fix that hands the kernel its inputs in the type that it takes, and the result back in theirs.

    `wanted` and `made` are names of C++'s scalar types, as `Float` and `Half`.
    """
    forward = code.method("forward")
    if forward is None or wanted not in DTYPES or made not in DTYPES:
        return ()
    lines = [
        f"if {one.arg}.dtype == {DTYPES[made]}:\n{{}}    {one.arg} = {one.arg}.to({DTYPES[wanted]})"
        for one in forward.args.args[1:]
    ]
    edits = [at_the_start(source, code, lines)]
    if {wanted, made} <= FLOATING:
        edits += after_results(source, code, f".to({DTYPES[made]})")
    return fix(f"hand the kernel {DTYPES[wanted]}, as it expects", edits)

"""Fixes around a right kernel: what `forward` hands to it, and the form of what it hands back."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from grader.records import (
    ContainerMismatch,
    CountMismatch,
    Details,
    DtypeMismatch,
    Edit,
    Fix,
    ShapeMismatch,
)
from grader.rules.whole_counts import whole_counts
from grader.source import nodes_under
from grader.source.code_edits import fix

if TYPE_CHECKING:
    from grader.source import Source
    from grader.source.python_code import PythonCode

Shape = tuple[int, ...]
Change = Callable[[np.ndarray], np.ndarray]
MOST_DIMS = 8
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


def result_in_form(
    source: Source, code: PythonCode, seen: Sequence[Details | None]
) -> Iterator[Fix]:
    """Yield the changes of `forward`'s result that make the shape or dtype which the runs asked for.

    `seen` are the mismatches, one for each workload; a change must fit all of them.
    """
    pairs = [(one.got, one.want) for one in seen if isinstance(one, ShapeMismatch)]
    dtypes = {one.want for one in seen if isinstance(one, DtypeMismatch)}
    if pairs and len(pairs) == len(seen):
        for suffix in suffixes(pairs):
            yield from _with_suffix(source, code, suffix)
        if {len(shape) for pair in pairs for shape in pair} == {2}:
            yield from _transposed(source, code)
    elif seen and all(isinstance(one, CountMismatch) and not one.got for one in seen):
        yield from _last_returned(source, code)
    elif seen and all(map(_one_is_wanted, seen)):
        yield from _one_of_results(source, code)
    elif len(dtypes) == 1 and f"torch.{min(dtypes)}" in DTYPES.values():
        yield from _with_suffix(source, code, f".to(torch.{min(dtypes)})")


def _one_is_wanted(seen: Details | None) -> bool:
    """Whether one tensor is asked for where several came back, or a container of them."""
    if isinstance(seen, CountMismatch):
        return seen.want == 1
    if isinstance(seen, ContainerMismatch):
        return seen.got in {"tuple", "list"} and seen.want == "tensor"
    return False


def _last_returned(source: Source, code: PythonCode) -> Iterator[Fix]:
    """Return what `forward` makes last."""
    forward = code.method("forward")
    last = forward.body[-1] if forward is not None else None
    if isinstance(last, ast.Expr):
        start = source.span(last)[0]
        yield from fix("return it", [Edit(start=start, end=start, text="return ")])
    elif isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
        end = source.span(last)[1]
        words = f"\n{' ' * last.col_offset}return {last.targets[0].id}"
        yield from fix(f"return {last.targets[0].id}", [Edit(start=end, end=end, text=words)])


def _one_of_results(source: Source, code: PythonCode) -> Iterator[Fix]:
    """Return one of several results: each that `return` names, else the first of what a call gives."""
    forward = code.method("forward")
    values = [
        node.value
        for node in (nodes_under(forward) if forward is not None else ())
        if isinstance(node, ast.Return) and node.value and code.function_of(node) is forward
    ]
    for value in values[-1:]:
        start, end = source.span(value)
        if not isinstance(value, ast.Tuple | ast.List):
            yield from fix(
                "return the first of the results", [Edit(start=end, end=end, text="[0]")]
            )
            continue
        for each in value.elts:
            words = source.text(each)
            yield from fix(f"return {words} alone", [Edit(start=start, end=end, text=words)])


def suffixes(pairs: Sequence[tuple[Shape, Shape]]) -> list[str]:
    """Return the method calls that turn each first shape into its second, the plainest first."""
    got, want = pairs[0]
    if len(got) > MOST_DIMS or len(want) > MOST_DIMS:
        return []
    more = len(want) - len(got)
    for made in (_reshapes(got, more), _merges(got, more)):
        fitting = [suffix for suffix, change in made if all(_turns(change, g, w) for g, w in pairs)]
        if fitting:
            return fitting
    return []


def _reshapes(got: Shape, more: int) -> Iterator[tuple[str, Change]]:
    """Yield the calls that may give a shape some more dimensions (fewer where negative), with numpy's like."""
    dims = range(len(got))
    if more == 1:
        for k in (-1, *range(len(got))):
            yield f".unsqueeze({k})", partial(np.expand_dims, axis=k)
    if more > 1:
        yield f"[{', '.join(['...', *['None'] * more])}]", partial(_with_ones, more=more)
    ones = [k for k in dims if got[k] == 1]
    for chosen in combinations(reversed(ones), -more) if more < 0 else ():
        words = str(chosen[0]) if more == -1 else str(tuple(sorted(chosen)))
        yield f".squeeze({words})", partial(np.squeeze, axis=chosen)
    for i, j in combinations(dims, 2) if more == 0 else ():
        yield f".transpose({i}, {j}).contiguous()", partial(np.swapaxes, axis1=i, axis2=j)


def _merges(got: Shape, more: int) -> Iterator[tuple[str, Change]]:
    """Yield the calls that make one dimension of neighbouring ones."""
    for k in range(len(got) + more) if more < 0 else ():
        last = k - more
        yield f".flatten({k}, {last})", partial(_flattened, first=k, last=last)


def _with_ones(array: np.ndarray, *, more: int) -> np.ndarray:
    return array.reshape((*array.shape, *[1] * more))


def _flattened(array: np.ndarray, *, first: int, last: int) -> np.ndarray:
    return array.reshape((*array.shape[:first], -1, *array.shape[last + 1 :]))


def _turns(change: Change, got: Shape, want: Shape) -> bool:
    try:
        return change(np.broadcast_to(np.int8(0), got)).shape == want
    except ValueError:
        return False


def _with_suffix(source: Source, code: PythonCode, suffix: str) -> tuple[Fix, ...]:
    return fix(f"return the result{suffix}", _after_results(source, code, suffix))


def _after_results(source: Source, code: PythonCode, suffix: str) -> list[Edit | None]:
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


def _transposed(source: Source, code: PythonCode) -> Iterator[Fix]:
    """WorkerProcess the kernel matrices the other way round: both, the first, the second."""
    forward = code.method("forward")
    names = [one.arg for one in forward.args.args[1:]] if forward is not None else []
    for chosen in (names, *([name] for name in names)) if len(names) == 2 else ():
        lines = [f"{name} = {name}.t().contiguous()" for name in chosen]
        edit = _at_the_start(source, code, lines)
        yield from fix(f"hand the kernel {' and '.join(chosen)} transposed", [edit])


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


def inputs_broadcast(source: Source, code: PythonCode, shapes: Sequence[Shape]) -> tuple[Fix, ...]:
    """Return the fix that hands the kernel inputs of one shape, where theirs differ and broadcast to it."""
    forward = code.method("forward")
    names = [one.arg for one in forward.args.args[1:]] if forward is not None else []
    if len(names) != len(shapes) or len(set(shapes)) < 2:
        return ()
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return ()
    listed = ", ".join(names)
    line = f"{listed} = (t.contiguous() for t in torch.broadcast_tensors({listed}))"
    edit = _at_the_start(source, code, [line])
    counts = whole_counts(source)
    return (
        *fix("broadcast the inputs to one shape first", [edit]),
        *(
            fix("broadcast the inputs to one shape, and count them all", [edit, *counts])
            if counts
            else ()
        ),
    )


def _at_the_start(source: Source, code: PythonCode, lines: Sequence[str]) -> Edit | None:
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
    edits = [_at_the_start(source, code, lines)]
    if {wanted, made} <= FLOATING:
        edits += _after_results(source, code, f".to({DTYPES[made]})")
    return fix(f"hand the kernel {DTYPES[wanted]}, as it expects", edits)


__all__ = ["dimension_last", "inputs_as", "inputs_broadcast", "result_in_form", "suffixes"]

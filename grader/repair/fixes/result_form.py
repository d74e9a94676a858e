"""Fixes of results in a wrong form: shape, dtype, or number."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from grader.records import (  # fmt: skip
    Context,
    CountMismatch,
    Details,
    DtypeMismatch,
    Edit,
    Finding,
    Fix,
    ShapeMismatch,
)
from grader.repair.fixes.maker import FixMaker
from grader.source import Source, nodes_under
from grader.source.analysis.returned_tensor import allocation_of_result, length_written
from grader.source.code_edits import add_argument, fix, replace
from grader.source.python_code import PythonCode

Shape = tuple[int, ...]
MOST_DIMS = 8
DTYPES = re.compile(r"b?float(?:16|32|64)|u?int(?:8|16|32|64)|bool")


def propose(finding: Finding, source: Source, _context: Context) -> Iterator[Fix]:
    """Yield the changes of the result that fix the mismatches seen in runs."""
    if finding.cause == "form":
        yield from result_in_form(
            source, source.module, [item.details for item in finding.evidence]
        )


def result_in_form(
    source: Source, code: PythonCode, seen: Sequence[Details | None]
) -> Iterator[Fix]:
    """Yield the changes of `forward`'s result that make the shape or dtype which the runs asked for.

    `seen` are the mismatches, one for each workload; a change must fit all of them.
    """
    pairs = [(one.got, one.want) for one in seen if isinstance(one, ShapeMismatch)]
    dtypes = {one.want for one in seen if isinstance(one, DtypeMismatch)}
    if pairs and len(pairs) == len(seen):
        yield from _with_length(source, code, pairs)
        for suffix in (*_by_settings(code, pairs), *(suffixes(pairs) or suffixes(pairs[:1]))):
            yield from _with_suffix(source, code, suffix)
    elif seen and all(isinstance(one, CountMismatch) and not one.got for one in seen):
        yield from _last_returned(source, code)
    elif len(dtypes) == 1 and DTYPES.fullmatch(min(dtypes)):
        yield from _made_with(source, code, f"torch.{min(dtypes)}")
        yield from _with_suffix(source, code, f".to(torch.{min(dtypes)})")


def _made_with(source: Source, code: PythonCode, dtype: str) -> tuple[Fix, ...]:
    """Make the result with another dtype where it is allocated."""
    made = allocation_of_result(code)
    if made is None:
        return ()
    given = next((word.value for word in made.keywords if word.arg == "dtype"), None)
    edit = replace(source, given, dtype) if given is not None else add_argument(source, made, f"dtype={dtype}")  # fmt: skip
    return fix(f"make the result with dtype={dtype}", [edit])


def _with_length(
    source: Source, code: PythonCode, pairs: Sequence[tuple[Shape, Shape]]
) -> Iterator[Fix]:
    """Yield the only wrong length plus or minus one."""
    made = allocation_of_result(code)
    off = {axis: {w - g for g, w in zip(*column, strict=True)} for axis, column in _columns(pairs)}
    apart = [axis for axis, by in off.items() if by != {0}]
    length = length_written(code, made, apart[0], len(off)) if made and len(apart) == 1 else None
    if length is not None:
        for words in _one_off(source, length, off[apart[0]]):
            edits = [replace(source, length, words)]
            yield from fix(f"make dim {apart[0]} of the result `{words}` long", edits)


def _one_off(source: Source, length: ast.expr, off: set[int]) -> Iterator[str]:
    if off in ({1}, {-1}):
        yield f"{source.text(length)} {'+' if off == {1} else '-'} 1"


def _columns(pairs: Sequence[tuple[Shape, Shape]]) -> Iterator[tuple[int, tuple[Shape, Shape]]]:
    """Yield each axis with its present and its right lengths in all workloads."""
    if len({len(shape) for pair in pairs for shape in pair}) == 1:
        for axis in range(len(pairs[0][0])):
            yield axis, (tuple(g[axis] for g, _ in pairs), tuple(w[axis] for _, w in pairs))


def _last_returned(source: Source, code: PythonCode) -> Iterator[Fix]:
    """Return the last returned expression of `forward`."""
    forward = code.method("forward")
    last = forward.body[-1] if forward is not None else None
    if isinstance(last, ast.Expr):
        start = source.span(last)[0]
        yield from fix("return it", [Edit(start=start, end=start, text="return ")])
    elif isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
        end = source.span(last)[1]
        words = f"\n{' ' * last.col_offset}return {last.targets[0].id}"
        yield from fix(f"return {last.targets[0].id}", [Edit(start=end, end=end, text=words)])


def _by_settings(code: PythonCode, pairs: Sequence[tuple[Shape, Shape]]) -> Iterator[str]:
    """Yield `unsqueeze` by an axis that the layer keeps: `self.dim`, where a dim of size 1 is missing at several places."""
    init = code.method("__init__")
    if init is None or suffixes(pairs) or not all(suffixes([pair]) for pair in pairs):
        return
    names = [one.arg for one in init.args.args if one.arg in {"dim", "axis"}]
    if all(len(want) == len(got) + 1 for got, want in pairs):
        yield from (f".unsqueeze(self.{name})" for name in names)


def suffixes(pairs: Sequence[tuple[Shape, Shape]]) -> list[str]:
    """Return the method calls that turn each first shape into its second, the plainest first."""
    if max(map(len, pairs[0])) > MOST_DIMS:
        return []
    made = [_reshaping_calls(got, len(want) - len(got)) for got, want in pairs]
    wanted = [want for _, want in pairs]
    return [one for one in made[0] if [shapes.get(one) for shapes in made] == wanted]


def _reshaping_calls(got: Shape, more: int) -> dict[str, Shape]:
    """Return the calls that add dims to a shape (remove, where negative), each with the resulting shape."""
    dims, found = range(len(got)), {}
    for k in (-1, *dims) if more == 1 else ():
        found[f".unsqueeze({k})"] = (*got, 1) if k < 0 else (*got[:k], 1, *got[k:])
    if more > 1:
        found[f"[{', '.join(['...', *['None'] * more])}]"] = (*got, *[1] * more)
    ones = [k for k in dims if got[k] == 1]
    for chosen in combinations(reversed(ones), -more) if more < 0 else ():
        words = str(chosen[0]) if more == -1 else str(tuple(sorted(chosen)))
        found[f".squeeze({words})"] = tuple(got[k] for k in dims if k not in chosen)
    for i, j in combinations(dims, 2) if more == 0 else ():
        order = {i: j, j: i}
        found[f".transpose({i}, {j}).contiguous()"] = tuple(got[order.get(k, k)] for k in dims)
    return found


def _with_suffix(source: Source, code: PythonCode, suffix: str) -> tuple[Fix, ...]:
    return fix(f"return the result with `{suffix}`", _after_results(source, code, suffix))


def _after_results(source: Source, code: PythonCode, suffix: str) -> list[Edit | None]:
    """Return the edits that append a method call to `forward`'s results."""
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


FIX = FixMaker(codes=("EXT005",), propose=propose)

"""The place in a wrong element's slice where its value deviates from the reference."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence

from grader.records import Context, Evidence, Place, Slice
from grader.records.observed import slices, values_of
from grader.source import Source
from grader.source.analysis.causes_in_text import Cause
from grader.source.analysis.steering import spot_at
from grader.source.nodes import descendants, names_in, text

NEAR = 1e-3
"""Relative distance at which a number in the text equals the results' error."""


def on_the_way(source: Source, context: Context, first: Evidence) -> Cause | None:
    """Return the line whose constant equals the results' error, or the first line that deviates from the reference.

    None without a slice, or without intermediate values of the reference in it.
    """
    for item, slice_ in slices(context):
        for line, words in (
            *_off_by(source, first, slice_),
            *_scaling_lines(first, slice_),
            *_passed_by(slice_),
        ):
            return Cause(line_place(source, line), words)
        if item.place is None:
            continue
        line, before = item.place.line, [at for at in slice_.right if at != item.place.line]
        if not slice_.computed:
            words = f"what is stored is chosen by comparing, and line {line} compares first"
            return Cause(item.place, words)
        if slice_.by_torch and slice_.unfinished:
            made = torch_makes(source) or item.place
            words = f"line {line} stores what the reference comes by, and torch makes another result of it in line {made.line}"
            return Cause(made, words)
        if slice_.unfinished:
            return Cause(item.place, _say_unfinished(line, first))
        words = f"line {line} computes a wrong value"
        if before:
            several = len(before) > 1
            words += f" from {'right ones' if several else 'a right one'} (line{'s' * several} {_list_lines(before)})"
            words += _say_doubtful(source, item.place, slice_)
        elif slice_.whole:
            words += ", though it is given all the right elements"
        if slice_.right or slice_.whole:
            return Cause(item.place, words)
    return None


def _say_doubtful(source: Source, place: Place, slice_: Slice) -> str:
    """Return a clause on the only variable of a line that the run doesn't show to be right."""
    spot = spot_at(source, place)
    if spot is None:
        return ""
    used = names_in(spot.node)
    made = [(one, spot.unit.place(one.node).line) for one in spot.definitions if one.name in used]
    real = [(one, at) for one, at in made if one.declares and _REAL.search(text(one.node.parent))]
    right = {one.name for one, at in made if at in slice_.right}
    left = [(one.name, at) for one, at in real if at < place.line and one.name not in right]
    return f" and `{left[0][0]}` (line {left[0][1]})" if right and len(left) == 1 else ""


def torch_makes(source: Source) -> Place | None:
    """Return the last line that returns a result of torch: `return losses.mean();`, or forward's."""
    for unit in source.cuda:
        for node in reversed(unit.nodes("return_statement")):
            calls = descendants(node, "call_expression")
            called = {getattr(one.child_by_field_name("function"), "type", "") for one in calls}
            if "field_expression" in called:
                return unit.place(node)
    whole = ast.walk(source.module.tree)
    found = [n for f in whole if isinstance(f, ast.FunctionDef) for n in _computing_returns(f)]
    return source.place(max(found, key=lambda n: n.lineno)) if found else None


def _computing_returns(function: ast.FunctionDef) -> Iterator[ast.Return]:
    """Yield return statements of a sum, or of a method's result: `return losses.mean()`."""
    every = list(ast.walk(function))
    made = {n.id for n in every if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in every:
        value = node.value if isinstance(node, ast.Return) else None
        called = value.func if isinstance(value, ast.Call) else None
        owner = called.value if isinstance(called, ast.Attribute) else None
        if isinstance(node, ast.Return) and (
            isinstance(value, ast.BinOp) or (isinstance(owner, ast.Name) and owner.id in made)
        ):
            yield node


def _say_unfinished(line: int, first: Evidence) -> str:
    """Return a clause that an intermediate value of the reference is stored as the result, with the missing last step."""
    said = f"line {line} stores an intermediate value of the reference as the result"
    factor = values_of(first).factor if first.code == "constant-factor" else None
    if not factor or factor < 0:
        return f"{said}: a last step is missing, or the value belongs to another element"
    verb, by = ("divides", factor) if factor > 1 else ("multiplies", 1 / factor)
    return f"{said}: the last step is missing, which {verb} by {by:.6g}"


def _passed_by(slice_: Slice) -> Iterator[tuple[int, str]]:
    """Yield a clause on lines that compute right elements, where none computes the wrong one."""
    for line in slice_.beside[:1]:
        others = f"right elements are computed in line {_list_lines(slice_.beside)}"
        yield line, f"{others}, and element {list(slice_.element)} is stored as it was read"


def _list_lines(lines: Sequence[int]) -> str:
    *some, last = map(str, lines)
    return f"{', '.join(some)} and {last}" if some else last


def _off_by(source: Source, first: Evidence, slice_: Slice) -> Iterator[tuple[int, str]]:
    """Yield the lines of constants in the slice that equal the error of all results, or all results."""
    values = values_of(first)
    factor = values.factor if first.code == "constant-factor" else None
    for constant in slice_.constants:
        off = math.isclose(constant.value, values.offset or math.nan, rel_tol=NEAR)
        times = math.isclose(constant.value, factor or math.nan, rel_tol=NEAR)
        zero = first.code == "zeros" and not constant.value and constant.chosen
        if off or times or zero:
            line = written_at(source, constant.used if times else constant.line, constant.value)
            yield line, f"{constant.value:.6g} comes in at line {line}"


def _scaling_lines(first: Evidence, slice_: Slice) -> Iterator[tuple[int, str]]:
    """Yield the line of the slice's only factor not from memory, where all results are off by a factor."""
    factor = values_of(first).factor if first.code == "constant-factor" else None
    if factor and len(slice_.scales) == 1 and not slice_.unfinished:
        (scale,) = slice_.scales
        verb, takes = ("divides", factor) if scale.divides else ("multiplies", 1 / factor)
        wanted = scale.value * takes
        if min(abs(one - round(one)) / abs(one) for one in (wanted, 1 / wanted)) > NEAR:
            return  # not a size or a fraction of one
        yield (
            scale.line,
            f"line {scale.line} {verb} by {scale.value:.6g}, where it takes {wanted:.6g}",
        )


def written_at(source: Source, line: int, value: float) -> int:
    """Return the nearest line whose text has a number, since a compiler moves its computations."""
    has = [
        at
        for at, text in enumerate(source.code.splitlines(), 1)
        for number in (*_NUMBER.findall(text), *(["0.0"] if "zeros(" in text else []))
        if math.isclose(float(number), value, rel_tol=1e-6)
    ]
    return min(has, key=lambda at: abs(at - line), default=line)


_REAL = re.compile(r"^(?:const\s+)?(?:float|double|auto)\b")
_NUMBER = re.compile(r"(?<![\w.])(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?")
"""A number with a decimal point; integers are sizes and indices."""


def line_place(source: Source, line: int) -> Place:
    """Return the place of a line of the submission, with its language."""
    for unit in source.cuda:
        for number in range(1, len(unit.lines) + 1):
            place = unit.place_line(number)
            if place.line == line:
                return place
    return source.line_place(line)

"""RED007: masked-off lanes take part in a reduction."""

import ast
import math
import re
from collections.abc import Iterator, Mapping

from grader.records.observed import wrong_results
from grader.rules import Context, Finding, Fix, Source, fix, rule_of
from grader.source.analysis.triton import Kernel, kernels
from grader.source.analysis.triton_lanes import Lane, lane_of
from grader.source.analysis.triton_values import is_never_negative
from grader.source.code_edits import add_argument, replace

NEUTRAL: Mapping[str, float] = {
    "sum": 0.0,
    "max": -math.inf,
    "min": math.inf,
    "argmax": -math.inf,
    "argmin": math.inf,
}
WRITTEN: Mapping[float, str] = {
    0.0: "0.0",
    -math.inf: '-float("inf")',
    math.inf: 'float("inf")',
}
WINS = {-math.inf: ", the result where all values are smaller", math.inf: ", the result where all values are larger"}  # fmt: skip


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Follow each reduction's operand back to masked loads, and check their padding values."""
    wrong = wrong_results(context)
    for kernel in kernels(source):
        for call in kernel.calls(*NEUTRAL):
            name = kernel.language_name(call)
            if call.args:
                lane = lane_of(kernel, call.args[0], call.lineno)
                if lane.load is None or lane.number == NEUTRAL[name]:
                    continue
                if not _is_least(kernel, call, lane):
                    yield _finding(source, kernel, call, lane, wrong=bool(wrong))


def _is_least(kernel: Kernel, call: ast.Call, lane: Lane) -> bool:
    """Whether a padding of 0 is neutral for a maximum of non-negative values, such as sizes and squares."""
    of_largest = kernel.language_name(call) in {"max", "argmax"}
    return of_largest and lane.number == 0 and is_never_negative(kernel, call.args[0])


def _finding(source: Source, kernel: Kernel, call: ast.Call, lane: Lane, *, wrong: bool) -> Finding:
    name = kernel.language_name(call)
    assert lane.load is not None
    if lane.number is not None:
        place: ast.AST
        held = f"hold {_say_number(lane.number)}{WINS.get(NEUTRAL[name], '')}"
        place = lane.given or lane.load.call
    elif lane.unset and lane.lost is None:
        held, place = "hold nothing defined: the load has a mask and no `other`", lane.load.call
    else:
        held, place = "hold what their formula makes of the padding", lane.lost or call
    sure = lane.number is not None or not lane.unset
    return RULE.finding(
        source.place(place),
        f"lanes past the mask take part in `tl.{name}` on line {call.lineno}, and {held}; "
        f"{_say_number(NEUTRAL[name])} would change nothing",
        severity="error" if wrong and sure else "warning",
        fixes=tuple(_fixes(source, kernel, call, lane, WRITTEN[NEUTRAL[name]])),
        kernels=(kernel.name,),
        conditions="a row that isn't a multiple of the block",
    )


def _say_number(number: float) -> str:
    return "-inf" if number == -math.inf else "inf" if number == math.inf else f"{number:g}"


def _fixes(
    source: Source, kernel: Kernel, call: ast.Call, lane: Lane, neutral: str
) -> Iterator[Fix]:
    load = lane.load
    assert load is not None
    mask = source.text(load.mask) if load.mask is not None else ""
    if lane.lost is not None and isinstance(lane.lost, ast.Assign):
        value = lane.lost.value
        for part in _conditions(kernel, call, mask):
            edit = replace(source, value, f"tl.where({part}, {source.text(value)}, {neutral})")
            yield from fix("leave padded lanes out", [edit])
        return
    other = load.arguments.get("other")
    if other is not None:
        yield from fix(f"load {neutral} past the mask", [replace(source, other, neutral)])
    else:
        edit = add_argument(source, load.call, f"other={neutral}")
        yield from fix(f"load {neutral} past the mask", [edit])
    value = call.args[0]
    edit = replace(source, value, f"tl.where({mask}, {source.text(value)}, {neutral})")
    yield from fix("leave padded lanes out of the reduction", [edit])


def _conditions(kernel: Kernel, call: ast.Call, mask: str) -> list[str]:
    """Return the possible conditions of valid lanes: a row's mask; with several axes, each condition along the reduced one."""
    axis = next((ast.unparse(w.value) for w in call.keywords if w.arg == "axis"), "1")
    if "[" not in mask or axis not in {"0", "1"}:
        return [mask]
    lay = ("[:, None]", "[None, :]")[int(axis)]
    masks = [ast.unparse(one.mask) for one in kernel.accesses if one.mask is not None]
    parts = (part.strip() for one in masks for part in re.split("[&|]", one) if "[" in part)
    bare = (part[1:-1] if part.startswith("(") else part for part in parts)
    return list(dict.fromkeys(re.sub(r"\[(?::, None|None, :)\]", lay, one) for one in bare))


RULE = rule_of(__file__, check, predicts="wrong-values")

"""Causes of wrong results that the text shows: random numbers of its own, an input that is not read, a cast to few bits."""

import re
from dataclasses import dataclass

from grader.records import Evidence, Place
from grader.records.observed import probed_input
from grader.source import Source, nodes_under

_DRAWS = re.compile(r"curand(?:_(?:uniform|normal|log_normal|poisson|discrete)\w*)?")


@dataclass(frozen=True)
class Cause:
    """The explanation of a wrong result: its place and a clause."""

    place: Place
    words: str


def own_draw(source: Source) -> Cause | None:
    """Return the place where a kernel draws random numbers, if one does."""
    for unit in source.units:
        for call in unit.calls:
            if _DRAWS.fullmatch(call.name):
                said = f": `{call.name}` draws random numbers of its own, and the reference's are torch's"
                return Cause(unit.place(call.node), said)
    return None


def unused_input(source: Source, seen: Evidence) -> Cause | None:
    """Return the input without influence in a probe, if `forward` does not read it at all."""
    forward = source.module.method("forward")
    number = probed_input(seen)
    if seen.code != "probe-ignored" or forward is None or number is None:
        return None
    given = forward.args.args[1:]
    if forward.args.vararg is not None or not 0 <= number < len(given):
        return None
    name = given[number].arg
    read = {getattr(node, "id", "") for node in nodes_under(forward)} & {name, "locals"}
    return None if read else Cause(source.place(given[number]), f": `forward` never reads `{name}`")


NARROWS = re.compile(
    r"torch\.(float16|half|bfloat16)\b|\.(half|bfloat16)\(\)|\bk(Half|BFloat16)\b"
    r"|\b__floats?2(half|bfloat16)\w*|\b__float_to_tf32\b|\bprecision::tf32\b|\bcvt\.rna\.tf32\b"
    r"|\bCUBLAS_COMPUTE_32F_FAST_\w+|\bCUBLAS_TF32_TENSOR_OP_MATH\b|\bsetAllowTF32\w*|\ballow_tf32\b"
)
ASKS = re.compile(r"==|!=|\bcase\b|AT_DISPATCH|CHECK|\bassert\b|\bFalse\b|\bfalse\b")
"""Pattern of a line that only tests for the type, lists it beside others, or turns it off."""
COMMENT = re.compile(r"//|^\s*#(?!\s*(include|define|pragma))|\s#\s")


def narrowed_offsets(source: Source) -> tuple[int, int] | None:
    """Return the offsets of the first such word; None if there is none."""
    start = 0
    for line in source.code.splitlines(keepends=True):
        found = NARROWS.search(line)
        if found and not ASKS.search(line) and not COMMENT.search(line[: found.start()]):
            return start + found.start(), start + found.end()
        start += len(line)
    return None

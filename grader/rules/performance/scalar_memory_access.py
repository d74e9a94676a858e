"""PRF007: elements are loaded one at a time."""

from collections.abc import Iterator

from tree_sitter import Node

from grader.rules import Context, Finding, Source, rule_of
from grader.source.analysis.kernel_accesses import accesses
from grader.source.analysis.traffic import line_streamed
from grader.source.nodes import text
from grader.source.scalar_types import VECTORS
from grader.source.statements import enclosing_loops


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for loads in loops with coalesced float accesses in a run."""
    for unit in source.cuda:
        for kernel in unit.kernels:
            loads = [one for one in accesses(kernel) if one.kind == "load"]
            looped = [one for one in loads if any(map(_strides, enclosing_loops(one.node)))]
            places = [(unit.place(one.node), one.parameter) for one in looped]
            wide = any(name in text(kernel.node) for name in VECTORS)
            line = 0 if wide else line_streamed(context, [at.line for at, _ in places])
            for place, name in [one for one in places if one[0].line == line][:1]:
                yield RULE.finding(
                    place,
                    f"`{name}` is read one number at a time; four at once (float4) need a quarter of the load "
                    "instructions, where the address is a multiple of 16 bytes",
                    confidence="possible",
                    kernels=(kernel.name,),
                    folded=True,
                )


def _strides(loop: Node) -> bool:
    """Whether a loop's step is larger than one."""
    return "+=" in text(loop.child_by_field_name("update"))


RULE = rule_of(__file__, check)

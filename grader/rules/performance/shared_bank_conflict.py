"""PRF008: threads of a warp hit the same bank of shared memory."""

from collections.abc import Iterator

from grader.records import AccessShape
from grader.rules import Context, Finding, Fix, Source, Unit, fix, rule_of
from grader.source.analysis.cases import spans
from grader.source.analysis.races import shared_on
from grader.source.analysis.traffic import bank_turns
from grader.source.cpp import Declare
from grader.source.nodes import text


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for lines at which a run's warps needed at least four passes, the worst of each kernel."""
    for unit in source.cuda:
        for kernel, first, last in spans(source):
            lines = {one.line for one in context.counts if first <= one.line <= last}
            passes = {line: bank_turns(context, line) for line in lines if shared_on(unit, [line])}
            line = max(passes, key=lambda one: passes[one], default=0)
            if passes.get(line, 0) >= 4:
                arrays, turns = shared_on(unit, [line]), round(passes[line])
                names = " or ".join(f"`{one.name}`" for one in arrays)
                yield RULE.finding(
                    source.line_place(line),
                    f"the lanes of a warp ask one bank of {names} for {turns} different words on line {line}: "
                    f"the access takes {turns} turns",
                    fixes=[one for array in arrays for one in _pad(unit, array)],
                    kernels=(kernel,),
                    access=AccessShape(turns=turns),
                )


def _pad(unit: Unit, array: Declare) -> tuple[Fix, ...]:
    """Make each row of a two-dimensional array one element longer."""
    if len(array.sizes) != 2:
        return ()
    last = array.sizes[1]
    edit = unit.edit(last.start_byte, last.end_byte, f"{text(last)} + 1")
    return fix(f"pad each row of `{array.name}` by one element", [edit])


RULE = rule_of(__file__, check)

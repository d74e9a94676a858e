"""IDX013: a Triton kernel asks its place on an axis that the grid of its launch doesn't have."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.records.observed import observed_evidence, wrong_results
from grader.rules.page_file import read_page
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.triton import launches
from grader.source.analysis.triton_axes import axes_given, axes_used

AXES = ("first", "second", "third")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the axes that kernels ask for with those of their grids, where results are wrong or unwritten."""
    unwritten = observed_evidence(context, "unwritten")
    if not unwritten and not wrong_results(context):
        return
    for launch in launches(source):
        given, used = axes_given(launch), axes_used(launch.kernel)
        beyond = [axis for axis in sorted(used) if given is not None and given <= axis < len(AXES)]
        if beyond:
            line = source.place(used[beyond[0]]).line
            yield RULE.finding(
                source.place(launch.grid),
                f"the grid has {given} {'axis' if given == 1 else 'axes'}, and line {line} asks for the place on the "
                f"{AXES[beyond[0]]}: `tl.program_id({beyond[0]})` is 0 in every program, so all blocks but the "
                "first along that axis are left out",
                evidence=unwritten,
                kernels=(launch.kernel.name,),
                cause="unwritten" if unwritten else "",
                root_cause=True,
            )


RULE = Rule(
    **read_page(__file__),
    detects=("evidence",),
    check=check,
    predicts="wrong-values",
    languages=("triton",),
)

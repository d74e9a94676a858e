"""SYN003: only some threads of a block reach a barrier."""

from collections.abc import Iterator, Sequence

from tree_sitter import Node

from grader.records import Context, Evidence, Finding, Fix
from grader.records.observed import kernel_of, observed_evidence
from grader.rules.page_file import read_page
from grader.rules.proofs import of_the_leavers, settle
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.apart import Parted, absent_lanes, parted_barriers
from grader.source.analysis.starved import starved_reads
from grader.source.analysis.walks import Case, cases, spans
from grader.source.code_edits import fix
from grader.source.cuda_code import around, one_line
from grader.source.rewriting.late_return import stay_in_block
from grader.source.statements import child_of, insert_after, statement

BRANCHES = {"if_statement", "for_statement", "while_statement"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for barriers that a walk reaches with a part of the block."""
    found: dict[tuple[str, int], Finding] = {}
    for case in cases(source, context, "main", "odd"):
        for one in parted_barriers(case):
            if not (one.left and case.sizes.name.startswith("odd")):
                made = _report_exited(case, one) if one.left else _kept_away(case, one)
                cause = one.cause if one.cause is not None else one.at.node
                found.setdefault((case.kernel, cause.id), made)
    proof = observed_evidence(context, "divergence", "exited")
    shuffles = any(any(absent_lanes(case)) for case in cases(source, context))
    # The surest first: evidence goes to the nearest, and of those as near, to the first.
    ordered = sorted(found.values(), key=lambda one: one.severity == "warning")
    settled = settle(RULE, ordered, () if shuffles and not found else proof, source)
    fed = starved_reads(source, context)
    for finding in settled:
        kernels = {kernel_of(item, spans(source)) for item in finding.evidence}
        reads = [item for kernel in sorted(kernels & fed.keys()) for item in fed[kernel]]
        told = of_the_leavers(finding, "barrier-exited", source)
        yield _add_starved_reads(told, reads) if reads else told


def _add_starved_reads(finding: Finding, reads: Sequence[Evidence]) -> Finding:
    """Return the finding that threads left, with the reads of what they then never stored."""
    line = reads[0].place.line if reads[0].place else 0
    said = f"{finding.message.rstrip('.')}."
    if line and "never stored" not in said:
        said += f" Line {line} then reads shared cells that they never stored."
    update = {"severity": "error", "message": said, "evidence": (*finding.evidence, *reads)}
    return finding.model_copy(update=update)


def _under(case: Case, one: Parted) -> str:
    """Return the condition that threads part at, with its line."""
    condition = one_line(one.cause, 60) if one.cause is not None else "a condition"
    return f"`{condition}` (line {case.line(one.cause)})"


def _report_exited(case: Case, one: Parted) -> Finding:
    return RULE.finding(
        case.place(one.at.node),
        f"threads have returned under {_under(case, one)} (e.g. thread {one.absent}) when the others wait at "
        f"the `__syncthreads()` on line {case.line(one.at.node)}; CUDA asks for all threads of the block there",
        severity="warning",
        kernels=(case.kernel,),
        fixes=stay_in_block(case, one.cause),
    )


def _kept_away(case: Case, one: Parted) -> Finding:
    return RULE.finding(
        case.place(one.at.node),
        f"only a part of the block's {case.walk.threads} threads reach the `__syncthreads()` on line {case.line(one.at.node)}: "
        f"others, such as thread {one.absent}, are kept away by {_under(case, one)}, and the block can hang",
        confidence="likely",
        kernels=(case.kernel,),
        fixes=_hoist(case, one.at.node, one.cause),
    )


def _hoist(case: Case, barrier: Node, cause: Node | None) -> tuple[Fix, ...]:
    """Move the barrier behind the branch that keeps threads away."""
    outer = around(cause) if cause is not None else ()
    branch = next((one for one in outer if one.type in BRANCHES), None)
    if branch is None or branch.type != "if_statement":
        return ()
    if not branch.start_byte < barrier.start_byte < branch.end_byte:
        return ()
    here = statement(barrier)
    own = child_of(here.parent, barrier) if here.parent is not None else here
    edits = [
        case.unit.edit(own.start_byte, own.end_byte, ";"),
        insert_after(case.unit, statement(branch), "__syncthreads();"),
    ]
    return fix("move the barrier out of the branch", edits)


RULE = Rule(**read_page(__file__), detects=("text", "evidence"), check=check, predicts="barrier")

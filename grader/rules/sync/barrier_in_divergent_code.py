"""SYN003: only some threads of a block reach a barrier."""

from collections.abc import Iterator, Sequence

from tree_sitter import Node

from grader.records.observed import kernel_of, observed_evidence
from grader.rules import Context, Evidence, Finding, Fix, Severity, Source, fix, rule_of
from grader.rules.causes import cause_of
from grader.rules.proofs import FORGIVEN, by_line, of_the_leavers
from grader.source.analysis.cases import spans
from grader.source.analysis.partings import BARRIER, Parting, exchange_at, parting_at
from grader.source.analysis.races import starved_reads
from grader.source.statements import child_of, insert_after, statement


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report the barriers that only a part of a block reached in a run, each once; a blocking exchange is SYN004's."""
    seen = by_line(observed_evidence(context, "divergence", "exited"))
    held_up, fed = any(exchange_at(source, line) for line in seen), starved_reads(source, context)
    for line, items in seen.items():
        parting = parting_at(source, line, BARRIER)
        if held_up and (parting is None or parting.branch is None):
            continue
        told = of_the_leavers(_finding(parting, items), "barrier-exited", source)
        kernels = {kernel_of(item, spans(source)) for item in items}
        reads = [item for kernel in sorted(kernels & fed.keys()) for item in fed[kernel]]
        yield _add_starved_reads(told, reads) if reads else told


def _finding(parting: Parting | None, items: Sequence[Evidence]) -> Finding:
    """Report the branch that excludes threads; without one they returned before, which GPUs tolerate."""
    harmless = all(item.code in FORGIVEN for item in items)
    if parting is None or parting.branch is None:
        weight: Severity = "warning" if harmless else "error"
        return RULE.finding(items[0].place, cause_of(items[0]), severity=weight, evidence=items)
    return RULE.finding(
        items[0].place,
        f"only some of the block's threads reach this barrier: {parting.asked} keeps the others away, and the block can hang",
        evidence=items,
        fixes=_hoist(parting, parting.branch),
        cause=f"branch {parting.branch.start_byte}",
    )


def _add_starved_reads(finding: Finding, reads: Sequence[Evidence]) -> Finding:
    """Return the finding that threads returned, with reads of memory that they never stored."""
    line = reads[0].place.line if reads[0].place else 0
    said = f"{finding.message.rstrip('.')}."
    if line and "never stored" not in said:
        said += f" Line {line} then reads shared cells that they never stored."
    update = {"severity": "error", "message": said, "evidence": (*finding.evidence, *reads)}
    return finding.model_copy(update=update)


def _hoist(parting: Parting, branch: Node) -> tuple[Fix, ...]:
    """Move the barrier after the branch that excludes threads."""
    if branch.type != "if_statement":
        return ()
    unit, here = parting.unit, statement(parting.where)
    own = child_of(here.parent, parting.where) if here.parent is not None else here
    edits = [
        unit.edit(own.start_byte, own.end_byte, ";"),
        insert_after(unit, statement(branch), "__syncthreads();"),
    ]
    return fix("move the barrier out of the branch", edits)


RULE = rule_of(__file__, check, predicts="barrier")

"""SYN004: a shuffle's mask names lanes that don't take part."""

from collections.abc import Iterator, Sequence

from grader.records.observed import GROUPS, kernel_of, observed_evidence, wrong_results
from grader.rules import Context, Evidence, Finding, Fix, Severity, Source, fix, rule_of
from grader.rules.causes import cause_of
from grader.rules.proofs import CARRIED_ON, by_line, of_the_leavers
from grader.source.analysis.cases import spans
from grader.source.analysis.partings import EXCHANGE, Parting, alike, exchange_at, parting_at
from grader.source.rewriting.all_lanes import all_lanes, branch_of

OLD = ("__shfl", "__shfl_down", "__shfl_up", "__shfl_xor", "__ballot", "__any", "__all")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report the exchanges that only some of the named lanes reached in a run, each once."""
    for line, items in by_line(observed_evidence(context, "shuffle", "divergence")).items():
        if not (exchange_at(source, line) or any(i.code in GROUPS["shuffle"] for i in items)):
            continue
        masks = all(item.code == "sync-lane-not-in-mask" for item in items)
        parting = None if masks else parting_at(source, line, EXCHANGE)
        if parting is not None and parting.branch is not None:
            yield _of_the_branch(source, parting, items)
        else:
            left = all(item.code in CARRIED_ON for item in items)
            harmless = left and not wrong_results(context)
            said = cause_of(items[0])
            weight: Severity = "warning" if harmless else "error"
            plain = RULE.finding(items[0].place, said, severity=weight, evidence=items)
            yield of_the_leavers(plain, "sync-exited-lanes", source)
    yield from _without_a_mask(source)


def _without_a_mask(source: Source) -> Iterator[Finding]:
    """Report exchanges without a mask, which rely on warps in lockstep."""
    for unit in source.cuda:
        for call in unit.calls:
            if call.qualified in OLD and call.base is None:
                start = call.node.start_byte
                edit = unit.edit(
                    start, start + len(call.qualified) + 1, f"{call.qualified}_sync(0xffffffff, "
                )
                yield RULE.finding(
                    unit.place(call.node),
                    f"`{call.qualified}` without `_sync` no longer exists on today's GPUs; it trusted that the threads of a warp move together",
                    severity="warning",
                    predicts="elsewhere",
                    fixes=fix("use the synchronising form", [edit]),
                )


def _of_the_branch(source: Source, parting: Parting, items: Sequence[Evidence]) -> Finding:
    """Report the exchange that waits for absent lanes, and the branch that excludes them."""
    unit, where = parting.unit, parting.where
    line = unit.place(parting.meeting).line
    inner = "" if where is parting.meeting else f" (the shuffle itself is on line {line})"
    kernel = kernel_of(items[0], spans(source))
    return RULE.finding(
        unit.place(where),
        f"the warp exchange{inner} waits for all lanes that its mask names, but not all of a warp get there: "
        f"{parting.asked} keeps lanes away, so the result is undefined and the kernel may hang",
        evidence=items,
        kernels=(kernel,),
        fixes=_fixes(parting),
    )


def _fixes(parting: Parting) -> Iterator[Fix]:
    """Yield the fixes of an exchange, each with that of similar exchanges."""
    own, *others = (_of_one(one) for one in (parting, *alike(parting)))
    for one in own:
        more = (edit for fixes in others for f in fixes if f.label == one.label for edit in f.edits)
        yield one.model_copy(update={"edits": tuple(dict.fromkeys((*one.edits, *more)))})


def _of_one(parting: Parting) -> tuple[Fix, ...]:
    branch = branch_of(parting.where, parting.condition)
    return all_lanes(parting.unit, parting.where, branch) if branch else ()


RULE = rule_of(__file__, check, predicts="barrier")

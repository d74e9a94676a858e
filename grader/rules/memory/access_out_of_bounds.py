"""MEM011: an access out of bounds that a run showed."""

from collections.abc import Iterator

from grader.records.observed import has_wrapped, kernel_of, observed_evidence
from grader.rules import Context, Evidence, Finding, Place, Source, rule_of
from grader.rules.causes import cause_of
from grader.source.analysis.cases import spans
from grader.source.analysis.races import shared_on
from grader.source.analysis.triton import accesses_at


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report each kernel's accesses once; findings about the text with the same cause absorb them."""
    kernels = spans(source)
    foreign = {kernel_of(item, kernels) for item in observed_evidence(context, "host-memory")}
    kept: dict[str, list[Evidence]] = {}
    for item in observed_evidence(context, "oob", "shared-oob"):
        if has_wrapped(item):
            continue  # IDX001 explains it
        kind = "shared-oob" if "shared" in item.code else "oob"
        if kind == "oob" and kernel_of(item, kernels) in foreign:
            continue  # a pointer of the CPU is far from whatever it seems to be past the end of
        kept.setdefault(f"{kind} {kernel_of(item, kernels)}", []).append(item)
    if unplaced := kept.pop("oob ", []):  # what another device saw of memory, and of no kernel
        kept.setdefault(next((k for k in kept if k.startswith("oob")), "oob "), []).extend(unplaced)
    for cause, items in kept.items():
        yield RULE.finding(
            _written_at(source, items[0]) or items[0].place,
            _named_array(source, items[0]) or cause_of(items[0]),
            evidence=items,
            cause=cause,
        )
    values = [one for one in context.evidence if (one.kind, one.code) == ("mismatch", "outside")]
    if values and not kept:
        said = "Values of the result were read outside of every tensor: they have the bits that only such a read gives."
        yield RULE.finding(None, said, evidence=values, cause="oob")


def _named_array(source: Source, item: Evidence) -> str:
    """Return a clause on the shared array that an access exceeded; empty where unknown."""
    line = item.place.line if item.place is not None and "shared" in item.code else 0
    arrays = [one for unit in source.cuda if line for one in shared_on(unit, [line])]
    fixed = [one.name for one in arrays if not one.extern]
    return f"a thread goes past the end of the shared array `{fixed[0]}`" if fixed else ""


def _written_at(source: Source, item: Evidence) -> Place | None:
    """Return the source line of a Triton access that the compiler moved."""
    line = item.place.line if item.place else 0
    found = accesses_at(source, line) if line else ()
    moved = [one for one in found if one.call.lineno < line > (one.call.end_lineno or 0)]
    return source.place(moved[0].call) if len(moved) == 1 else None


RULE = rule_of(__file__, check, effect=True)

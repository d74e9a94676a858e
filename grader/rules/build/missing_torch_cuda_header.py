"""BLD001: a helper of PyTorch or CUDA is used, and its header is not included."""

from collections.abc import Iterator

from grader.rules import Context, Evidence, Finding, Place, Source, Unit, fix, rule_of
from grader.source.analysis.diagnostics import confirming_errors, failures
from grader.source.analysis.library_headers import declared_in
from grader.source.code_edits import add_include

KINDS = ("no-member", "undefined-identifier", "type-not-allowed", "syntax")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report each missing header at the first line that needs it."""
    refused = failures(context, "compiler")
    for unit in source.units if refused else ():
        missed: dict[str, dict[str, Place]] = {}
        for header, name, place in _names_refused(source, unit, refused):
            missed.setdefault(header, {}).setdefault(name, place)
        for header, names in missed.items():
            lines = [place.line for place in names.values()]
            proof = confirming_errors(context, KINDS, names, lines)
            yield _finding(unit, header, names, proof)


def _names_refused(
    source: Source, unit: Unit, refused: tuple[Evidence, ...]
) -> Iterator[tuple[str, str, Place]]:
    """Yield each header of a name that the compiler misses, the name, and its place."""
    first, last = (unit.place_span(at, at).line for at in (0, len(unit.data)))
    for item in refused:
        if item.place and first <= item.place.line <= last and unit.resolved:
            line = item.place.line
            name, header = declared_in(item, source.lines[line - 1])
            if header and header not in unit.includes:
                named = unit.names.get(name.rpartition("::")[2], ())
                places = (unit.place(node) for node in named)  # to nvcc, a launch's last line
                near = min(places, key=lambda one: abs(one.line - line), default=item.place)
                yield header, name, near


def _finding(
    unit: Unit, header: str, missed: dict[str, Place], proof: tuple[Evidence, ...]
) -> Finding:
    names = list(missed)
    bringer = "torch/extension.h" if header.startswith(("ATen", "c10")) else "CUDA"
    return RULE.finding(
        min(missed.values(), key=lambda place: place.line),
        f"{' and '.join(names[:3])} {'is' if len(names) == 1 else 'are'} declared in {header}, which is not included, "
        f"so the build stops here; {bringer} does not bring it in",
        evidence=proof,
        fixes=fix(f"include {header}", [add_include(unit, header)], certain=True),
        names=names,
    )


RULE = rule_of(__file__, check)

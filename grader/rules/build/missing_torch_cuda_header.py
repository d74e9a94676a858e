"""BLD001: a helper of PyTorch or CUDA is used, and its header is not included."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, Place
from grader.rules.page_file import read_page
from grader.rules.rule import Rule
from grader.source import Source, Unit
from grader.source.analysis.diagnostics import confirming_errors, failures
from grader.source.analysis.library_headers import declared_in, missing_helpers
from grader.source.code_edits import add_include, fix
from grader.source.cuda_code import around, cuda_code, text, units

KINDS = ("no-member", "undefined-identifier", "type-not-allowed", "syntax")
Missed = tuple[str, str, Place]
"""A header that is missed, the name that it declares, and where that is used."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Name each header that is missed at the first line that needs it."""
    refused = failures(context, "compiler")
    for unit in units(source):
        missed: dict[str, dict[str, list[Place]]] = {}
        used = list(_helpers_used(source, unit))  # of these the text has the exact place
        others = {header for header, _, _ in used}
        told = [one for one in _names_refused(source, unit, refused) if one[0] not in others]
        for header, name, place in (*used, *told):
            missed.setdefault(header, {}).setdefault(name, []).append(place)
        for header, names in missed.items():
            places = sorted(
                (place for some in names.values() for place in some), key=lambda place: place.line
            )
            lines = [place.line for place in places]
            yield _finding(
                unit, header, names, places[0], confirming_errors(context, KINDS, names, lines)
            )


def _helpers_used(source: Source, unit: Unit) -> Iterator[Missed]:
    """Yield the helpers that a text uses and no text of its kind includes or defines."""
    for extension in source.extensions if unit.resolved else ():
        for texts in (extension.cuda, extension.cpp):
            if extension.complete and unit in texts:
                own = {name for each in texts for name in _defined_names(each)}
                for name, header in missing_helpers([h for each in texts for h in each.includes]):
                    for node in cuda_code(unit).names.get(name, ()) if name not in own else ():
                        if not any("preproc_if" in outer.type for outer in around(node)):
                            yield header, name, unit.place(node)


def _names_refused(source: Source, unit: Unit, refused: tuple[Evidence, ...]) -> Iterator[Missed]:
    """Yield the names that the compiler misses, where a library's header declares them."""
    first, last = (unit.place_span(at, at).line for at in (0, len(unit.data)))
    for item in refused:
        if item.place and first <= item.place.line <= last and unit.resolved:
            name, header = declared_in(item, source.lines[item.place.line - 1])
            if header and header not in unit.includes:
                yield header, name, item.place


def _finding(
    unit: Unit,
    header: str,
    missed: dict[str, list[Place]],
    place: Place,
    proof: tuple[Evidence, ...],
) -> Finding:
    names = list(missed)
    bringer = "torch/extension.h" if header.startswith(("ATen", "c10")) else "CUDA"
    return RULE.finding(
        place,
        f"{' and '.join(names[:3])} {'is' if len(names) == 1 else 'are'} declared in {header}, which is not included, "
        f"so the build stops here; {bringer} does not bring it in",
        evidence=proof,
        fixes=fix(f"include {header}", [add_include(unit, header)], certain=True),
        names=names,
    )


def _defined_names(unit: Unit) -> set[str]:
    """Return the macros, types and functions that a text defines itself."""
    made = cuda_code(unit).of(
        "preproc_def",
        "preproc_function_def",
        "class_specifier",
        "struct_specifier",
        "alias_declaration",
    )
    functions = {function.name for function in (*unit.functions, *unit.declarations)}
    return {text(node.child_by_field_name("name")) for node in made} | functions


RULE = Rule(**read_page(__file__), detects=("text", "build"), languages=("cuda",), check=check)

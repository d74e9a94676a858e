"""BLD015: compiler errors that no other rule explains, and functions without a return."""

import re
from collections.abc import Iterator

from grader.rules import Context, Evidence, Finding, Place, Source, fix, rule_of
from grader.source.analysis.diagnostics import Explained, explain, failures
from grader.source.nodes import text

MANY = 6


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report the compiler's errors, one for each root cause, then look for functions that it only warns of."""
    yield from _from_evidence(source, context)
    yield from _without_return(source)


# what the compiler said


def _from_evidence(source: Source, context: Context) -> Iterator[Finding]:
    for group in _groups(source, context)[:MANY]:
        first = group[0]
        meaning = explain(first.said)
        words = first.text.strip().rstrip(".")
        message = f"{meaning.sentence} ({words})" if meaning is not None else words
        yield RULE.finding(
            _of_the_helper(source, first) or first.place or _build_call(source),
            message[:400],
            evidence=group,
        )


def _groups(source: Source, context: Context) -> list[tuple[Evidence, ...]]:
    """Return the errors grouped by defect.

    Errors on one line are one defect, and a syntax error follows from an error before it. A too old C++ standard
    breaks torch's headers at many places. Errors of the linker and Python count only if the compilers gave none.
    """
    for kinds in (("compiler", "ptxas"), ("link",), ("python",)):
        items = failures(context, *kinds)
        if items:
            break
    groups: list[list[Evidence]] = []
    in_headers = [item for item in items if _line(item) is None]
    asked = next((item for item in items if _kind(item) == "standard"), None)
    if asked is not None:
        groups.append([asked, *(item for item in in_headers if item is not asked)])
        items = tuple(item for item in items if item not in groups[0])
    for item in items:
        meaning = explain(item.said)
        same = [
            group
            for group in groups
            if _line(group[0]) == _line(item) is not None or _declares(source, group[0], meaning)
        ]
        if same:
            same[0].append(item)
        elif (
            groups and meaning is not None and meaning.kind == "syntax" and _near(groups[-1], item)
        ):
            groups[-1].append(item)
        else:
            groups.append([item])
    return [tuple(group) for group in groups]


def _declares(source: Source, refused: Evidence, meaning: Explained | None) -> bool:
    """Whether the unknown name was reported before, or is declared on a refused line."""
    line, before = _line(refused), explain(refused.said)
    if meaning is None or meaning.kind != "undefined-identifier" or line is None:
        return False
    name = re.escape(meaning.names[0])
    declared = re.search(rf"[\w>&*]\s[\s*&]*{name}\s*[;=(\[{{,]", source.lines[line - 1])
    return before == meaning or declared is not None


def _of_the_helper(source: Source, item: Evidence) -> Place | None:
    """Return the head of the author's own function that only the host has and a kernel calls: that lacks `__device__`."""
    meaning = explain(item.said)
    if meaning is None or meaning.kind != "host-in-device":
        return None
    name = meaning.names[0].partition("(")[0].rpartition("::")[2]
    for unit in source.cuda:
        for function in unit.functions:
            if function.name == name and function.body is not None and function.runs == "host":
                return unit.place_span(function.node.start_byte, function.body.start_byte)
    return None


def _kind(item: Evidence) -> str:
    meaning = explain(item.said)
    return meaning.kind if meaning is not None else ""


def _line(item: Evidence) -> int | None:
    return item.place.line if item.place is not None else None


def _near(group: list[Evidence], item: Evidence) -> bool:
    last, line = _line(group[-1]), _line(item)
    return last is not None and line is not None and 0 <= line - last <= 3


def _build_call(source: Source) -> Place | None:
    return source.place(source.extensions[0].node) if source.extensions else None


def _without_return(source: Source) -> Iterator[Finding]:
    """Look for functions of a tensor type without `return`: compilers only warn, and the result is undefined."""
    for unit in source.units:
        for function in unit.host_functions:
            body = function.body
            if body is None or not function.return_type.endswith("Tensor"):
                continue
            ends = (
                *unit.nodes_under(body, "return_statement"),
                *unit.nodes_under(body, "throw_statement"),
            )
            if ends:
                continue
            made = [
                text(node.child_by_field_name("declarator"))
                for node in unit.nodes_under(body, "init_declarator")
                if text(node.child_by_field_name("value")).startswith(("torch::", "at::"))
            ]
            end = body.end_byte - 1
            edits = [unit.edit(end, end, f"    return {name};\n") for name in made[-1:]]
            yield RULE.finding(
                unit.place(function.node),
                f"{function.name} promises a {function.return_type} and returns nothing",
                fixes=fix(f"return {''.join(made[-1:])}", edits),
            )


RULE = rule_of(__file__, check, catch_all=True)

"""EXT001: the submission is not Python."""

import re
import textwrap
from collections.abc import Iterator

from grader.rules import Context, Edit, Evidence, Finding, Fix, Source, rule_of
from grader.source.code_edits import delete_line
from grader.source.edits import apply
from grader.source.parse import read_python

FENCE = re.compile(r"^\s*(?:```|~~~)")
DETECTED = re.compile(r" \(detected at line \d+\)")
TAG = re.compile(r"^\s*(?:</?\w*think\w*>|<\|[^|]*\|>|</?answer>|</?code>|\*\*[^*]*\*\*:?)\s*$")


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Report Python's own syntax error, and try the repairs that need no guess."""
    error = source.syntax_error
    if error is None or not source.code.strip():
        return
    place = source.line_place(min(max(error.line, 1), len(source.lines)))
    said = f"{DETECTED.sub('', error.message)} (line {error.line})"
    yield RULE.finding(
        place,
        f"this is no Python, so nothing was built or run: {said}",
        evidence=(Evidence(kind="python", code="SyntaxError", text=said, place=place),),
        fixes=_fixes(source),
    )


def _fixes(source: Source) -> tuple[Fix, ...]:
    """Return the first repair after which the text parses."""
    for label, edits in _repairs(source):
        code = apply(source.code, edits) if edits else ""
        if code.strip() and read_python(code)[0] is not None:
            return (Fix(label=label, edits=tuple(edits), certain=True),)
    return ()


def _repairs(source: Source) -> Iterator[tuple[str, list[Edit]]]:
    lines = list(enumerate(source.lines, 1))
    fences = [delete_line(source, number) for number, line in lines if FENCE.match(line)]
    tags = [delete_line(source, number) for number, line in lines if TAG.match(line)]
    yield "cut the stray fence", fences
    yield "cut the stray tag", tags
    yield "cut the stray fences and tags", fences + tags
    first = next((number for number, line in lines if FENCE.match(line)), 0)
    if first:
        start = source.positions.offset(first, 0)
        yield "cut what follows the code", [Edit(start=start, end=len(source.code), text="")]
    error = source.syntax_error
    if error is not None and error.line > 1:
        start = source.positions.offset(error.line, 0)
        if "class ModelNew" in source.code[:start]:
            yield "cut what follows the code", [Edit(start=start, end=len(source.code), text="")]
    dedented = textwrap.dedent(source.code)
    if dedented != source.code:
        yield "remove the indentation", [Edit(start=0, end=len(source.code), text=dedented)]


RULE = rule_of(__file__, check, certain_from_text=True)

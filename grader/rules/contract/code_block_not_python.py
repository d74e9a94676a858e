"""EXT001: the submission is no Python."""

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator

from grader.rules import Context, Edit, Evidence, Finding, Fix, Source, rule_of
from grader.source.code_edits import delete_line

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
        if edits and _parses(_apply_edits(source.code, edits)):
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


def _apply_edits(code: str, edits: list[Edit]) -> str:
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        code = code[: edit.start] + edit.text + code[edit.end :]
    return code


def _parses(code: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return bool(code.strip())


RULE = rule_of(__file__, check, certain_from_text=True)

"""Locates a defect of which only consequences were seen, at the line that its verified fix changes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from grader.records import Finding, Place, Repair, Submission
from grader.source import in_sample, parse

_WRONG = ("NUM001", "DEP001", "DEP002", "DEP003", "DEP005", "DEP006")
"""Rules that see a wrong result alone: once a fix says which line makes it, they have nothing to add."""
VAGUE = (*_WRONG, "MEM008", "MEM011", "SYN001", "BLD015")
"""Rules that see a wrong result or access, or where a compiler stops, and not what causes it."""
WIDER = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 1))
"""By how many tokens, on the left and right, a piece is shown wider: an operator between what it joins, an index with its array."""
SHORT, LONG = 2, 200
"""Letters of a piece that says little alone, and of one that is too much for a sentence."""
_TOKEN = re.compile(r"\w+(?:(?:\.|->|::)\w+)*|[<>=!+*/%&|-]=|\S")
_WHOLE = re.compile(r"[-!\w(\"'].*[\w)\]\"']|\w")
_LINE = re.compile(r"line (\d+): `")
"""How a small change's label begins: with its line in the program as it was fixed so far."""


def locate_by_repairs(
    findings: tuple[Finding, ...], submission: Submission, repairs: Sequence[Repair]
) -> tuple[Finding, ...]:
    """Return the findings, those without a known cause placed at the one line that fixes them."""
    fix = next((repair for repair in repairs if repair.kind == "fix"), None)
    settled = [(rule, label) for rule, label in fix.settles if rule in VAGUE] if fix else []
    lines = {said[1] if (said := _LINE.match(label)) else "" for _, label in settled}
    if fix is None or not settled or (len(settled) > 1 and (len(lines) > 1 or "" in lines)):
        return findings
    rule, label = settled[0]
    change = _change(submission.code, fix.code, label)
    if change is None:
        return findings
    return tuple(
        item
        if item.rule != rule or _knows(item, label)
        else _place_finding(item, submission, *change)
        for item in findings
    )


def _knows(finding: Finding, label: str) -> bool:
    """Whether a counterfactual run proved the place of the cause, and its own fix is elsewhere."""
    own = finding.rule == "DEP006" and any(one.label == label for one in finding.fixes)
    said = _LINE.match(label)
    return own and said is not None and finding.place is not None and finding.place.line != int(said[1])  # fmt: skip


def _change(old: str, new: str, label: str) -> tuple[int, str, str, list[int]] | None:
    """Return line, old and new text of what a label says, and other lines beside it, where it changes lines for others; else None.

    Where that is all that the fix changes, the label need not say which. Among several it names the
    line in a text between both, in which only some of the changes were made.
    """
    before, after = old.splitlines(), new.splitlines()
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    number = int(said[1]) if (said := _LINE.match(label)) else 0
    if len(changes) > 1:
        changes = [
            code for code in changes if min(code[1], code[3]) < number <= max(code[2], code[4])
        ]
    if len(changes) != 1 or changes[0][0] != "replace":
        return None
    _, i1, i2, j1, j2 = changes[0]
    if i2 - i1 == j2 - j1 == 1:
        return i1 + 1, before[i1], after[j1], []
    one_stretch = (
        i1 == j1 and i2 == j2 and i1 < number <= i2
    )  # what is done at its first line goes on
    others = [at for at in range(i1 + 1, i2 + 1) if at != number]
    return (number, before[number - 1], after[number - 1], others) if one_stretch else None


def _and_lines(others: Sequence[int]) -> str:
    """Say that other lines change with one."""
    if not others:
        return ""
    return f", and {'lines' if len(others) > 1 else 'line'} {', '.join(map(str, others))} with it"


def _place_finding(
    finding: Finding,
    submission: Submission,
    line: int,
    old: str,
    new: str,
    others: Sequence[int] = (),
) -> Finding:
    there = finding.place is not None and finding.place.line == line
    if there and finding.rule not in _WRONG:
        return finding
    said = f"{_what_it_needs(old, new)}{_and_lines(others)}"
    if finding.rule not in _WRONG:
        said = f"{said}: {finding.message.rstrip('.')}"
    return finding.model_copy(update={"place": _place(submission, line), "message": said})


def _what_it_needs(old: str, new: str) -> str:
    """Return the differing piece of a line, as words; the whole line where the piece is not an expression."""
    if new.strip().endswith(old.strip()):
        return f"`{new.strip().removesuffix(old.strip()).strip()[:LONG]}` is missing before it"
    before, after = list(_TOKEN.finditer(old)), list(_TOKEN.finditer(new))
    words = [one[0] for one in before], [one[0] for one in after]
    codes = difflib.SequenceMatcher(None, *words, autojunk=False).get_opcodes()
    changes = [code for code in codes if code[0] != "equal"]
    spans = (changes[0][1], changes[-1][2]), (changes[0][3], changes[-1][4])
    pairs = (
        tuple(
            _piece(text, tokens, begin - left, end + more)
            for text, tokens, (begin, end) in zip((old, new), (before, after), spans, strict=True)
        )
        for left, more in WIDER
    )
    whole = [pair for pair in pairs if all(pair)]
    for was, right in sorted(whole, key=lambda pair: len(pair[0]) <= SHORT)[:1]:
        return f"`{was}` has to be `{right}`"
    return f"it has to be `{new.strip()[:LONG]}`"


def _piece(text: str, tokens: Sequence[re.Match[str]], begin: int, end: int) -> str:
    """Return the text from one token to before another, where it may be a whole expression; else nothing."""
    if not 0 <= begin < end <= len(tokens):
        return ""
    piece = text[tokens[begin].start() : tokens[end - 1].end()]
    even = all(piece.count(a) == piece.count(b) for a, b in ("()", "[]", "{}"))
    return piece if even and _WHOLE.fullmatch(piece) and len(piece) <= LONG else ""


def _place(submission: Submission, line: int) -> Place:
    """Return the place of a line, in any language."""
    source = parse(submission.code)
    cuda = (unit.place_line(k) for unit in source.cuda for k in range(1, len(unit.lines) + 1))
    own = next((place for place in cuda if place.line == line), None)
    return in_sample(own or source.line_place(line), submission)

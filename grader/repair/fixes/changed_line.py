"""Fixes by what a changed run proved of a kernel: the sign, number, name or step that it changed, written into its line.

The line is read as words, so that CUDA and Triton are changed alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from grader.records import Counterfactual, Edit, Evidence, Fix, Place
from grader.repair.fixes.maker import FixMaker, of_proofs
from grader.source import Source
from grader.source.analysis.counterfactual import NEGATED, SIGNS, VERBS, Names

MOST = 5
"""Ways to write one change that are tried."""
_WORD = re.compile(
    r"[A-Za-z_]\w*(?:\.\w+)*|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?[fFuUlL]*|[<>]{3}|[<>]{2}=?|[<>=!]=|->|&&|\|\||//|[-+*/%&|]=|\S"
)
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_OFF_BY_ONE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_INFIX = frozenset("+-*/%&|")
_CALLS = {
    "triton": {"abs": "tl.abs({})", "sqrt": "tl.sqrt({})", "rsqrt": "tl.rsqrt({})", "exp": "tl.exp({})", "log": "tl.log({})", "max": "tl.maximum({}, {})", "min": "tl.minimum({}, {})", "inf": 'float("inf")'},
    "cuda": {"abs": "fabsf({})", "sqrt": "sqrtf({})", "rsqrt": "rsqrtf({})", "exp": "expf({})", "log": "logf({})", "max": "fmaxf({}, {})", "min": "fminf({}, {})", "inf": "INFINITY"},
    "both": {"neg": "(-{})", "rcp": "(1 / {})", "square": "({0} * {0})"},
}  # fmt: skip
"""How what a run put in is written."""
Change = tuple[int, int, str]


@dataclass(frozen=True)
class _Line:
    source: Source
    place: Place
    change: Counterfactual

    @cached_property
    def start(self) -> int:
        return self.source.positions.offset(self.place.line, 0)

    @cached_property
    def words(self) -> list[re.Match[str]]:
        """What stands on the line before a comment."""
        comment = r"#.*" if self.in_triton else r"//.*"
        return list(_WORD.finditer(re.sub(comment, "", self.source.lines[self.place.line - 1])))

    @cached_property
    def in_triton(self) -> bool:
        return self.place.language == "python"

    @cached_property
    def names(self) -> Names:
        return Names(self.source, self.place)

    def name_of(self, value: str) -> str:
        """Return the name that the text has for a value; empty where it has none."""
        found = re.fullmatch(r"`([A-Za-z_][\w.]*)`", self.names.of(value))
        return found[1] if found else ""

    def written(self, function: str, *parts: str) -> str:
        calls = _CALLS["triton" if self.in_triton else "cuda"] | _CALLS["both"]
        return calls[function].format(*parts) if function in calls else ""

    def each(self, old: str, new: str) -> Iterator[Change]:
        """Yield each place of a word with another in its stead."""
        if old and new and old != new:
            yield from ((*word.span(), new) for word in self.words if word[0] == old)

    def assigned(self) -> tuple[re.Match[str], int, int] | None:
        """Return the sign by which the line sets a name, and where what it sets it to stands."""
        signs = [w for w in self.words if re.fullmatch(r"[-+*/]?=", w[0])]
        if not signs or signs[0] is self.words[-1]:
            return None
        last = self.words[-2] if self.words[-1][0] == ";" else self.words[-1]
        value = (self.words[self.words.index(signs[0]) + 1].start(), last.end())
        text = self.source.lines[self.place.line - 1][slice(*value)]
        return (
            (signs[0], *value) if text.count("(") == text.count(")") and ";" not in text else None
        )

    def parts(self) -> list[Change]:
        """Return the variables in what the line sets a name to, the last first, then all of it."""
        if (found := self.assigned()) is None:
            return []
        _, start, end = found
        text = self.source.lines[self.place.line - 1]
        names = [w for w in self.words if w.start() >= start and w[0].isidentifier() and text[w.end() : w.end() + 1] not in {"(", "="}]  # fmt: skip
        last = list(reversed(names))[: MOST - 1]
        return [*((*w.span(), w[0]) for w in last), (start, end, text[start:end])]

    def with_step(self, verb: str, text: str, number: str) -> str:
        """Return a value's text with one step more; empty where that can't be written."""
        sign = VERBS.get(verb, verb)
        inner = text if re.fullmatch(r"[\w.]+|[\w.]+\([^()]*\)", text) else f"({text})"
        if made := self.written(verb, inner if verb in {"square", "neg", "rcp"} else text, number):
            return made
        whole = sign == "/" and self.in_triton and self.change.after.startswith("div.s32")
        return f"({inner} {'//' if whole else sign} {number})" if sign in _INFIX else ""


def written(source: Source, item: Evidence) -> Iterator[Fix]:
    """Yield the change of a kernel's line that made a run right, as the line may say it."""
    change, place = item.details, item.place
    if isinstance(change, Counterfactual) and place is not None and change.change in _KINDS:
        line = _Line(source, place, change)
        for start, end, text in islice(dict.fromkeys(_KINDS[change.change](line)), MOST):
            old = source.code[line.start + start : line.start + end]
            label = f"line {place.line}: `{text}` in the place of `{old}`"
            edit = Edit(start=line.start + start, end=line.start + end, text=text)
            yield Fix(label=label, edits=(edit,))


def _comparisons(line: _Line) -> Iterator[Change]:
    """Yield the sign of a comparison as the run had it, then off by one: compilers negate comparisons and turn them round."""
    one, other = (words.split(".")[1].rstrip("u") for words in (line.change.before, line.change.after))  # fmt: skip
    ways = [(one, other), (NEGATED[one], NEGATED[other])]
    signs = {SIGNS[a]: SIGNS[b] for a, b in reversed([*ways, *((_TURNED[a], _TURNED[b]) for a, b in ways)])}  # fmt: skip
    for table in (signs, _OFF_BY_ONE):
        for sign in signs:
            yield from line.each(sign, table[sign])


def _constants(line: _Line) -> Iterator[Change]:
    before, after = float(line.change.before), line.change.after
    after = after if before >= 0 else after[1:] if after.startswith("-") else f"-{after}"
    for word in line.words:
        number = re.fullmatch(r"([\d.]+(?:e[-+]?\d+)?)([fFuUlL]*)", word[0])
        if number and abs(float(number[1]) - abs(before)) <= 1e-6 * float(number[1]):
            infinite = after.replace("inf", line.written("inf"))
            whole = "." in number[1] and after.lstrip("-").isdecimal()
            yield (
                *word.span(),
                infinite if "inf" in after else f"{after}{'.0' if whole else ''}{number[2]}",
            )


def _operators(line: _Line) -> Iterator[Change]:
    before, after = (
        words.split()[-1].partition(".")[0] for words in (line.change.before, line.change.after)
    )
    if line.change.after.startswith("added up"):
        yield from _added_up(line, VERBS.get(after, after))
        return
    old, new = VERBS.get(before, before), VERBS.get(after, after)
    if old in _INFIX and new in _INFIX:
        for sign, other in (
            (old, new),
            *([("//", new)] if old == "/" else [(old, "//")] if new == "/" else []),
        ):
            yield from line.each(sign, other)
        yield from line.each(f"{old}=", f"{new}=")
    for word in line.words if old not in _INFIX else ():
        if re.search(rf"(?:^|[._]|f){old}(?![a-z]{{2}})", word[0]) and line.written(new):
            yield (*word.span(), line.written(new).partition("(")[0])


def _added_up(line: _Line, verb: str) -> Iterator[Change]:
    """Yield what a loop sets anew added to what it was before."""
    if (found := line.assigned()) and found[0][0] == "=":
        sign, start, end = found
        if verb in _INFIX:
            yield (*sign.span(), f"{verb}=")
        elif name := next(
            (w[0] for w in reversed(line.words[: line.words.index(sign)]) if w[0].isidentifier()),
            "",
        ):
            text = line.source.lines[line.place.line - 1][start:end]
            yield start, end, line.written(verb, name, text)


def _operands(line: _Line) -> Iterator[Change]:
    yield from line.each(line.name_of(line.change.before), line.name_of(line.change.after))


def _steps(line: _Line) -> Iterator[Change]:
    """Yield a value with one step more: a name, or where the run has none for it each that the line uses, then all of it."""
    verb, _, operand = line.change.after.partition(" ")
    number = operand if re.fullmatch(r"-?[\d.e+-]+", operand) else line.name_of(operand)
    name = line.name_of(line.change.before)
    places = [(*w.span(), w[0]) for w in line.words if name and w[0] == name]
    if operand and not number:
        return
    for start, end, text in places or line.parts():
        if made := line.with_step(verb.partition(".")[0], text, number or "0.0"):
            yield start, end, made


_KINDS = {"comparison": _comparisons, "constant": _constants, "operator": _operators, "operand": _operands, "around": _steps}  # fmt: skip
FIX = FixMaker(("DEP006",), of_proofs(written))

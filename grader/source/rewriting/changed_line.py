"""Writes the change of a counterfactual run into a kernel's line: another sign, number or name, or one more step.

The line is split into words, so that CUDA and Triton are handled alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from grader.records import Edit, Place, changes
from grader.source import Source
from grader.source.analysis import triton

VERBS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%", "and": "&", "or": "|",
    "ex2": "exp2", "lg2": "log2", "rcp": "1 /", "mov": "nothing",
}  # fmt: skip
"""Names of PTX's operators in source text."""
BETWEEN = frozenset("+-*/%&|")
WORD = re.compile(
    r"[A-Za-z_]\w*(?:\.\w+)*|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?[fFuUlL]*|[<>]{3}|[<>]{2}=?|[<>=!]=|->|&&|\|\||//|[-+*/%&|]=|\S"
)
SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_CALLS = {
    "abs": ("tl.abs({})", "fabsf({})"),
    "sqrt": ("tl.sqrt({})", "sqrtf({})"),
    "rsqrt": ("tl.rsqrt({})", "rsqrtf({})"),
    "exp": ("tl.exp({})", "expf({})"),
    "log": ("tl.log({})", "logf({})"),
    "max": ("tl.maximum({}, {})", "fmaxf({}, {})"),
    "min": ("tl.minimum({}, {})", "fminf({}, {})"),
    "neg": ("(-{})", "(-{})"),
    "rcp": ("(1 / {})", "(1 / {})"),
    "square": ("({0} * {0})", "({0} * {0})"),
    "inf": ('float("inf")', "INFINITY"),
}
"""Source forms of inserted steps in Triton and CUDA."""
Change = tuple[int, int, str]
"""Start and end on the line, and the new text."""


@dataclass(frozen=True)
class ChangedLine:
    """A line of a kernel, and the change of its compiled code that made a run right."""

    source: Source
    place: Place
    change: changes.KernelChange

    @cached_property
    def text(self) -> str:
        """The line."""
        return "".join(self.source.lines[self.place.line - 1 : self.place.line])

    @cached_property
    def words(self) -> list[re.Match[str]]:
        """Its words before a comment."""
        return list(WORD.finditer(re.sub(r"#.*" if self._in_triton else r"//.*", "", self.text)))

    @property
    def _in_triton(self) -> bool:
        return self.place.language == "python"

    def edit(self, change: Change) -> Edit:
        """Return a change as an edit of the submission."""
        start = self.source.positions.offset(self.place.line, 0)
        return Edit(start=start + change[0], end=start + change[1], text=change[2])

    def exact(self) -> list[Change]:
        """Return the places of the changed value, where the line has a word for it."""
        match self.change:
            case changes.OtherComparison(before=before, after=after):
                return list(self._comparisons(before.name, after.name))
            case changes.OtherConstant(before=before, after=after):
                return list(self._constants(float(before), after))
            case changes.OtherOperator(before=before, after=changes.Operation() as after):
                return list(self._operators(before, after))
            case changes.AddedToOld(after=joined):
                return list(self._added_up(joined.name))
            case changes.OtherOperand(before=before, after=after):
                names = self.name_of(before), self.name_of(after)
                return self._each(*names) if all(names) else []
            case changes.OneMoreStep(before=value, after=step):
                name = self.name_of(value)
                return self._steps([(*w.span(), w[0]) for w in self.words if w[0] == name], step)
        return []

    def likely(self) -> list[Change]:
        """Return ways to write a change of a value without a word in the line."""
        match self.change:
            case changes.OtherOperand(before=before, after=after):
                old, new = (self.name_where_made(one) for one in (before, after))
                return [(a, b, new) for a, b, name in self._variables(0) if new and new != name and old in {"", name}]  # fmt: skip
            case changes.OneMoreStep(after=step):
                whole = [self._whole_of(sign) for sign in self._assignments()[:1]]
                variables = self._variables(whole[0][0] if whole else 0)
                first = variables[: 2 * self._in_triton]
                every = list(dict.fromkeys([*first, *whole, *self._arguments()[:2], *variables]))
                return self._steps(every if self._in_triton else every[:2], step)
        return []

    def _whole_of(self, sign: re.Match[str]) -> Change:
        """Return the whole right side of the line's assignment."""
        end = self.words[-1].start() if self.words[-1][0] == ";" else len(self.text.rstrip())
        start = sign.end() + len(self.text[sign.end() :]) - len(self.text[sign.end() :].lstrip())
        return start, end, self.text[start:end]

    def _arguments(self) -> list[Change]:
        """Return the arguments of calls, the last first."""
        return [(*one.span(1), one[1]) for one in _ARGUMENT.finditer(self.text)][::-1]

    @property
    def of_two(self) -> bool:
        """Whether two values of the line are changed."""
        return (
            isinstance(self.change, changes.OtherOperand | changes.OneMoreStep) and self.change.both
        )

    def of_both(self) -> list[list[Change]]:
        """Return ways to write a change of two values: exchanged, or with the same step on both."""
        match self.change:
            case changes.OtherOperand(before=before, after=after):
                names = {self.name_of(before), self.name_of(after)} - {""}
                used = [word for word in self.words if word[0] in names and len(names) > 1]
                return [[(*w.span(), *(names - {w[0]})) for w in used]]  # type: ignore[misc]
            case changes.OneMoreStep(after=step):
                single = [self._steps([one], step) for one in self._variables(0)[:4]]
                return [[*one, *other] for one, other in combinations(single, 2)]
        return []

    def _variables(self, start: int) -> list[Change]:
        """Return the variables from somewhere on, the last first."""
        names = [w for w in self.words if w.start() >= start and w[0].isidentifier()]
        used = [w for w in names if not re.match(r"\(|\s*=(?!=)", self.text[w.end() :])]
        return [(*word.span(), word[0]) for word in reversed(used)]

    def name_of(self, value: changes.KernelValue) -> str:
        """Return a value's name in the text; empty where it has none."""
        return self.name_where_made(value) if value.named else ""

    def name_where_made(self, value: changes.KernelValue) -> str:
        """Return an index of the launch, a parameter, or the name that a value's line assigns; empty where it is not unique."""
        if value.origin == "argument":
            return "".join(_parameters(self.source, self.place)[value.number : value.number + 1])
        if value.origin == "index":
            return self._index(value.register)
        known = 0 < value.number <= len(self.source.lines)
        names = names_set(self.source.lines[value.number - 1]) if known else set()
        return names.pop() if len(names) == 1 else ""

    def _index(self, register: str) -> str:
        """Return the source form of an index of the launch."""
        special = re.fullmatch(r"%(n?)(tid|ctaid)\.([xyz])", register)
        if special and self._in_triton:
            program = f"tl.program_id({'xyz'.index(special[3])})"
            kept = re.search(rf"(\w+) = {re.escape(program)}$", self.source.code, re.MULTILINE)
            return kept[1] if kept else program
        grid = {"tid": "threadIdx", "ntid": "blockDim", "ctaid": "blockIdx", "nctaid": "gridDim"}
        return f"{grid[special[1] + special[2]]}.{special[3]}" if special else ""

    def beside(self, step: changes.Operation) -> str:
        """Return an operation's second operand: a number, or the text's name of another value."""
        return step.number or (self.name_of(step.values[0]) if len(step.values) == 1 else "")

    def _each(self, old: str, new: str) -> list[Change]:
        return [(*word.span(), new) for word in self.words if word[0] == old != new]

    def _comparisons(self, before: str, after: str) -> Iterator[Change]:
        """Yield the changed sign of a comparison; compilers may reverse comparisons, and negate them for jumps."""
        if {before, after} in ({"ge", "gt"}, {"lt", "le"}) and (end := _TURNS.search(self.text)):
            yield (*end.span(1), f"tl.cdiv({end[2]}, {end[3]})")  # one more iteration
            return
        ways = [(before, after), (_NEGATED[before], _NEGATED[after])]
        turned = [(_TURNED[one], _TURNED[other]) for one, other in ways]
        ways = [ways[0], turned[0], ways[1]] if self._in_triton else [*ways, turned[0]]
        for one, other in (*ways, turned[1]):
            if found := self._each(SIGNS[one], SIGNS[other]):
                yield from found
                return

    def _constants(self, before: float, after: str) -> Iterator[Change]:
        after = after if before >= 0 else f"-{after}".removeprefix("--")
        infinite = after.replace("inf", self._filled_in("inf"))
        for word in self.words:
            number = re.fullmatch(r"(\.?\d[\d.]*(?:e[-+]?\d+)?)([fFuUlL]*)", word[0])
            if number and abs(float(number[1]) - abs(before)) <= 1e-6 * float(number[1]):
                point = ".0" if "." in number[1] and after.lstrip("-").isdecimal() else ""
                yield (*word.span(), infinite if "inf" in after else f"{after}{point}{number[2]}")

    def _operators(self, before: changes.Operation, after: changes.Operation) -> Iterator[Change]:
        old, new = (VERBS.get(one.name, one.name) for one in (before, after))
        if old in BETWEEN and new in BETWEEN:
            whole = self._in_triton and before.type != "f32"
            old, new = (sign.replace("/", "//") if whole else sign for sign in (old, new))
            yield from (*self._each(old, new), *self._each(f"{old}=", f"{new}="))
        for word in self.words if old not in BETWEEN and self._filled_in(new) else ():
            if word[0] in {f"tl.{old}", f"tl.{old}imum", f"f{old}f", f"{old}f", f"f{old}", old}:
                yield (*word.span(), self._filled_in(new).partition("(")[0])

    def _steps(self, places: Sequence[Change], step: changes.Operation) -> list[Change]:
        """Return values with the step that the run added."""
        if step.values and not self.beside(step):
            return []
        made = [(a, b, self._step(step, text)) for a, b, text in places]
        return [(a, b, self._in_brackets(a, b, text, step.name)) for a, b, text in made if text]

    def _in_brackets(self, start: int, end: int, text: str, verb: str) -> str:
        """Return a step with only the parentheses that it needs in its place."""
        before, after = self.text[:start].rstrip()[-1:], self.text[end:].lstrip()[:1]
        alone = before in set("(,=[") and after in {"", *"]),;"}
        sign = VERBS.get(verb, verb)
        if verb in {"square", "neg", "rcp"}:  # these have their own
            return text[1:-1] if alone else text
        tight = sign in set("*/%") and before not in set("*/%") and after not in set("[.(")
        return text if alone or tight or sign not in BETWEEN else f"({text})"

    def _step(self, step: changes.Operation, text: str) -> str:
        if step.name in {"if", "unless"}:
            return self._where(step, text)
        sign, number = VERBS.get(step.name, step.name), self.beside(step)
        inner = text if not _is_looser(text, sign) else f"({text})"
        if sign in BETWEEN and number:
            whole = sign == "/" and self._in_triton and step.is_whole
            return f"{inner} {'//' if whole else sign} {number}".replace("+ -", "- ")
        own = inner if step.name in {"square", "neg", "rcp"} else text
        return self._filled_in(step.name, own, number or "0.0")

    def _where(self, step: changes.Operation, text: str) -> str:
        """Return a value masked by a condition."""
        name = self.name_where_made(step.values[0])
        filler = step.number.replace("inf", self._filled_in("inf")) if "inf" in step.number else f"{step.number}.0"  # fmt: skip
        sides = (text, filler) if step.name == "if" else (filler, text)
        form = "tl.where({}, {}, {})" if self._in_triton else "({} ? {} : {})"
        return form.format(name, *sides) if name else ""

    def _added_up(self, verb: str) -> Iterator[Change]:
        """Yield an assignment in a loop rewritten as an accumulation."""
        for sign in [one for one in self._assignments()[:1] if one[0] == "="]:
            end = self.words[-1].start() if self.words[-1][0] == ";" else len(self.text)
            name = self.words[self.words.index(sign) - 1][0]
            if VERBS.get(verb) in BETWEEN:
                yield (*sign.span(), f"{VERBS[verb]}=")
            elif made := self._filled_in(verb, name, self.text[sign.end() : end].strip()):
                yield sign.end(), end, f" {made}"

    def _assignments(self) -> list[re.Match[str]]:
        single = self.text.count("(") == self.text.count(")") and ";" not in self.text.rstrip(" ;")
        return [w for w in self.words if single and re.fullmatch(r"[-+*/]?=", w[0])]

    def _filled_in(self, function: str, *parts: str) -> str:
        words = _CALLS.get(function, ("", ""))[0 if self._in_triton else 1]
        return words.format(*parts) if parts else words


_ARGUMENT = re.compile(
    r"[(,]\s*((?:[^(),=\[\]]|\[[^(),\[\]]*\])*?(?<![\d.])[A-Za-z_](?:[^(),=\[\]]|\[[^(),\[\]]*\])*?)\s*(?=[,)])"
)
_TURNS = re.compile(r"\brange\((?:[^()]*, )?(([\w.]+) // ([\w.]+))\):")
_LOOSE = re.compile(r"[?<>&|^=]|\b(?:if|and|or|not)\b")
_SUMS = re.compile(r"(?<=[\w)\]])\s*[-+](?!=)")


def _is_looser(text: str, sign: str) -> bool:
    """Whether a sign beside an expression would bind to only a part of it."""
    inside = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
    while (less := inside.sub("x", text)) != text:
        text = less
    tight = sign not in {"+", "-"}
    return bool(_LOOSE.search(text) or (tight and _SUMS.search(text)))


_SETS = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:[-+*/%&|^]|<<|>>)?=(?!=)")


def names_set(line: str) -> set[str]:
    """Return the names that a line assigns outside parentheses, and a loop's own."""
    line, before = re.sub(r"\bfor\s*\(", "", line), ""
    while line != before:
        line, before = re.sub(r"\([^()]*\)", "", line), line
    return set(_SETS.findall(line))


def _parameters(source: Source, place: Place) -> Sequence[str]:
    """Return the parameter names of the kernel around a place."""
    for unit in source.units:
        for kernel in unit.kernels:
            whole = unit.place(kernel.node)
            if whole.line <= place.line <= whole.end_line:
                return tuple(one.name for one in kernel.parameters)
    for one in triton.kernels(source):
        if one.node.lineno <= place.line <= (one.node.end_lineno or 0):
            return tuple(name for name in one.parameters if name not in one.constants)
    return ()

"""Writes the right argument of a launch, proved by a counterfactual run, into the host code."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property

from grader.records import Edit, Place, changes
from grader.source import Source
from grader.source.analysis.passed import THE_GRID, plain
from grader.source.forward_arguments import bindings

IN_PYTHON = {
    "x": "{}",
    "1 / x": "1.0 / {}",
    "sqrt(x)": "{} ** 0.5",
    "1 / sqrt(x)": "{} ** -0.5",
    "x * x": "{0} * {0}",
    "1 - x": "1.0 - {}",
    "1 / (1 - x)": "1.0 / (1.0 - {})",
    "-x": "-{}",
    "x * log2(e)": "{} * 1.4426950408889634",
    "x * ln(2)": "{} * 0.6931471805599453",
    "2 * x": "2 * {}",
    "x / 2": "{} / 2",
    "x + 1": "{} + 1",
    "x - 1": "{} - 1",
    "x // 2": "{} // 2",
}
"""Formulas of the right number from the passed one."""
IN_CPP = IN_PYTHON | {"sqrt(x)": "sqrtf({})", "1 / sqrt(x)": "rsqrtf({})", "x // 2": "{} / 2"}


_NAME = re.compile(r"[A-Za-z_][\w.]*")


@dataclass(frozen=True)
class _Argument:
    """A launch's wrong argument, at the host code's place to blame."""

    source: Source
    place: Place
    change: changes.OtherArgument

    @cached_property
    def span(self) -> tuple[int, int]:
        offset, place = self.source.positions.offset, self.place
        return offset(place.line, place.column), offset(place.end_line, place.end_column)

    @cached_property
    def text(self) -> str:
        return self.source.code[slice(*self.span)]

    @property
    def in_python(self) -> bool:
        return self.place.language == "python"

    def instead(self) -> str:
        """Return the right argument's text; empty where that is impossible."""
        match self.change.after:
            case changes.PassedNumber(formula=formula, of=str() as number):
                return self._formula(formula, from_task=bool(number))
            case changes.PassedTensor(exchanged_dims=(_, _) as dims):
                return f"{self.text}.transpose{dims}.contiguous()" if self.in_python else ""
            case changes.PassedTensor(name=name):
                return self._weight(name) or self._in_place_of_text(self._name_in_function(name))
            case changes.PassedArgument(text=text) if len(self.change.before) == 1:
                return self._in_place_of_text(text if _NAME.fullmatch(text) else "")
            case changes.PassedSize(tensor=tensor, first=dim, last=last) if dim == last:
                name = self._name_in_function(tensor)
                size = f"{name}.shape[{dim}]" if self.in_python else f"{name}.size({dim})"
                return size if name else ""
        return ""

    def _formula(self, formula: str, *, from_task: bool) -> str:
        """Return a formula of the present argument; for a number of the task, of the only name in it."""
        given, formulas = self.text, IN_PYTHON if self.in_python else IN_CPP
        if from_task:
            names = set(re.findall(r"(?<![\w.])[A-Za-z_][\w.]*", given)) - {"float", "int"}
            given = names.pop() if len(names) == 1 else ""
        written = formulas.get(formula, "") if given else ""
        bare = re.fullmatch(r"[\w.]+(\([^()]*\))?", given)
        return written.format(given if bare or written.endswith("f({})") else f"({given})")

    def _weight(self, name: str) -> str:
        """Return the weight behind an argument, without operations on it."""
        own = re.match(rf"[\w.]*\.{re.escape(name.rpartition('.')[2])}\b", self.text)
        return (
            own[0] + ".contiguous()" * (".contiguous()" in self.text) if own and "." in name else ""
        )

    def _in_place_of_text(self, name: str) -> str:
        return self.text.replace(plain(self.text), name) if name else ""

    def _name_in_function(self, name: str) -> str:
        """Return the local name of a task's input in the function around the argument; other names unchanged."""
        wanted = re.fullmatch(r"input (\d+)", name)
        if wanted is None:
            return name if _NAME.fullmatch(name) else ""
        known = self._inputs_in_python() if self.in_python else self._inputs_in_cpp()
        return known.get(int(wanted[1]) - 1, "")

    def _inputs_in_cpp(self) -> dict[int, str]:
        functions = ((u.place(f.node), f) for u in self.source.units for f in u.host_functions)
        around = (f for at, f in functions if at.line <= self.place.line <= at.end_line)
        passed = (one for f in around for one in bindings(self.source, f).items())
        return {one.index: name for name, one in passed if one.kind == "tensor"}

    def _inputs_in_python(self) -> dict[int, str]:
        forward = self.source.module.method("forward")
        functions = self.source.walk(ast.FunctionDef)
        around = [f for f in functions if f.lineno <= self.place.line <= (f.end_lineno or 0)]
        if forward is None or not around:
            return {}
        host = max(around, key=lambda one: one.lineno)
        given = [one.arg for one in forward.args.args[1:]]
        if host is forward:
            return dict(enumerate(given))
        own = [one.arg for one in host.args.args if one.arg != "ctx"]
        return {
            given.index(name): own[at]
            for call in self.source.walk(ast.Call)
            if self.source.text(call.func).rpartition(".")[2] in {host.name, "apply"}
            for at, name in enumerate(plain(self.source.text(one)) for one in call.args)
            if name in given and at < len(own)
        }


def changed_argument(
    source: Source, place: Place, change: changes.OtherArgument
) -> tuple[Edit, ...]:
    """Return the edits that pass the right argument of a counterfactual run; none where that is impossible."""
    argument = _Argument(source, place, change)
    if change.receiver == THE_GRID or argument.text != change.given:
        return ()
    other = source.code[slice(*change.exchanged_with)]
    new = other or argument.instead()
    edits = [(*argument.span, new)]
    if other:
        edits.append((*change.exchanged_with, argument.text))
    known = new not in {"", argument.text}
    return tuple(Edit(start=a, end=b, text=text) for a, b, text in edits if known)

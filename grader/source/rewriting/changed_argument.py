"""What a changed run proved of host code: what it has to say, or what a launch had to be given, written into it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property

from grader.records import Counterfactual, Edit, Place
from grader.source import Source
from grader.source.analysis.passed import plain
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
"""How a number is written that had to be passed, of another."""
IN_CPP = IN_PYTHON | {"sqrt(x)": "sqrtf({})", "1 / sqrt(x)": "rsqrtf({})", "x // 2": "{} / 2"}
NUMBER_OF_TASK = re.compile(r"\(argument \d+ of \w+\)")


@dataclass(frozen=True)
class _Argument:
    """What a launch is given, at the place of the host code that has it to blame."""

    source: Source
    place: Place
    change: Counterfactual

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
        """Return what had to be passed; empty where that can't be written."""
        after, given = self._formula()
        size = re.fullmatch(r"(.+): size\((\d+)\)", after)
        dims = self.change.exchanged_dims
        formulas = IN_PYTHON if self.in_python else IN_CPP
        if after in formulas:
            formula, bare = formulas[after], re.fullmatch(r"[\w.]+(\([^()]*\))?", given)
            return formula.format(given if bare or formula.endswith("f({})") else f"({given})")
        if dims:
            return f"{self.text}.transpose{dims}.contiguous()" if self.in_python else ""
        own = re.match(rf"[\w.]*\.{re.escape(after.rpartition('.')[2])}\b", self.text)
        if own and "." in after:  # a weight that is passed, without what is made of it
            return own[0] + ".contiguous()" * (".contiguous()" in self.text)
        name = self._name_in_function(size[1] if size else after.strip("`"))
        if size and name:
            return f"{name}.shape[{size[2]}]" if self.in_python else f"{name}.size({size[2]})"
        return self.text.replace(plain(self.text), name) if name else ""

    def _formula(self) -> tuple[str, str]:
        """Return what had to be passed in terms of `x`, and what `x` is: what is passed now, or the only name in it."""
        names = set(re.findall(r"(?<![\w.])[A-Za-z_][\w.]*", self.text)) - {"float", "int"}
        if NUMBER_OF_TASK.search(self.change.after) and len(names) == 1:
            return NUMBER_OF_TASK.sub("x", self.change.after).replace("(x)", "x"), names.pop()
        return self.change.after, self.text

    def _name_in_function(self, name: str) -> str:
        """Return what the function around the argument calls an input of the task; another name as it is."""
        wanted = re.fullmatch(r"input (\d+)", name)
        if wanted is None:
            return name if re.fullmatch(r"[A-Za-z_][\w.]*", name) else ""
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


def changed_argument(source: Source, place: Place, change: Counterfactual) -> tuple[Edit, ...]:
    """Return the edits that pass what a launch had to be given for a run to be right; none where that can't be written."""
    if change.edits:
        return tuple(Edit(start=a, end=b, text=text) for a, b, text in change.edits)
    argument = _Argument(source, place, change)
    if change.parameter == "the grid" or argument.text != change.before:
        return ()
    other = source.code[slice(*change.exchanged_with)]
    new = other or argument.instead()
    edits = [(*argument.span, new)]
    if other:
        edits.append((*change.exchanged_with, argument.text))
    known = new not in {"", argument.text}
    return tuple(Edit(start=a, end=b, text=text) for a, b, text in edits if known)

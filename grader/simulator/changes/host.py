"""Changes of Python host code: each is an edit of its text, which is run and then offered as the fix."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice

from grader.records import Edit
from grader.records.changes import OtherHostCode
from grader.simulator.changes.change import Change, Edited
from grader.simulator.changes.host_alike import alike_forms
from grader.simulator.changes.host_constructor import (
    CONSTRUCTOR,
    constructor_names,
    is_in_constructor,
    is_module_made,
)
from grader.simulator.changes.host_forms import Form, around, forms
from grader.simulator.changes.host_names import OWN, alike_names, kept_settings
from grader.simulator.changes.host_results import makes_up
from grader.source import Source, parse
from grader.source.analysis import triton
from grader.source.scopes import FunctionNode

MOST = 1200
"""Most changes of host code."""
NOT_RUN = frozenset({"get_inputs", "get_init_inputs", "main", "test", "setup_context"})
"""Names of functions outside forward and backward."""
REFERENCE = "Model"
MOST_TENSORS = 3
STEP_LEFT_OUT = "pass"


def host_changes(code: str, reference: str) -> Iterator[Change]:
    """Yield changes of the functions that forward and backward run, the likeliest first."""
    source = parse(code)
    host = _Host(source, _numbers(reference))
    made: list[Change] = []
    for statement in source.module.tree.body:
        single = list(host.forms(statement))
        made += [host.change(statement, form) for form in single]
        alike = alike_forms(source.module, single)
        made += [
            _join_places([host.change(statement, one) for one in several]) for several in alike
        ]
    apart = {(one.text, one.key): one for one in made if one.changed.before != one.changed.after}
    yield from islice(sorted(apart.values(), key=lambda one: one.prior), MOST)


def proposed_changes(code: str, edits: Iterable[Edit]) -> Iterator[Change]:
    """Yield the changes proposed by findings for host code, which come first since there are few."""
    source = parse(code)
    host = _Host(source, ())
    for edit in edits:
        for statement in source.module.tree.body:
            start, end = source.span(statement)
            if start <= edit.start and edit.end <= end and host.holds(statement):
                yield _change(source, statement, (edit.start, edit.end), edit.text, 0)


def _numbers(reference: str) -> tuple[float, ...]:
    """Return the numbers that the reference uses."""
    found = (node.value for node in parse(reference).walk(ast.Constant))
    numbers = (n for n in found if isinstance(n, int | float) and not isinstance(n, bool))
    return tuple(dict.fromkeys(float(n) for n in numbers))


def _change(
    source: Source,
    statement: ast.stmt,
    at: tuple[int, int],
    after: str,
    prior: int,
    makes_up: bool = False,
) -> Change:
    start, end = at
    begin = source.positions.offset(statement.lineno, 0)
    if isinstance(statement, ast.ClassDef | FunctionNode):
        lines = (one.lineno for one in (*statement.decorator_list, statement))
        begin = source.positions.offset(min(lines), 0)
    whole = (begin, source.span(statement)[1])
    named = (source.positions.locate(begin)[0], source.code[slice(*whole)])
    line = source.place((start, end)).line
    constructs = is_in_constructor(statement, line)
    edited = Edited(named, start - begin, end - begin, after, constructs=constructs)
    other = OtherHostCode((source.code[start:end],), (after,), makes_up)
    return Change("", line, other, -1, -1, (), prior, text=edited)


def _join_places(changes: Sequence[Change]) -> Change:
    """Return changes of several places of a statement as one."""
    changes = sorted(changes, key=lambda one: one.text.start if one.text else 0)
    texts = [one.text for one in changes if one.text]
    start, end, whole = texts[0].start, texts[-1].end, texts[0].whole
    after, at = "", start
    for one in texts:
        after, at = after + whole[1][at : one.start] + one.after, one.end
    pieces = tuple((t.start, t.end, t.after) for t in texts)
    constructs = any(one.constructs for one in texts)
    edited = Edited(whole, start, end, after, pieces, constructs=constructs)
    first, also = changes[0], tuple({one.line for one in changes} - {changes[0].line})
    written = [one.after for one in texts[: 1 if also else None]]
    had = [whole[1][one.start : one.end] for one in texts[: 1 if also else None]]
    other = OtherHostCode(tuple(had), tuple(written))
    return replace(first, changed=other, text=edited, also=also, prior=first.prior + 1)


@dataclass(frozen=True)
class _Names:
    """Alternative names in a host function."""

    tensors: Sequence[str] = ()
    """Arguments whose sizes may have to divide its results."""
    alike: Mapping[str, Sequence[str]] = field(default_factory=dict)
    kept: Sequence[str] = ()
    """What the layer keeps, that a number may have to be."""
    numbers: bool = False
    """Whether it is a constructor: what it keeps and does not make with torch are numbers."""


@dataclass(frozen=True)
class _Host:
    """The host code of a text."""

    source: Source
    known: Sequence[float]

    @cached_property
    def _kernels(self) -> frozenset[ast.AST]:
        return frozenset(one.node for one in triton.kernels(self.source))

    @cached_property
    def _kept(self) -> Sequence[str]:
        return kept_settings(self.source)

    @cached_property
    def _constants(self) -> frozenset[ast.AST]:
        """Compile-time parameters of launches; another value recompiles the kernel."""
        return frozenset(
            value
            for one in triton.launches(self.source)
            for name, value in one.arguments.items()
            if name in one.kernel.constants
        )

    def change(self, statement: ast.stmt, form: Form) -> Change:
        """Return the change for another form of an expression."""
        first, last, after, prior = form
        at = self.source.span(first)[0], self.source.span(last)[1]
        function = self.source.module.function_of(first)
        lacks = makes_up(function, first, self.source.text(first), after)
        return _change(self.source, statement, at, after, prior, lacks)

    def holds(self, statement: ast.stmt) -> bool:
        """Whether a statement of the module is a definition of host code."""
        return isinstance(statement, ast.ClassDef | FunctionNode) and statement not in self._kernels

    def forms(self, statement: ast.stmt) -> Iterator[Form]:
        """Yield the alternatives of one statement of the module."""
        match statement:
            case ast.Assign(targets=[ast.Name()], value=value) if not self._is_text(value):
                yield from self._inside(value, _Names())
            case ast.ClassDef(name=name) if name != REFERENCE:
                for inner in statement.body:
                    yield from self.forms(inner) if isinstance(inner, FunctionNode) else ()
            case ast.FunctionDef(name=name) if name not in NOT_RUN and statement not in self._kernels:  # fmt: skip
                given = [one.arg for one in statement.args.args if one.arg not in OWN]
                made = name == CONSTRUCTOR and constructor_names(statement)
                kept = () if made else self._kept
                names = _Names(
                    given[:MOST_TENSORS], made or alike_names(statement), kept, bool(made)
                )
                for inner in statement.body:
                    yield from self._of_statement(inner, names)

    @staticmethod
    def _is_text(value: ast.expr) -> bool:
        """Whether a node is code of another language, or is evaluated at import."""
        return not isinstance(value, ast.Constant | ast.UnaryOp | ast.BinOp) or (
            isinstance(value, ast.Constant) and isinstance(value.value, str)
        )

    def _of_statement(self, statement: ast.stmt, names: _Names) -> Iterator[Form]:
        names = replace(names, alike={}) if is_module_made(statement) else names
        for node in _blocks(statement):
            yield from self._of_statement(node, names)
        for value in ast.iter_child_nodes(statement):
            if isinstance(value, ast.expr) and not _is_target(statement, value):
                yield from self._inside(value, names)
        for value in () if is_module_made(statement) else _values(statement):
            sized = None if names.numbers else names.tensors if isinstance(statement, ast.Return) else ()  # fmt: skip
            yield from around(value, self.source.text, sized)
        match statement:
            case ast.AugAssign() | ast.Expr(value=ast.Call(func=ast.Attribute())):
                yield statement, statement, STEP_LEFT_OUT, 1

    def _inside(self, value: ast.expr, names: _Names) -> Iterator[Form]:
        """Yield the alternatives of an expression and of its parts."""
        todo: list[ast.AST] = [value]
        while todo:
            node = todo.pop()
            if node in self._constants or isinstance(node, ast.JoinedStr):
                continue
            if isinstance(node, ast.expr):
                yield from forms(node, self.source.text, self.known)
                others = names.alike.get(self.source.text(node), ())
                if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
                    others = names.kept
                prior = 0 if names.numbers else 2
                outer = next(self.source.module.ancestors(node), None)
                alone = isinstance(outer, ast.Call | ast.Assign)
                texts = (
                    re.sub(r"^\((.*)\)$", r"\1", other) if alone else other for other in others
                )
                yield from ((node, node, text, prior) for text in texts)
            todo += _parts(node)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node's parts; of a call its object, not its name."""
    for part in ast.iter_child_nodes(node):
        if isinstance(node, ast.Call) and part is node.func and not isinstance(part, ast.Subscript):
            yield from ast.iter_child_nodes(part)
        else:
            yield part


def _blocks(statement: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the statements inside of one."""
    parts = (getattr(statement, name, []) for name in ("body", "orelse", "finalbody"))
    yield from chain.from_iterable(parts)


def _is_target(statement: ast.stmt, value: ast.expr) -> bool:
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    return value in targets


def _values(statement: ast.stmt) -> Iterator[ast.expr]:
    """Yield the values that a statement assigns or returns, each separately."""
    match statement:
        case ast.Return(value=ast.Tuple(elts=parts)) | ast.Assign(value=ast.Tuple(elts=parts)):
            yield from parts
        case ast.Return(value=ast.expr() as value) | ast.Assign(value=ast.expr() as value):
            yield value

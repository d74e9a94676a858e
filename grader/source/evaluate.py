"""Static evaluation of string expressions.

Follows names, concatenation, f-strings, `join`, `format`, `replace`, `strip`, `dedent`, lists,
dictionaries, class attributes, parameters and results of helper functions. Unknown parts are marked (`Text.resolved`),
never guessed.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import singledispatchmethod

from grader.source.files import file_of, written_files
from grader.source.literals import MAX_MARKS, plain_hole, read_literals, unknown_name
from grader.source.positions import Positions
from grader.source.scopes import (
    Binding,
    Scope,
    add_instance_attributes,
    call_scope,
    class_names,
    dotted_name,
    read_scope,
)
from grader.source.string_methods import METHODS, dedent_text
from grader.source.text import UNKNOWN, Text, Value, arithmetic, computed_text, join

MAX_DEPTH = 40
MAX_STEPS = 20_000
"""Most expressions evaluated in one program; one that doubles a string 40 times stops here."""
MAX_LENGTH = 16_000_000
"""Most characters of all concatenations together."""


@dataclass
class Evaluator:
    """Evaluates expressions of one program."""

    positions: Positions
    module: Scope
    classes: dict[str, Scope]
    files: dict[str, ast.expr] = field(default_factory=dict)
    """Texts that the program writes into files, by file name."""
    _depth: int = field(default=0, init=False)
    _steps: int = field(default=0, init=False)
    _length: int = field(default=0, init=False)
    _constants: dict[ast.Constant, Value] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, positions: Positions, tree: ast.Module) -> Evaluator:
        """Return the evaluator of a parsed program."""
        module = read_scope(tree, None)
        classes = {
            node.name: read_scope(node, module)
            for node in tree.body
            if isinstance(node, ast.ClassDef)
        }
        for scope in classes.values():
            add_instance_attributes(scope)
        return cls(positions, module, classes, written_files(tree))

    def value(self, node: ast.expr | None, scope: Scope) -> Value:
        """Return an expression's value in a scope, or UNKNOWN."""
        if node is None or self._depth > MAX_DEPTH or self._steps > MAX_STEPS:
            return UNKNOWN
        self._depth += 1
        self._steps += 1
        try:
            return self._evaluate(node, scope)
        finally:
            self._depth -= 1

    def text(self, node: ast.expr, scope: Scope) -> Text:
        """Return an expression's value as text; an unknown one becomes an unresolved name."""
        return self.as_text(self.value(node, scope), node)

    def as_text(self, value: Value, node: ast.expr) -> Text:
        """Return the value of an expression as text."""
        return (
            value if isinstance(value, Text) else _spell_number(value, *self.positions.span(node))
        )

    @singledispatchmethod
    def _evaluate(self, node: ast.expr, scope: Scope) -> Value:
        """Evaluate one kind of expression; kinds without a method are unknown."""
        del node, scope
        return UNKNOWN

    @_evaluate.register
    def _(self, node: ast.Constant, scope: Scope) -> Value:
        del scope
        if node not in self._constants:
            self._constants[node] = self._read_constant(node)
        return self._constants[node]

    def _read_constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, str):
            text = read_literals(self.positions.text, *self.positions.span(node), _no_hole)
            return text if text is not None and text.value == node.value else self._inexact(node)
        return node.value if isinstance(node.value, (int, float, type(None))) else UNKNOWN

    def _inexact(self, node: ast.Constant) -> Text:
        return computed_text(str(node.value), *self.positions.span(node))

    @_evaluate.register
    def _(self, node: ast.JoinedStr, scope: Scope) -> Value:
        def hole(expression: str, start: int, end: int) -> Text:
            value = self._hole(expression, scope)
            if isinstance(value, Text):
                return computed_text(value.value, start, end, resolved=value.resolved)
            return _spell_number(value, start, end)

        if len(node.values) > MAX_MARKS:
            return UNKNOWN
        text = read_literals(self.positions.text, *self.positions.span(node), hole)
        return UNKNOWN if text is None else text

    def _hole(self, expression: str, scope: Scope) -> Value:
        """Evaluate an f-string's hole where it is a plain name or number."""
        tree = plain_hole(expression)
        if isinstance(tree, ast.Constant):
            return tree.value if isinstance(tree.value, int) else UNKNOWN
        return self.value(tree, scope)

    @_evaluate.register
    def _(self, node: ast.Name, scope: Scope) -> Value:
        return self._lookup(node.id, node, scope)

    def _lookup(self, name: str, node: ast.expr, scope: Scope) -> Value:
        here: Scope | None = scope
        first = True
        while here is not None:
            if not isinstance(here.node, ast.ClassDef) or first:
                if bindings := here.bindings.get(name):
                    before = (node.lineno, node.col_offset) if first else None
                    return self._evaluate_bindings(bindings, here, before)
                if name in here.parameters:
                    return self.value(*here.parameters[name])
            here, first = here.parent, False
        return UNKNOWN

    def _evaluate_bindings(
        self, bindings: list[Binding], scope: Scope, before: tuple[int, int] | None
    ) -> Value:
        """Evaluate the assignments to a name in order; with `before`, only those above the use."""
        value: Value = UNKNOWN
        doubtful = False
        for binding in bindings:
            if before is not None and binding.at >= before and value is not UNKNOWN:
                break
            new = self.value(binding.value, scope)
            doubtful = binding.conditional and value is not UNKNOWN
            value = self._plus(value, new, binding.value) if binding.augmented else new
        return value.mark_unresolved() if doubtful and isinstance(value, Text) else value

    @_evaluate.register
    def _(self, node: ast.Attribute, scope: Scope) -> Value:
        name = dotted_name(node)
        if not name:
            return UNKNOWN
        owner, _, attribute = name.rpartition(".")
        owners = [owner] if owner not in {"self", "cls"} else class_names(scope)
        for one in owners:
            found = self.classes.get(one)
            if found is not None and (bindings := found.bindings.get(attribute)):
                return self._evaluate_bindings(bindings, found, None)
        return self._lookup(name, node, scope)

    @_evaluate.register
    def _(self, node: ast.BinOp, scope: Scope) -> Value:
        # a chain of additions leans left and can be thousands long: walk it without recursion
        if isinstance(node.op, ast.Add):
            terms: list[ast.expr] = []
            left: ast.expr = node
            while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
                terms.append(left.right)
                left = left.left
            terms.append(left)
            return self._sum([(term, self.value(term, scope)) for term in reversed(terms)])
        left_value, right_value = self.value(node.left, scope), self.value(node.right, scope)
        if isinstance(left_value, Text) and isinstance(node.op, ast.Mod):
            return left_value.mark_unresolved()
        return arithmetic(node.op, left_value, right_value)

    def _sum(self, terms: list[tuple[ast.expr, Value]]) -> Value:
        values = [value for _, value in terms]
        if any(isinstance(value, Text) for value in values):
            texts = [self.as_text(value, node) for node, value in terms]
            return self.count_text(join(texts))
        result = values[0]
        for value in values[1:]:
            if isinstance(result, tuple) and isinstance(value, tuple):
                result = (*result, *value)
            else:
                result = arithmetic(ast.Add(), result, value)
        return result

    def _plus(self, left: Value, right: Value, node: ast.expr) -> Value:
        return self._sum([(node, left), (node, right)])

    @_evaluate.register
    def _(self, node: ast.List | ast.Tuple, scope: Scope) -> Value:
        items: list[Value] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                inner = self.value(item.value, scope)
                items += inner if isinstance(inner, tuple) else (UNKNOWN,)
            else:
                items.append(self.value(item, scope))
        return tuple(items)

    @_evaluate.register
    def _(self, node: ast.Dict, scope: Scope) -> Value:
        pairs: dict[str, Value] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                pairs[key.value] = self.value(item, scope)
        return pairs

    @_evaluate.register
    def _(self, node: ast.Subscript, scope: Scope) -> Value:
        owner, key = self.value(node.value, scope), self.value(node.slice, scope)
        if isinstance(owner, dict) and isinstance(key, Text):
            return owner.get(key.value, UNKNOWN)
        if isinstance(owner, tuple) and type(key) is int and -len(owner) <= key < len(owner):
            return owner[key]
        return UNKNOWN

    @_evaluate.register
    def _(self, node: ast.UnaryOp, scope: Scope) -> Value:
        value = self.value(node.operand, scope)
        return -value if isinstance(node.op, ast.USub) and type(value) is int else UNKNOWN

    @_evaluate.register
    def _(self, node: ast.IfExp, scope: Scope) -> Value:
        value = self.value(node.body, scope)
        return value.mark_unresolved() if isinstance(value, Text) else value

    @_evaluate.register
    def _(self, node: ast.Call, scope: Scope) -> Value:
        name = dotted_name(node.func)
        if name in {"textwrap.dedent", "dedent"} and node.args:
            value = self.value(node.args[0], scope)
            return dedent_text(value) if isinstance(value, Text) else UNKNOWN
        if name in {"str", "int", "list", "tuple"} and len(node.args) == 1 and not node.keywords:
            value = self.value(node.args[0], scope)
            return self.as_text(value, node) if name == "str" else value
        if isinstance(node.func, ast.Name):
            value = self._evaluate_return(node, node.func.id, scope)
            return self._passed_through(node, scope) if value is UNKNOWN else value
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func, scope)
        return UNKNOWN

    def _evaluate_return(self, call: ast.Call, name: str, scope: Scope) -> Value:
        """Return the value of a module function with a single `return`."""
        function = self.module.functions.get(name)
        if function is None:
            return UNKNOWN
        returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
        if len(returns) != 1:
            return UNKNOWN
        return self.value(returns[0].value, call_scope(function, call, scope, self.module))

    def _passed_through(self, call: ast.Call, scope: Scope) -> Value:
        """Assume that an unknown call returns its only source text argument."""
        values = [self.value(argument, scope) for argument in call.args]
        texts = [value for value in values if isinstance(value, Text) and "\n" in value.value]
        return texts[0].mark_unresolved() if len(texts) == 1 else UNKNOWN

    def _method(self, call: ast.Call, function: ast.Attribute, scope: Scope) -> Value:
        if function.attr in {"read", "read_text"} and (name := file_of(function.value)):
            return self.value(self.files.get(name), scope)
        owner = self.value(function.value, scope)
        if not isinstance(owner, Text):
            return UNKNOWN
        method = METHODS.get(function.attr)
        return owner.mark_unresolved() if method is None else method(self, owner, call, scope)

    def count_text(self, text: Text) -> Value:
        """Return a new text, as long as all of them together stay within bounds."""
        self._length += len(text.value)
        return text if self._length <= MAX_LENGTH else UNKNOWN


def _spell_number(value: Value, start: int, end: int) -> Text:
    """Return a number as text; an unresolved name if unknown."""
    if isinstance(value, (bool, int, float, str)):
        return computed_text(str(value), start, end)
    return computed_text(unknown_name(start), start, end, resolved=False)


def _no_hole(expression: str, start: int, end: int) -> Text:
    del expression
    return computed_text(unknown_name(start), start, end, resolved=False)

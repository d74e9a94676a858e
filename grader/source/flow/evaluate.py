"""Static evaluation of a text's expressions from earlier definitions: numbers, tensors, tuples of sizes.

Nothing is run: a name's value is its last definition before the use whose conditions hold.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.source import cpp
from grader.source.cpp_reading import parse_expression
from grader.source.flow.steps import Guard, Step, steps
from grader.source.flow.tensors import FRESH, Tensor, made_tensor, of_method
from grader.source.flow.values import binary, call_mathematics, convert_to
from grader.source.functions import Function
from grader.source.scalar_types import SIZES
from grader.source.units import Unit

DEEP = 60
"""Deepest nesting of followed names and calls."""
BUDGET = 20_000
"""Most expressions evaluated for one function."""
MOST_TURNS = 100


@dataclass(frozen=True, eq=False)
class Scope:
    """One call of a function or a lambda, with its parameters' values."""

    body: cpp.Stmt
    given: dict[str, Any]
    types: dict[str, str] = field(default_factory=dict)
    outer: "tuple[Scope, int] | None" = None
    """For a lambda: its enclosing scope and position."""
    constant: bool = False
    """Whether only `const` variables are known, as to a compiler."""


class Evaluator:
    """Evaluates expressions of one text; None means unknown."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._kept: dict[tuple[Scope, Step | cpp.Expr], Any] = {}
        self._depth = self._spent = 0

    def objects(self) -> Iterator[Any]:
        """Yield the objects made by steps and calls so far."""
        yield from self._kept.values()

    def value(self, expr: cpp.Expr | None, scope: Scope, at: int) -> Any:
        """Return an expression's value at a place."""
        self._spent += 1
        if expr is None or self._depth > DEEP or self._spent > BUDGET:
            return None
        self._depth += 1
        try:
            return self._value(expr, scope, at)
        finally:
            self._depth -= 1

    def _value(self, expr: cpp.Expr, scope: Scope, at: int) -> Any:  # noqa: C901, PLR0912
        def of(part: cpp.Expr | None) -> Any:
            return self.value(part, scope, at)

        match expr:
            case cpp.Number(value=number):
                return number
            case cpp.Name(id=name):
                return self.value_of_name(name, scope, at)
            case cpp.Unary(op="&" | "*", operand=inner):
                return of(inner)
            case cpp.Unary(op=op, operand=inner):
                return _unary(op, of(inner))
            case cpp.Binary(op="&&" | "||" | "and" | "or" as op, left=left, right=right):
                return _logical(op in {"||", "or"}, of(left), of(right))
            case cpp.Binary(op=op, left=left, right=right):
                sides = of(left), of(right)
                pointers = [one for one in sides if isinstance(one, Tensor)]
                return pointers[0] if pointers and op in {"+", "-"} else binary(op, *sides)
            case cpp.Select(test=test, yes=yes, no=no):
                held = of(test)
                return self._either(of(yes), of(no)) if held is None else of(yes if held else no)
            case cpp.Cast(operand=inner, type=kind):
                return (
                    of(inner)
                    if expr.pointer
                    else convert_to(of(inner), scope.types.get(kind, kind))
                )
            case cpp.SizeOf(type=kind):
                return self.size_of(kind, scope)
            case cpp.Items(items=items):
                parts = tuple(of(item) for item in items)
                return parts[-1] if expr.comma and parts else parts
            case cpp.Subscript(base=base, index=index):
                several, place = of(base), of(index)
                inside = isinstance(several, tuple) and isinstance(place, int)
                return several[place] if inside and -len(several) <= place < len(several) else None
            case cpp.Member(base=base, name=name):
                several = of(base) if name in "xyz" else None
                return (*several, 1, 1)["xyz".index(name)] if isinstance(several, tuple) else None
            case cpp.Lambda():
                return Scope(expr.body, {p.name: None for p in expr.parameters}, scope.types, (scope, at)), expr  # fmt: skip
            case cpp.Call():
                return self._call(expr, scope, at)
        return None

    @staticmethod
    def _either(new: Any, old: Any) -> Any:
        """Return the common knowledge of two possible values."""
        return new if new == old or isinstance(new, Tensor) else old if isinstance(old, Tensor) else None  # fmt: skip

    # names

    def value_of_name(self, name: str, scope: Scope, at: int) -> Any:
        """Return a name's value at a place."""
        made_at = [one for one in steps(scope.body) if one.name == name and one.at < at]
        return self._last(name, made_at, scope, at)

    def _last(self, name: str, before: Sequence[Step], scope: Scope, at: int) -> Any:
        if scope.constant:
            before = [one for one in before if isinstance(one.part, cpp.Declare) and _is_constant(one.part)]  # fmt: skip
        for k in reversed(range(len(before))):
            step = before[k]
            loops = [one for one in step.loops if not _holds(one, at)]
            if step.ends_turn and not loops:
                continue
            held = self.hold([one for one in step.guards if not _guards(one, at)], scope, step.at)
            if held is False:
                continue
            new = (
                self._after_loop(name, loops[0], scope)
                if loops
                else self._value_of_step(step, scope)
            )
            return new if held else self._either(new, self._last(name, before[:k], scope, at))
        if name in scope.given:
            return scope.given[name]
        return self.value_of_name(name, *scope.outer) if scope.outer else self._outside(name, scope)

    def _value_of_step(self, step: Step, scope: Scope) -> Any:
        """Return a variable's value after a step; one object for each step."""
        key = scope, step
        if key not in self._kept:
            self._kept[key] = None
            self._kept[key] = self._new(step, scope)
        return self._kept[key]

    def _new(self, step: Step, scope: Scope) -> Any:
        match step.part:
            case cpp.Declare(type=kind, init=init):
                value = self.value(init, scope, step.at)
                single = (
                    isinstance(value, tuple) and isinstance(init, cpp.Items) and len(value) == 1
                )
                plain = value[0] if single and kind != "dim3" and not step.part.dims else value
                plain = (plain,) if kind == "dim3" and not isinstance(plain, tuple) else plain
                return (
                    plain if step.part.pointer else convert_to(plain, scope.types.get(kind, kind))
                )
            case cpp.Assign(op="=", target=cpp.Name(), value=value):
                return self.value(value, scope, step.at)
            case cpp.Assign(op=op, target=cpp.Name(id=name), value=value):
                return binary(op[:-1], self.value_of_name(name, scope, step.at), self.value(value, scope, step.at))  # fmt: skip
            case cpp.Update(op=op, target=cpp.Name(id=name)):
                return binary(op[0], self.value_of_name(name, scope, step.at), 1)
        return None

    def _after_loop(self, name: str, loop: cpp.Loop, scope: Scope) -> Any:
        """Return a variable's value after a loop: `while (n < size) n *= 2;`."""
        start = int(loop.node.start_byte)
        inside = sorted(
            (one for one in steps(scope.body) if one.name and loop in one.loops),
            key=lambda one: one.ends_turn,
        )
        begun = {one.name: one for one in steps(scope.body) if one.name and _begins(one, loop)}
        values = {
            one.name: self._value_of_step(begun[one.name], scope)
            if one.name in begun
            else self.value_of_name(one.name, scope, start)
            for one in inside
        }
        for _ in range(MOST_TURNS):
            turn = Scope(cpp.Block(None, ()), values, scope.types, (scope, start))
            held = self.value(loop.test, turn, 0)
            if not held:
                return values.get(name) if held is not None else None
            for one in inside:
                own = [guard for guard in one.guards if _holds(loop, guard[0].node.start_byte)]
                again = self.hold(own, turn, 0) if one.loops[-1] is loop else None
                if again is not False:
                    values[one.name] = self._new(one, turn) if again else None
        return None

    def _outside(self, name: str, scope: Scope) -> Any:
        """Return a name's value at file scope."""
        last = name.rpartition("::")[2]
        macro, constant = self.unit.macros.get(name), self.unit.constants.get(name)
        if last in {"warpSize", "true", "false"}:
            return {"warpSize": 32, "true": 1, "false": 0}[last]
        if macro is not None and macro.parameters is None:
            return self.value(macro.expr, scope, 0)
        known = constant is not None and constant.const and not constant.dims
        return convert_to(self.value(constant.init, scope, 0), constant.type) if known and constant else None  # fmt: skip

    def size_of(self, written: str, scope: Scope) -> int | None:
        """Return a type's size in bytes; None for several types."""
        return bytes_of(written, {**self.unit.type_names, **scope.types})

    # conditions

    def hold(self, guards: Sequence[Guard], scope: Scope, at: int) -> bool | None:
        """Return whether all conditions hold; None where unknown."""
        held = [(self.value(test, scope, int(test.node.start_byte) if at else 0), wanted) for test, wanted in guards]  # fmt: skip
        if any(value is not None and bool(value) is not wanted for value, wanted in held):
            return False
        return None if any(value is None for value, _ in held) else True

    # calls

    def _call(self, expr: cpp.Call, scope: Scope, at: int) -> Any:
        key = scope, expr
        if key not in self._kept:
            self._kept[key] = None
            self._kept[key] = self._new_call(expr, scope, at)
        return self._kept[key]

    def _new_call(self, expr: cpp.Call, scope: Scope, at: int) -> Any:
        args = [self.value(one, scope, at) for one in expr.args]
        base = self.value(expr.base, scope, at)
        if isinstance(base, Tensor):
            return of_method(base, expr, args)
        if isinstance(base, tuple) and expr.base is not None and not isinstance(base[0] if base else 0, Scope):  # fmt: skip
            return len(base) if expr.name == "size" else base if expr.name == "vec" else None
        if expr.name in FRESH and ("torch" in expr.qualified or "at::" in expr.qualified):
            return made_tensor(expr, args[0] if args else None)
        if expr.name == "dim3":
            return tuple(args)
        return self._value_of_call(expr, scope, args, at)

    def _value_of_call(self, expr: cpp.Call, scope: Scope, args: list[Any], at: int) -> Any:
        """Return the value of a call: of a function of the text, a macro, or a mathematical function."""
        function, macro = self.unit.function_named(expr.name), self.unit.macros.get(expr.name)
        local = self.value_of_name(expr.qualified, scope, at) if expr.base is None else None
        if isinstance(local, tuple) and local and isinstance(local[0], Scope):
            inner, item = local
            named = dict(zip((p.name for p in item.parameters), args, strict=False))
            return self.value_returned(Scope(inner.body, named, inner.types, inner.outer))
        if function is not None and function.runs != "kernel" and expr.base is None:
            return self.value_returned(self.scope_of_call(function, args, expr.template, scope))
        if macro is not None and macro.parameters is not None:
            given = dict(zip(macro.parameters, args, strict=False))
            return self.value(macro.expr, Scope(cpp.Block(None, ()), given, scope.types, (scope, at)), 0)  # fmt: skip
        return call_mathematics(expr.name, args) if expr.base is None else None

    def scope_of_call(
        self, function: Function, args: Sequence[Any], template: Sequence[str], scope: Scope | None
    ) -> Scope:
        """Return the scope of a call of a function."""
        given = dict(zip((one.name for one in function.parameters), args, strict=False))
        types = dict(scope.types) if scope is not None else {}
        for index, one in enumerate(function.template_parameters):
            words = template[index] if index < len(template) else one.default
            if one.is_type:
                types[one.name] = types.get(words, words) or "float"
            else:
                given[one.name] = self.of_text(words, scope) if scope is not None else None
        return Scope(function.code, given, types)

    def of_text(self, words: str, scope: Scope, at: int = 1 << 40) -> Any:
        """Return the value of a piece of text, such as a template argument."""
        return self.value(parse_expression(words), scope, at)

    def value_returned(self, scope: Scope) -> Any:
        """Return a function's result: from its first `return` whose conditions hold."""
        for step in steps(scope.body):
            if isinstance(step.part, cpp.Return) and not step.lambdas:
                held = self.hold(step.guards, scope, step.at)
                if held is not False:
                    return self.value(step.part.value, scope, step.at) if held else None
        return None


OPEN = frozenset({"scalar_t", "T"})
"""Names of several types."""


def bytes_of(written: str, types: Mapping[str, str]) -> int | None:
    """Return the bytes of a type, with names resolved."""
    words = written.strip("() ").split()
    name = " ".join(word for word in words if word not in {"const", "volatile"})
    name = types.get(name, name).removeprefix("::")
    return 8 if name.endswith("*") else SIZES.get(name) if name not in OPEN else None


def _unary(op: str, value: Any) -> Any:
    if not isinstance(value, int | float):
        return None
    return {"-": -value, "!": not value, "+": value}.get(op, ~value if isinstance(value, int) else None)  # fmt: skip


def _logical(either: bool, left: Any, right: Any) -> bool | None:
    """Return `a || b`, or `a && b`."""
    if any(one is not None and bool(one) is either for one in (left, right)):
        return either
    return None if None in (left, right) else not either


def _is_constant(one: cpp.Declare) -> bool:
    return one.const and one.init is not None and not one.dims and not one.pointer


def _holds(part: cpp.Part, at: int) -> bool:
    return bool(part.node.start_byte <= at < part.node.end_byte)


def _guards(guard: Guard, at: int) -> bool:
    """Whether a place is in the same branch of a condition."""
    branch = guard[0].node
    while branch is not None and branch.type != "if_statement":
        branch = branch.parent
    field = "consequence" if guard[1] else "alternative"
    inner = branch.child_by_field_name(field) if branch is not None else None
    return inner is not None and bool(inner.start_byte <= at < inner.end_byte)


def _begins(step: Step, loop: cpp.Loop) -> bool:
    """Whether a step is the initialiser of a `for`."""
    init = loop.init
    return init is not None and init.node is not None and _holds(init, step.at)

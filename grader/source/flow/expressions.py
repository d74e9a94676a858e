"""Evaluates expressions in all threads of a block at once."""

from __future__ import annotations

from collections.abc import Mapping

from grader.source.flow.memory import Region
from grader.source.flow.operators import Operators
from grader.source.flow.program import Function
from grader.source.flow.scalar_types import type_letter
from grader.source.flow.state import Box, Frame
from grader.source.flow.trace import StopWalkError
from grader.source.flow.tree import (
    Assign,
    Binary,
    Call,
    Cast,
    Declare,
    Expr,
    Items,
    Lambda,
    LaunchCall,
    Member,
    Name,
    Node,
    Number,
    Select,
    SizeOf,
    Stmt,
    Subscript,
    Text,
    Unary,
    Unclear,
    Update,
)
from grader.source.flow.values import Pointer, Value, binary, merge, unknown
from grader.source.flow.variables import CELL

CALL_DEPTH = 8


class Machine(Operators):
    """A block of threads that runs a kernel's text (or, with one thread, the host's)."""

    node_here: Node = None
    """The name that is being evaluated."""

    def eval(self, expr: Expr) -> Value:
        """Evaluate an expression in the active threads."""
        how = _HOW.get(type(expr))
        return Value() if how is None else getattr(self, how)(expr)

    @staticmethod
    def _literal(expr: Number) -> Value:
        return Value(expr.value, expr.type, False)

    def _name(self, expr: Name) -> Value:
        self.node_here = expr.node
        return self.name(expr.id)

    def _subscript(self, expr: Subscript) -> Value:
        pointer = self.address(expr)
        if pointer is None and isinstance(expr.base, Member):
            return self._element(expr.base, expr.index)
        return self.load(pointer, expr.node)

    def _element(self, array: Member, index: Expr) -> Value:
        """Return an element of a struct's array: as alike in all threads as the struct and the index are."""
        box = self.find(array.base.id) if isinstance(array.base, Name) else None
        if box is None or box.value.pointer is not None:
            return Value(None, loaded=True)
        return unknown(box.value, self.eval(index))

    def _size_of(self, expr: SizeOf) -> Value:
        return Value(self.size_of(expr.type), "l", False)

    def _items(self, expr: Items) -> Value:
        parts = [self.eval(item) for item in expr.items]
        return (parts[-1] if expr.comma else unknown(*parts)) if parts else Value()

    @staticmethod
    def _lambda(expr: Lambda) -> Value:
        return Value(None, varies=False, thing=expr)

    @staticmethod
    def _text(expr: Text) -> Value:
        return Value(None, varies=False, thing=expr.value)

    def _unclear(self, expr: Unclear) -> Value:
        parts = [self.eval(part) for part in expr.parts]
        for part in parts:
            self.escape(part)
        return unknown(*parts) if parts else Value()

    def launch(self, _expr: LaunchCall) -> Value:
        """Note a kernel launch; on the device that would be dynamic parallelism."""
        raise StopWalkError("a launch from the device")

    def name(self, name: str) -> Value:
        """Return a variable's, constant's or macro's value."""
        box = self.find(name)
        if box is not None:
            return box.value if box.type != CELL else self.load(box.value.pointer, self.node_here)
        last = name.rsplit("::", maxsplit=1)[-1]
        if last == "warpSize":
            return Value(32, "i", False)
        if last in {"threadIdx", "blockIdx", "blockDim", "gridDim"}:
            return Value(None, varies=last == "threadIdx", thing=last)
        macro = self.program.macros.get(name)
        if macro is not None and macro.parameters is None and macro.expr is not None:
            return self.eval(macro.expr) if len(self.calls) < 40 else Value(None, varies=False)
        for constant in reversed(self.program.constants):
            if constant.name == name:
                return self._constant(constant)
        if last in {"true", "false"}:
            return Value(int(last == "true"), "b", False)
        return Value(None, varies=False)

    def _constant(self, constant: Declare) -> Value:
        if constant.dims or constant.pointer:
            region = Region(constant.name, "global", constant.type, node=constant.node)
            return Value(None, varies=False, pointer=Pointer(region, type=constant.type))
        if constant.init is not None and constant.const:
            value = self.eval(constant.init)
            return Value(value.number, type_letter(constant.type), value.varies)
        return Value(None, type_letter(constant.type), varies=False)

    def _assign(self, expr: Assign) -> Value:
        value = self.eval(expr.value)
        if expr.op != "=":
            old = self.eval(expr.target)
            if old.pointer is not None and isinstance(expr.target, Name):
                value = self.move(old, value, expr.op[0])
            else:
                whole = Binary(expr.node, expr.op[:-1], expr.target, expr.value)
                combined = binary(expr.op[:-1], old, value)
                self.check_arithmetic(whole, old, value, combined)
                value = combined
        self.assign(expr.target, value, expr.node)
        return value

    def assign(self, target: Expr, value: Value, node: Node) -> None:
        """Store a value where an expression says."""
        match target:
            case Name():
                box = self.find(target.id)
                if box is not None and box.type == CELL:
                    self.put(box.value.pointer, value, node)
                elif box is not None:
                    self.store(box, value)
                    if value.pointer is not None or value.thing is not None:
                        box.value.pointer, box.value.thing = value.pointer, value.thing
            case Subscript():
                pointer = self.address(target)
                self.put(pointer, value, node)
                if pointer is None and isinstance(target.base, Member):
                    self._assign_member(target.base, unknown(value, self.eval(target.index)), node)
            case Unary(op="*"):
                pointer = self.eval(target.operand).pointer
                if pointer is not None:
                    self.put(pointer, value, node)
            case Member():
                self._assign_member(target, value, node)
            case _:
                self.escape(self.eval(target))

    def _assign_member(self, target: Member, value: Value, node: Node) -> None:
        if isinstance(target.base, Name):
            box = self.find(target.base.id)
            if box is not None and box.value.pointer is None:
                box.value = merge(box.value, value, varying=False)
                box.value.number = None
        elif isinstance(target.base, Subscript):
            pointer = self.address(target.base)
            if pointer is not None and pointer.region.space == "shared":
                pointer.region.escaped = True
            self.put(pointer, value, node)

    def _update(self, expr: Update) -> Value:
        old = self.eval(expr.target)
        if old.pointer is not None:
            new = self.move(old, Value(1, "i", False), expr.op[0])
        else:
            new = binary(expr.op[0], old, Value(1, "i", False))
        self.assign(expr.target, new, expr.node)
        return new if expr.prefix else old

    def call_function(self, function: Function, args: list[Value], call: Call) -> Value:
        """Run a helper function in the active threads."""
        if len(self.frames) > CALL_DEPTH:
            for arg in args:
                self.escape(arg)
            return unknown(*args)
        scope: dict[str, Box] = {}
        for index, parameter in enumerate(function.parameters):
            value = args[index] if index < len(args) else Value(None, varies=False)
            box = self._reference(parameter.reference, call, index)
            letter = "?" if parameter.pointer else type_letter(self.type_name(parameter.type))
            scope[parameter.name] = box if box is not None else Box(value, letter)
        frame = Frame(function, self.mask, scope)
        self.bind_template(frame, function, call.template)
        return self.enter(frame, function.body, call)

    def _reference(self, reference: bool, call: Call, index: int) -> Box | None:
        if not reference or index >= len(call.args):
            return None
        arg = call.args[index]
        return self.find(arg.id) if isinstance(arg, Name) else None

    def bind_template(self, frame: Frame, function: Function, template: tuple[str, ...]) -> None:
        """Bind template parameters to what a call or launch gives, or to their defaults."""
        for index, parameter in enumerate(function.template):
            text = template[index] if index < len(template) else parameter.default
            if parameter.is_type:
                frame.types[parameter.name] = self.type_name(text) if text else "float"
            else:
                value = self.eval_text(text) if text else Value(None, varies=False)
                frame.names.setdefault(parameter.name, Box(value, value.type))

    def enter(self, frame: Frame, body: Stmt, call: Call) -> Value:
        """Run a function's body in a frame, and come back with its result."""
        entry, doubt, branches = self.mask, self.doubt, len(self.branch)
        loops, self.loops = self.loops, []
        self.frames.append(frame)
        self.calls.append(call.node)
        try:
            self.run(body)
        finally:
            self.frames.pop()
            self.calls.pop()
            self.loops = loops
        del self.branch[branches:]
        self.mask = entry
        self.doubt = doubt
        return frame.result if frame.result is not None else Value(None, varies=False)

    def call_lambda(self, item: Lambda, args: list[Value], call: Call) -> Value:
        """Run a lambda in the scopes that it stands in."""
        if len(self.frames) > CALL_DEPTH:
            return unknown(*args)
        outer = self.frames[-1]
        scope = {p.name: Box(a) for p, a in zip(item.parameters, args, strict=False)}
        frame = Frame(None, self.mask, {**outer.names, **scope}, dict(outer.types))
        return self.enter(frame, item.body, call)


_HOW: Mapping[type[Expr], str] = {
    Number: "_literal",
    Name: "_name",
    Binary: "_binary",
    Subscript: "_subscript",
    Member: "member",
    Assign: "_assign",
    Call: "call",
    Unary: "_unary",
    Update: "_update",
    Cast: "_cast",
    Select: "_select",
    SizeOf: "_size_of",
    Items: "_items",
    Lambda: "_lambda",
    Text: "_text",
    LaunchCall: "launch",
    Unclear: "_unclear",
}
"""The method for each kind of expression, by name: the host's machine has its own for some."""

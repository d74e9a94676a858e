"""Evaluates expressions in one thread."""

from dataclasses import replace

from grader.source import cpp
from grader.source.flow.intrinsics import Intrinsics
from grader.source.flow.memory import Region
from grader.source.flow.trace import StopWalkError
from grader.source.flow.values import Pointer, Value, binary, merge, truth, unknown_value
from grader.source.flow.variables import CELL
from grader.source.scalar_types import type_letter


class Machine(Intrinsics):
    """A thread that runs a kernel's text, or the host's: each kind of expression has a method by its name."""

    @staticmethod
    def _eval_number(expr: cpp.Number) -> Value:
        return Value(expr.value, expr.type)

    def _eval_subscript(self, expr: cpp.Subscript) -> Value:
        return self.load(self.address(expr), expr.node)

    def _eval_sizeof(self, expr: cpp.SizeOf) -> Value:
        return Value(self.size_of(expr.type), "l")

    def _eval_items(self, expr: cpp.Items) -> Value:
        parts = self.eval_all(expr.items)
        return parts[-1] if expr.comma and parts else unknown_value(*parts)

    @staticmethod
    def _eval_lambda(expr: cpp.Lambda) -> Value:
        return Value(thing=expr)

    @staticmethod
    def _eval_text(expr: cpp.Text) -> Value:
        return Value(thing=expr.value)

    def _eval_unclear(self, expr: cpp.Unclear) -> Value:
        parts = self.eval_all(expr.parts)
        for part in parts:
            self.escape(part)
        return unknown_value(*parts)

    def _eval_launchcall(self, _expr: cpp.LaunchCall) -> Value:
        """Stop: on the device that would be dynamic parallelism."""
        raise StopWalkError("a launch from the device")

    # --- names -------------------------------------------------------------------------------

    def _eval_name(self, expr: cpp.Name) -> Value:
        """Return a variable's, constant's or macro's value."""
        box, name = self.find(expr.id), expr.id
        if box is not None:
            return box.value if box.type != CELL else self.load(box.value.pointer, expr.node)
        last = name.rsplit("::", maxsplit=1)[-1]
        if last in {"warpSize", "true", "false"}:
            return Value(32, "i") if last == "warpSize" else Value(int(last == "true"), "b")
        macro = self.unit.macros.get(name)
        if macro is not None and macro.parameters is None and macro.expr is not None:
            return self.eval(macro.expr) if len(self.calls) < 40 else Value()
        constant = self.unit.constants.get(name)
        return Value() if constant is None else self._constant(constant)

    def _constant(self, constant: cpp.Declare) -> Value:
        if constant.dims or constant.pointer:
            region = Region(constant.name, "global", constant.type, node=constant.node)
            return Value(pointer=Pointer(region, type=constant.type))
        known = constant.init is not None and constant.const
        number = self.eval(constant.init).number if known and constant.init else None
        return Value(number, type_letter(constant.type))

    # --- operators ---------------------------------------------------------------------------

    def _eval_binary(self, expr: cpp.Binary) -> Value:
        if expr.op in {"&&", "||", "and", "or"}:
            return self._logical(expr)
        left, right = self.eval(expr.left), self.eval(expr.right)
        if left.pointer is not None or right.pointer is not None:
            plain = expr.op in {"+", "-"}
            return (
                self.move(left, right, expr.op) if plain else unknown_value(left, right, type_="b")
            )
        out = binary(expr.op, left, right)
        self._check_arithmetic(expr.op, expr.node, (left, right, out))
        return out

    def _check_arithmetic(
        self, op: str, node: cpp.Node, values: tuple[Value, Value, Value]
    ) -> None:
        """Note 32-bit results that don't fit, and double operations in float code."""
        left, right, out = values
        if out.type in {"i", "u"}:
            if op in {"+", "*", "<<"}:
                self.check_fits(out, out.type, node)
        elif (left.type == "d") != (right.type == "d") and "f" in {left.type, right.type}:
            self.emit("double-math", node, len(self.loops))

    def _logical(self, expr: cpp.Binary) -> Value:
        both = expr.op in {"&&", "and"}
        held = truth(self.eval(expr.left))
        if held is not None and held is not both:
            return Value(int(held), "b")
        saved = self.doubt
        self.doubt = saved or held is None
        other = truth(self.eval(expr.right))
        self.doubt = saved
        known = other is not None and (held is not None or other is not both)
        return Value(int(other) if known and other is not None else None, "b")

    def _eval_select(self, expr: cpp.Select) -> Value:
        held = truth(self.eval(expr.test))
        if held is not None:
            return self.eval(expr.yes if held else expr.no)
        saved, self.doubt = self.doubt, True
        yes, no = self.eval(expr.yes), self.eval(expr.no)
        self.doubt = saved
        return merge(yes, no)

    def _eval_unary(self, expr: cpp.Unary) -> Value:
        if expr.op == "&":
            return self.address_of(expr.operand)
        value = self.eval(expr.operand)
        number = value.number
        if expr.op == "*":
            return (
                unknown_value(value)
                if value.pointer is None
                else self.load(value.pointer, expr.node)
            )
        if number is None:
            return unknown_value(value, type_="b" if expr.op == "!" else None)
        if expr.op == "!":
            return Value(int(not number), "b")
        if expr.op == "~" and isinstance(number, int):
            return Value(~number, value.type)
        return Value(-number, value.type) if expr.op == "-" else value

    def _eval_cast(self, expr: cpp.Cast) -> Value:
        value, kind = self.eval(expr.operand), self.type_name(expr.type)
        if expr.pointer:
            return self.cast_pointer(value, kind)
        letter, number = type_letter(kind), value.number
        if letter in "iul" and isinstance(number, float):
            number = int(number)
        type_ = letter if letter != "?" else value.type
        return replace(value, number=number, type=type_, pointer=None)

    # --- assignments -------------------------------------------------------------------------

    def _eval_assign(self, expr: cpp.Assign) -> Value:
        value = self.eval(expr.value)
        if expr.op != "=":
            old, op = self.eval(expr.target), expr.op[:-1]
            if old.pointer is not None and isinstance(expr.target, cpp.Name):
                value = self.move(old, value, op)
            else:
                combined = binary(op, old, value)
                self._check_arithmetic(op, expr.node, (old, value, combined))
                value = combined
        self.assign(expr.target, value, expr.node)
        return value

    def assign(self, target: cpp.Expr, value: Value, node: cpp.Node) -> None:
        """Store a value where an expression says."""
        match target:
            case cpp.Name():
                self._assign_name(target, value, node)
            case cpp.Subscript():
                self.put(self.address(target), value, node)
            case cpp.Unary(op="*"):
                self.put(self.eval(target.operand).pointer, value, node)
            case cpp.Member(base=cpp.Subscript() as element):
                pointer = self.address(element)
                if pointer is not None and pointer.region.space == "shared":
                    pointer.region.escaped = True
                self.put(pointer, value, node)
            case cpp.Member(base=cpp.Name(id=name)):
                box = self.find(name)
                if box is not None and box.value.pointer is None:
                    box.value = merge(box.value, value)
                    box.value.number = None
            case _:
                self.escape(self.eval(target))

    def _assign_name(self, target: cpp.Name, value: Value, node: cpp.Node) -> None:
        box = self.find(target.id)
        if box is not None and box.type == CELL:
            self.put(box.value.pointer, value, node)
        elif box is not None:
            self.store(box, value)
            if value.pointer is not None or value.thing is not None:
                box.value.pointer, box.value.thing = value.pointer, value.thing

    def _eval_update(self, expr: cpp.Update) -> Value:
        old, one = self.eval(expr.target), Value(1, "i")
        step = expr.op[0]
        new = self.move(old, one, step) if old.pointer is not None else binary(step, old, one)
        self.assign(expr.target, new, expr.node)
        return new if expr.prefix else old

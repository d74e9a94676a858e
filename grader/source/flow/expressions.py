"""Evaluates expressions."""

from dataclasses import replace

from grader.source import cpp
from grader.source.flow.calls import DEPTH, Calls
from grader.source.flow.launch import StopWalkError
from grader.source.flow.memory import Region
from grader.source.flow.values import Pointer, Value, binary, merge, truth, unknown_value
from grader.source.scalar_types import type_letter


class Machine(Calls):
    """What follows a text: each kind of expression has a method by its name."""

    @staticmethod
    def _eval_number(expr: cpp.Number) -> Value:
        return Value(expr.value, expr.type)

    def _eval_subscript(self, expr: cpp.Subscript) -> Value:
        return self.load(self.address(expr))

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
        raise StopWalkError("a launch")

    def _eval_member(self, expr: cpp.Member) -> Value:
        return unknown_value(self.eval(expr.base))

    # --- names -------------------------------------------------------------------------------

    def _eval_name(self, expr: cpp.Name) -> Value:
        """Return a variable's, constant's or macro's value."""
        box, name = self.find(expr.id), expr.id
        if box is not None:
            return box.value
        last = name.rsplit("::", maxsplit=1)[-1]
        if last in {"warpSize", "true", "false"}:
            return Value(32, "i") if last == "warpSize" else Value(int(last == "true"), "b")
        macro = self.unit.macros.get(name)
        if macro is not None and macro.parameters is None and macro.expr is not None:
            return self._macro_value(macro.expr)
        constant = self.unit.constants.get(name)
        return Value() if constant is None else self._constant(constant)

    def _macro_value(self, expr: cpp.Expr) -> Value:
        self.depth += 1
        value = self.eval(expr) if self.depth < DEPTH else Value()
        self.depth -= 1
        return value

    def _constant(self, constant: cpp.Declare) -> Value:
        if constant.dims or constant.pointer:
            return Value(pointer=Pointer(Region(constant.name)))
        known = constant.init is not None and constant.const
        number = self.eval(constant.init).number if known and constant.init else None
        return Value(number, type_letter(constant.type))

    # --- operators ---------------------------------------------------------------------------

    def _eval_binary(self, expr: cpp.Binary) -> Value:
        if expr.op in {"&&", "||", "and", "or"}:
            return self._logical(expr)
        left, right = self.eval(expr.left), self.eval(expr.right)
        if left.pointer is None and right.pointer is None:
            return binary(expr.op, left, right)
        if expr.op in {"+", "-"}:
            return self.move(left, right, expr.op)
        return unknown_value(left, right, type_="b")

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
            return self.load(value.pointer)
        if number is None:
            return unknown_value(value, type_="b" if expr.op == "!" else None)
        if expr.op == "!":
            return Value(int(not number), "b")
        if expr.op == "~" and isinstance(number, int):
            return Value(~number, value.type)
        return Value(-number, value.type) if expr.op == "-" else value

    def _eval_cast(self, expr: cpp.Cast) -> Value:
        value, letter = self.eval(expr.operand), type_letter(self.type_name(expr.type))
        if expr.pointer:
            return value
        whole = letter in "iul" and isinstance(value.number, float)
        number = int(value.number) if whole and value.number is not None else value.number
        return replace(value, number=number, type=value.type if letter == "?" else letter, pointer=None)  # fmt: skip

    # --- assignments -------------------------------------------------------------------------

    def _eval_assign(self, expr: cpp.Assign) -> Value:
        value = self.eval(expr.value)
        if expr.op != "=":
            old, op = self.eval(expr.target), expr.op[:-1]
            value = self.move(old, value, op) if old.pointer is not None else binary(op, old, value)
        self.assign(expr.target, value, expr.node)
        return value

    def assign(self, target: cpp.Expr, value: Value, node: cpp.Node) -> None:
        """Store a value where an expression says."""
        match target:
            case cpp.Name(id=name):
                self._assign_name(name, value)
            case cpp.Subscript():
                self.put(self.address(target), value, node)
            case cpp.Unary(op="*"):
                self.put(self.eval(target.operand).pointer, value, node)
            case cpp.Member(base=cpp.Name(id=name)):
                box = self.find(name)
                if box is not None and box.value.pointer is None:
                    box.value = merge(box.value, value)
                    box.value.number = None
            case _:
                self.escape(self.eval(target))

    def _assign_name(self, name: str, value: Value) -> None:
        box = self.find(name)
        if box is not None:
            self.store(box, value)
            if value.pointer is not None or value.thing is not None:
                box.value.pointer, box.value.thing = value.pointer, value.thing

    def _eval_update(self, expr: cpp.Update) -> Value:
        old, one = self.eval(expr.target), Value(1, "i")
        step = expr.op[0]
        new = self.move(old, one, step) if old.pointer is not None else binary(step, old, one)
        self.assign(expr.target, new, expr.node)
        return new if expr.prefix else old

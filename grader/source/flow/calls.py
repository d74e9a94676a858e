"""Calls: of functions that the text defines and of lambdas, each in a frame of its own; of macros, and of mathematics."""

from grader.source import cpp
from grader.source.cpp_reading import parse_expression
from grader.source.flow import mathematics
from grader.source.flow.launch import StopWalkError
from grader.source.flow.state import Box, Frame
from grader.source.flow.values import Value, unknown_value
from grader.source.flow.variables import Variables
from grader.source.functions import Function
from grader.source.scalar_types import type_letter

DEPTH = 20
"""Calls and macros in one another that are followed."""


class Calls(Variables):
    """What calls do."""

    def _eval_call(self, expr: cpp.Call) -> Value:
        """Evaluate a call."""
        if expr.base is not None:
            return self.method(expr)
        box, function = self.find(expr.qualified), self.unit.named(expr.name)
        args = self.eval_all(expr.args)
        if self.depth > DEPTH:
            return unknown_value(*args)
        if box is not None and isinstance(box.value.thing, cpp.Lambda):
            return self.call_lambda(box.value.thing, args)
        if function is not None and function.runs != "kernel":
            return self._call_function(function, args, expr)
        return self._macro(expr, args) if expr.name in self.unit.macros else self._library(expr, args)  # fmt: skip

    def method(self, expr: cpp.Call) -> Value:
        """Evaluate a call of a method."""
        base, args = self.eval(expr.base) if expr.base is not None else Value(), self.eval_all(expr.args)  # fmt: skip
        if isinstance(base.thing, cpp.Lambda) and expr.name == "operator()":
            return self.call_lambda(base.thing, args)
        for value in (*args, base):
            self.escape(value)
        return unknown_value(*args)

    def _call_function(self, function: Function, args: list[Value], call: cpp.Call) -> Value:
        """Run a helper function."""
        scope: dict[str, Box] = {}
        for index, parameter in enumerate(function.parameters):
            given = call.args[index] if index < len(call.args) else None
            named = isinstance(given, cpp.Name) and parameter.is_reference
            box = self.find(given.id) if named and isinstance(given, cpp.Name) else None
            letter = "?" if parameter.is_pointer else type_letter(self.type_name(parameter.kind))
            value = args[index] if index < len(args) else Value()
            scope[parameter.name] = box if box is not None else Box(value, letter)
        frame = Frame(function, scope)
        self.bind_template(frame, function, call.template)
        return self._enter(frame, function.code)

    def bind_template(self, frame: Frame, function: Function, template: tuple[str, ...]) -> None:
        """Bind template parameters to what a call gives, or to their defaults."""
        for index, parameter in enumerate(function.template_parameters):
            text = template[index] if index < len(template) else parameter.default
            if parameter.is_type:
                frame.types[parameter.name] = self.type_name(text) if text else "float"
            else:
                value = self.eval_text(text) if text else Value()
                frame.names.setdefault(parameter.name, Box(value, value.type))

    def eval_text(self, text: str) -> Value:
        """Evaluate a piece of text, such as a template argument."""
        expr = parse_expression(text)
        return Value() if expr is None else self.eval(expr)

    def _enter(self, frame: Frame, body: cpp.Stmt) -> Value:
        """Run a function's body in a frame, and come back with its result."""
        doubt = self.doubt
        loops, self.loops = self.loops, []
        self.frames.append(frame)
        self.depth += 1
        try:
            self.run(body)
        finally:
            self.frames.pop()
            self.depth -= 1
            self.loops = loops
        self.doubt = doubt
        return frame.result if frame.result is not None else Value()

    def call_lambda(self, item: cpp.Lambda, args: list[Value]) -> Value:
        """Run a lambda in the scopes that it stands in."""
        outer = self.frames[-1]
        scope = {p.name: Box(a) for p, a in zip(item.parameters, args, strict=False)}
        return self._enter(Frame(None, {**outer.names, **scope}, dict(outer.types)), item.body)

    def _macro(self, expr: cpp.Call, args: list[Value]) -> Value:
        macro = self.unit.macros[expr.name]
        if macro.expr is None or macro.parameters is None or len(macro.parameters) != len(args):
            raise StopWalkError("a macro")
        frame = self.frames[-1]
        frame.open()
        for name, value in zip(macro.parameters, args, strict=True):
            frame.bind(name, Box(value))
        self.depth += 1
        try:
            return self.eval(macro.expr)
        finally:
            self.depth -= 1
            frame.close()

    def _library(self, expr: cpp.Call, args: list[Value]) -> Value:
        """Evaluate a function that the text doesn't define: mathematics, or not known."""
        known = mathematics.known_value(expr.name, [a.number for a in args])
        if known is not None:
            return Value(known, args[0].type if isinstance(known, int) else "d")
        for arg in args:
            self.escape(arg)
        return unknown_value(*args, type_=mathematics.type_of(expr.name, args))

"""Calls of functions that the text defines, and of lambdas: each in a frame of its own."""

from grader.source import cpp
from grader.source.cpp_reading import parse_expression
from grader.source.flow.state import Box, Frame
from grader.source.flow.values import Value, unknown_value
from grader.source.flow.variables import Variables
from grader.source.functions import Function
from grader.source.scalar_types import type_letter

DEPTH = 8
"""Calls in one another that are followed."""


class Calls(Variables):
    """What calls do."""

    def eval_text(self, text: str) -> Value:
        """Evaluate a piece of text, such as a template argument."""
        expr = parse_expression(text)
        return Value() if expr is None else self.eval(expr)

    def call_function(self, function: Function, args: list[Value], call: cpp.Call) -> Value:
        """Run a helper function."""
        if len(self.frames) > DEPTH:
            for arg in args:
                self.escape(arg)
            return unknown_value(*args)
        scope: dict[str, Box] = {}
        for index, parameter in enumerate(function.parameters):
            given = call.args[index] if index < len(call.args) else None
            box = (
                self.find(given.id)
                if isinstance(given, cpp.Name) and parameter.is_reference
                else None
            )
            letter = "?" if parameter.is_pointer else type_letter(self.type_name(parameter.kind))
            value = args[index] if index < len(args) else Value()
            scope[parameter.name] = box if box is not None else Box(value, letter)
        frame = Frame(function, scope)
        self.bind_template(frame, function, call.template)
        return self.enter(frame, function.code, call)

    def bind_template(self, frame: Frame, function: Function, template: tuple[str, ...]) -> None:
        """Bind template parameters to what a call or launch gives, or to their defaults."""
        for index, parameter in enumerate(function.template_parameters):
            text = template[index] if index < len(template) else parameter.default
            if parameter.is_type:
                frame.types[parameter.name] = self.type_name(text) if text else "float"
            else:
                value = self.eval_text(text) if text else Value()
                frame.names.setdefault(parameter.name, Box(value, value.type))

    def enter(self, frame: Frame, body: cpp.Stmt, call: cpp.Call) -> Value:
        """Run a function's body in a frame, and come back with its result."""
        doubt = self.doubt
        loops, self.loops = self.loops, []
        self.frames.append(frame)
        self.calls.append(call.node)
        try:
            self.run(body)
        finally:
            self.frames.pop()
            self.calls.pop()
            self.loops = loops
        self.doubt = doubt
        return frame.result if frame.result is not None else Value()

    def call_lambda(self, item: cpp.Lambda, args: list[Value], call: cpp.Call) -> Value:
        """Run a lambda in the scopes that it stands in."""
        if len(self.frames) > DEPTH:
            return unknown_value(*args)
        outer = self.frames[-1]
        scope = {p.name: Box(a) for p, a in zip(item.parameters, args, strict=False)}
        return self.enter(Frame(None, {**outer.names, **scope}, dict(outer.types)), item.body, call)

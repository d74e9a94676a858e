"""From the concrete nodes of expressions to those of `flow.tree`."""

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any

from grader.source.cuda_code import read_name, text
from grader.source.declarators import clean_type, read_parameters
from grader.source.flow.lowering.words import (
    arguments_of,
    parse_number,
)
from grader.source.flow.tree import (
    Assign,
    Binary,
    Call,
    Cast,
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

MAX_DEPTH = 200
"""Nesting beyond this is given up on (hostile or generated text)."""
_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "dynamic_cast"})
_TYPES = frozenset(
    {
        "float",
        "double",
        "int",
        "long",
        "unsigned",
        "size_t",
        "int64_t",
        "int32_t",
        "uint32_t",
        "uint64_t",
        "bool",
        "char",
        "short",
        "scalar_t",
        "half",
        "__half",
        "T",
        "accscalar_t",
        "acc_t",
    }
)


class Expressions:
    """Lowers expressions. Depth is counted so that no input can exhaust the stack."""

    def __init__(self) -> None:
        self.depth = 0

    def stmt(self, node: Node | None) -> Stmt:
        """Lower a statement; defined by `statements.Statements`."""
        raise NotImplementedError

    def expr(self, node: Node | None) -> Expr:
        """Lower an expression."""
        if node is None:
            return Unclear(node)
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                return Unclear(node)
            return self._expr(node)
        finally:
            self.depth -= 1

    def _expr(self, node: Node) -> Expr:
        handler = _EXPR.get(node.type)
        if handler is not None:
            return handler(self, node)
        return Unclear(node, tuple(self.expr(c) for c in node.named_children))

    def _number(self, node: Node) -> Expr:
        value = parse_number(text(node))
        return Unclear(node) if value is None else Number(node, *value)

    def _name(self, node: Node) -> Expr:
        return Name(node, text(node))

    def _literal(self, node: Node) -> Expr:
        if node.type in {"true", "false"}:
            return Number(node, int(node.type == "true"), "i")
        if node.type == "char_literal":
            return Number(node, 0, "i")
        if node.type == "null":
            return Number(node, 0, "i")
        return Text(node, text(node).strip('"'))

    def _inner(self, node: Node) -> Expr:
        kids = [c for c in node.named_children if c.type != "comment"]
        return self.expr(kids[-1]) if kids else Unclear(node)

    def _condition(self, node: Node) -> Expr:
        value = node.child_by_field_name("value")
        return self.expr(value) if value is not None else self._inner(node)

    def _unary(self, node: Node) -> Expr:
        op = text(node.child_by_field_name("operator"))
        return Unary(node, op, self.expr(node.child_by_field_name("argument")))

    def _binary(self, node: Node) -> Expr:
        op = text(node.child_by_field_name("operator"))
        left = self.expr(node.child_by_field_name("left"))
        return Binary(node, op, left, self.expr(node.child_by_field_name("right")))

    def _assign(self, node: Node) -> Expr:
        op = text(node.child_by_field_name("operator")) or "="
        left = self.expr(node.child_by_field_name("left"))
        return Assign(node, op, left, self.expr(node.child_by_field_name("right")))

    def _update(self, node: Node) -> Expr:
        operator, argument = (node.child_by_field_name(f) for f in ("operator", "argument"))
        prefix = bool(operator and argument and operator.start_byte < argument.start_byte)
        return Update(node, text(operator), self.expr(argument), prefix)

    def _select(self, node: Node) -> Expr:
        parts = (node.child_by_field_name(f) for f in ("condition", "consequence", "alternative"))
        return Select(node, *(self.expr(p) for p in parts))

    def _subscript(self, node: Node) -> Expr:
        base = self.expr(node.child_by_field_name("argument"))
        indices = node.child_by_field_name("indices")
        return Subscript(node, base, self._inner(indices) if indices else Unclear(node))

    def _member(self, node: Node) -> Expr:
        base = self.expr(node.child_by_field_name("argument"))
        return Member(node, base, text(node.child_by_field_name("field")))

    def _cast(self, node: Node) -> Expr:
        kind = text(node.child_by_field_name("type"))
        value = self.expr(node.child_by_field_name("value"))
        return Cast(node, clean_type(kind), "*" in kind, value)

    def _sizeof(self, node: Node) -> Expr:
        kind = node.child_by_field_name("type") or node.child_by_field_name("value")
        return SizeOf(node, text(kind).strip("() "))

    def _comma(self, node: Node) -> Expr:
        return Items(node, tuple(self.expr(c) for c in node.named_children), comma=True)

    def items(self, node: Node) -> Expr:
        """Lower a list of expressions."""
        return Items(node, tuple(self.expr(c) for c in arguments_of(node)))

    def _compound(self, node: Node) -> Expr:
        kind = text(node.child_by_field_name("type"))
        value = node.child_by_field_name("value")
        args = tuple(self.expr(c) for c in arguments_of(value)) if value else ()
        return Call(node, clean_type(kind).split("::")[-1], kind, None, (), args)

    def _lambda(self, node: Node) -> Expr:
        declarator = node.child_by_field_name("declarator")
        params = declarator.child_by_field_name("parameters") if declarator else None
        body = self.stmt(node.child_by_field_name("body"))
        return Lambda(node, read_parameters(params), body)

    def _call(self, node: Node) -> Expr:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        launch = next((c for c in node.children if c.type == "kernel_call_syntax"), None)
        args = tuple(self.expr(c) for c in arguments_of(arguments)) if arguments else ()
        if launch is not None:
            name, template = read_name(function)
            config = tuple(self.expr(c) for c in arguments_of(launch))
            return LaunchCall(node, name.split("::")[-1], texts(template), config, args)
        if function is None:
            return Unclear(node, args)
        if function.type == "field_expression":
            field = function.child_by_field_name("field")
            name, template = read_name(field)
            base = self.expr(function.child_by_field_name("argument"))
            return Call(node, name, name, base, texts(template), args)
        if function.type in {"primitive_type", "sized_type_specifier"} and len(args) == 1:
            return Cast(node, clean_type(text(function)), False, args[0])
        return self._plain_call(node, function, args)

    def _plain_call(self, node: Node, function: Node, args: tuple[Expr, ...]) -> Expr:
        if function.type not in {
            "identifier",
            "qualified_identifier",
            "template_function",
            "type_identifier",
        }:
            base = self.expr(function)
            return Call(node, "operator()", "operator()", base, (), args)
        name, template = read_name(function)
        last = name.split("::")[-1]
        if last in _CASTS and len(args) == 1 and template:
            kind = text(template[0])
            return Cast(node, clean_type(kind), "*" in kind, args[0])
        if last in _TYPES and len(args) == 1 and not template:
            return Cast(node, last, False, args[0])
        return Call(node, last, name, None, texts(template), args)


_EXPR: dict[str, Callable[[Expressions, Node], Expr]] = {
    "number_literal": Expressions._number,
    "identifier": Expressions._name,
    "qualified_identifier": Expressions._name,
    "this": Expressions._name,
    "field_identifier": Expressions._name,
    "true": Expressions._literal,
    "false": Expressions._literal,
    "null": Expressions._literal,
    "char_literal": Expressions._literal,
    "string_literal": Expressions._literal,
    "concatenated_string": Expressions._literal,
    "parenthesized_expression": Expressions._inner,
    "condition_clause": Expressions._condition,
    "unary_expression": Expressions._unary,
    "pointer_expression": Expressions._unary,
    "binary_expression": Expressions._binary,
    "assignment_expression": Expressions._assign,
    "update_expression": Expressions._update,
    "conditional_expression": Expressions._select,
    "subscript_expression": Expressions._subscript,
    "field_expression": Expressions._member,
    "call_expression": Expressions._call,
    "cast_expression": Expressions._cast,
    "sizeof_expression": Expressions._sizeof,
    "comma_expression": Expressions._comma,
    "initializer_list": Expressions.items,
    "argument_list": Expressions.items,
    "lambda_expression": Expressions._lambda,
    "compound_literal_expression": Expressions._compound,
}


def texts(nodes: Iterable[Node]) -> tuple[str, ...]:
    """Return what stands at each of these nodes."""
    return tuple(map(text, nodes))


def place_expression(expr: Expr, node: Node) -> Expr:
    """Return an expression that was parsed apart, with all its parts at a node of this text."""
    changes: dict[str, Any] = {"node": node}
    for slot in fields(expr):
        part = getattr(expr, slot.name)
        if isinstance(part, Expr):
            changes[slot.name] = place_expression(part, node)
        elif isinstance(part, tuple):
            changes[slot.name] = tuple(
                place_expression(p, node) if isinstance(p, Expr) else p for p in part
            )
    return replace(expr, **changes)

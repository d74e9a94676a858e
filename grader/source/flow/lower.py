"""From tree-sitter's concrete tree to the small tree of `flow.tree`."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import tree_sitter
import tree_sitter_cuda

from grader.source.flow.tree import (
    Assign,
    Binary,
    Block,
    Call,
    Cast,
    Declare,
    Evaluate,
    Expr,
    Function,
    If,
    Items,
    Jump,
    Lambda,
    LaunchCall,
    Loop,
    Macro,
    Member,
    Name,
    Node,
    Number,
    Opaque,
    Parameter,
    Program,
    Return,
    Select,
    SizeOf,
    Stmt,
    Subscript,
    TemplateParameter,
    Text,
    Unary,
    Unclear,
    Update,
    walk,
)

MAX_DEPTH = 200
"""Nesting beyond this is given up on (hostile or generated text)."""

_FLOAT = re.compile(r"^[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?[fFlL]?$")
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


@functools.lru_cache(maxsize=1)
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


def text_of(node: Node | None) -> str:
    """Return the source text of a node, or the empty string."""
    return "" if node is None or node.text is None else str(node.text.decode("utf-8", "replace"))


class _Lowering:
    """One pass over one text. Depth is counted so that no input can exhaust the stack."""

    def __init__(self) -> None:
        self.depth = 0

    # --- expressions -------------------------------------------------------------------------

    def expr(self, node: Node | None) -> Expr:
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

    def number(self, node: Node) -> Expr:
        value = parse_number(text_of(node))
        return Unclear(node) if value is None else Number(node, *value)

    def name(self, node: Node) -> Expr:
        return Name(node, text_of(node))

    def literal(self, node: Node) -> Expr:
        if node.type in {"true", "false"}:
            return Number(node, int(node.type == "true"), "i")
        if node.type == "char_literal":
            return Number(node, 0, "i")
        if node.type == "null":
            return Number(node, 0, "i")
        return Text(node, text_of(node).strip('"'))

    def inner(self, node: Node) -> Expr:
        kids = [c for c in node.named_children if c.type != "comment"]
        return self.expr(kids[-1]) if kids else Unclear(node)

    def condition(self, node: Node) -> Expr:
        value = node.child_by_field_name("value")
        return self.expr(value) if value is not None else self.inner(node)

    def unary(self, node: Node) -> Expr:
        op = text_of(node.child_by_field_name("operator"))
        return Unary(node, op, self.expr(node.child_by_field_name("argument")))

    def binary(self, node: Node) -> Expr:
        op = text_of(node.child_by_field_name("operator"))
        left = self.expr(node.child_by_field_name("left"))
        return Binary(node, op, left, self.expr(node.child_by_field_name("right")))

    def assign(self, node: Node) -> Expr:
        op = text_of(node.child_by_field_name("operator")) or "="
        left = self.expr(node.child_by_field_name("left"))
        return Assign(node, op, left, self.expr(node.child_by_field_name("right")))

    def update(self, node: Node) -> Expr:
        operator, argument = (node.child_by_field_name(f) for f in ("operator", "argument"))
        prefix = bool(operator and argument and operator.start_byte < argument.start_byte)
        return Update(node, text_of(operator), self.expr(argument), prefix)

    def select(self, node: Node) -> Expr:
        parts = (node.child_by_field_name(f) for f in ("condition", "consequence", "alternative"))
        return Select(node, *(self.expr(p) for p in parts))

    def subscript(self, node: Node) -> Expr:
        base = self.expr(node.child_by_field_name("argument"))
        indices = node.child_by_field_name("indices")
        return Subscript(node, base, self.inner(indices) if indices else Unclear(node))

    def member(self, node: Node) -> Expr:
        base = self.expr(node.child_by_field_name("argument"))
        return Member(node, base, text_of(node.child_by_field_name("field")))

    def cast(self, node: Node) -> Expr:
        kind = text_of(node.child_by_field_name("type"))
        value = self.expr(node.child_by_field_name("value"))
        return Cast(node, clean_type(kind), "*" in kind, value)

    def sizeof(self, node: Node) -> Expr:
        kind = node.child_by_field_name("type") or node.child_by_field_name("value")
        return SizeOf(node, text_of(kind).strip("() "))

    def comma(self, node: Node) -> Expr:
        return Items(node, tuple(self.expr(c) for c in node.named_children), comma=True)

    def items(self, node: Node) -> Expr:
        return Items(node, tuple(self.expr(c) for c in self._args(node)))

    def compound(self, node: Node) -> Expr:
        kind = text_of(node.child_by_field_name("type"))
        value = node.child_by_field_name("value")
        args = tuple(self.expr(c) for c in self._args(value)) if value else ()
        return Call(node, clean_type(kind).split("::")[-1], kind, None, (), args)

    def lambda_(self, node: Node) -> Expr:
        declarator = node.child_by_field_name("declarator")
        params = declarator.child_by_field_name("parameters") if declarator else None
        body = self.stmt(node.child_by_field_name("body"))
        return Lambda(node, self.parameters(params), body)

    def call(self, node: Node) -> Expr:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        launch = next((c for c in node.children if c.type == "kernel_call_syntax"), None)
        args = tuple(self.expr(c) for c in self._args(arguments)) if arguments else ()
        if launch is not None:
            name, template = self._callee(function)
            config = tuple(self.expr(c) for c in self._args(launch))
            return LaunchCall(node, name.split("::")[-1], template, config, args)
        if function is None:
            return Unclear(node, args)
        if function.type == "field_expression":
            field = function.child_by_field_name("field")
            name, template = self._callee(field)
            base = self.expr(function.child_by_field_name("argument"))
            return Call(node, name, name, base, template, args)
        if function.type in {"primitive_type", "sized_type_specifier"} and len(args) == 1:
            return Cast(node, clean_type(text_of(function)), False, args[0])
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
        name, template = self._callee(function)
        last = name.split("::")[-1]
        if last in _CASTS and len(args) == 1 and template:
            return Cast(node, clean_type(template[0]), "*" in template[0], args[0])
        if last in _TYPES and len(args) == 1 and not template:
            return Cast(node, last, False, args[0])
        return Call(node, last, name, None, template, args)

    @staticmethod
    def _callee(node: Node | None) -> tuple[str, tuple[str, ...]]:
        """Return the name of what is called and the texts of its template arguments."""
        scope = ""
        while node is not None and node.type == "qualified_identifier":
            scope += text_of(node.child_by_field_name("scope")) + "::"
            node = node.child_by_field_name("name")
        if node is None:
            return scope, ()
        arguments = node.child_by_field_name("arguments")
        if node.type.startswith("template_") and arguments is not None:
            name = text_of(node.child_by_field_name("name"))
            return scope + name, tuple(text_of(c) for c in arguments.named_children)
        return scope + text_of(node), ()

    @staticmethod
    def _args(node: Node) -> Iterator[Node]:
        return (c for c in node.named_children if c.type != "comment")

    # --- statements --------------------------------------------------------------------------

    def stmt(self, node: Node | None) -> Stmt:
        if node is None:
            return Block(node, ())
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                return Opaque(node, "nested too deeply")
            return self._stmt(node)
        finally:
            self.depth -= 1

    def _stmt(self, node: Node) -> Stmt:
        handler = _STMT.get(node.type)
        if handler is not None:
            return handler(self, node)
        if node.type == "ERROR" or node.is_missing:
            return Opaque(node, "not parsed")
        return Opaque(node, node.type)

    def block(self, node: Node) -> Stmt:
        return Block(node, tuple(self.stmts(node)))

    def stmts(self, node: Node) -> Iterator[Stmt]:
        for child in node.named_children:
            if child.type in _SKIPPED:
                continue
            if child.type == "declaration":
                yield from self.declaration(child)
            else:
                yield self.stmt(child)

    def declared(self, node: Node) -> Stmt:
        return Block(node, tuple(self.declaration(node)))

    def preprocessed(self, node: Node) -> Stmt:
        """Take the first branch of an #if, except of `#if 0`."""
        test = text_of(node.child_by_field_name("condition"))
        alternative = node.child_by_field_name("alternative")
        if test.strip() == "0" or node.child(0).type == "#ifndef":
            if node.child(0).type == "#ifndef":
                return self._branch(node)
            return self._branch(alternative) if alternative is not None else Block(node, ())
        return self._branch(node)

    def _branch(self, node: Node) -> Stmt:
        out: list[Stmt] = []
        names = ("condition", "name", "alternative")
        heads = [c for c in (node.child_by_field_name(n) for n in names) if c is not None]
        skip = {c.id for c in heads}
        for child in node.named_children:
            if child.id in skip or child.type in _SKIPPED:
                continue
            if child.type == "declaration":
                out.extend(self.declaration(child))
            else:
                out.append(self.stmt(child))
        return Block(node, tuple(out))

    def evaluate(self, node: Node) -> Stmt:
        kids = [c for c in node.named_children if c.type != "comment"]
        if not kids:
            return Block(node, ())
        if kids[0].type == "gnu_asm_expression":
            return Opaque(node, "inline assembly")
        return Evaluate(node, self.expr(kids[0]))

    def if_(self, node: Node) -> Stmt:
        orelse = node.child_by_field_name("alternative")
        if orelse is not None and orelse.type == "else_clause":
            kids = [c for c in orelse.named_children if c.type != "comment"]
            orelse = kids[0] if kids else None
        return If(
            node,
            self.expr(node.child_by_field_name("condition")),
            self.stmt(node.child_by_field_name("consequence")),
            None if orelse is None else self.stmt(orelse),
        )

    def for_(self, node: Node) -> Stmt:
        init, test, step = (
            node.child_by_field_name(f) for f in ("initializer", "condition", "update")
        )
        first: Stmt | None = None
        if init is not None:
            first = self.declared(init) if init.type == "declaration" else None
            first = first or Evaluate(init, self.expr(init))
        return Loop(
            node,
            "for",
            first,
            None if test is None else self.expr(test),
            None if step is None else self.expr(step),
            self.stmt(node.child_by_field_name("body")),
        )

    def while_(self, node: Node) -> Stmt:
        test = self.expr(node.child_by_field_name("condition"))
        body = self.stmt(node.child_by_field_name("body"))
        return Loop(node, "do" if node.type == "do_statement" else "while", None, test, None, body)

    def return_(self, node: Node) -> Stmt:
        kids = [c for c in node.named_children if c.type != "comment"]
        return Return(node, self.expr(kids[0]) if kids else None)

    def jump(self, node: Node) -> Stmt:
        return Jump(node, "break" if node.type == "break_statement" else "continue")

    def declaration(self, node: Node) -> Iterator[Stmt]:
        """Yield one `Declare` for each declared name."""
        words = {
            text_of(c)
            for c in node.children
            if c.type in {"storage_class_specifier", "type_qualifier", "storage_class"}
        }
        kind = text_of(node.child_by_field_name("type"))
        words |= {w for w in ("constexpr", "const", "__shared__", "static") if w in words}
        found = False
        for index, child in enumerate(node.children):
            if node.field_name_for_child(index) == "declarator":
                found = True
                yield self._declarator(node, child, kind, words)
        if not found:
            yield Opaque(node, "declaration")

    def _declarator(self, node: Node, child: Node, kind: str, words: set[str]) -> Stmt:
        init: Expr | None = None
        target = child
        if child.type == "init_declarator":
            value = child.child_by_field_name("value")
            target = child.child_by_field_name("declarator") or child
            if value is not None:
                listed = value.type in {"argument_list", "initializer_list"}
                init = self.items(value) if listed else self.expr(value)
                if value.type == "argument_list" and isinstance(init, Items):
                    plain = len(init.items) == 1 and clean_type(kind) != "dim3"
                    init = init.items[0] if plain else init
        if target.type == "function_declarator":
            return self._vexing(node, target, kind, words)
        name, dims, pointer, reference = self._target(target)
        return Declare(
            node,
            name,
            clean_type(kind),
            dims,
            init,
            shared="__shared__" in words,
            extern="extern" in words,
            static="static" in words,
            pointer=pointer,
            reference=reference,
            const=bool(words & {"const", "constexpr"}),
            volatile="volatile" in words,
        )

    def _vexing(self, node: Node, target: Node, kind: str, words: set[str]) -> Stmt:
        """Read `dim3 grid(n);`, which the grammar takes for a function, as a variable."""
        params = target.child_by_field_name("parameters")
        name = text_of(target.child_by_field_name("declarator"))
        items: list[Expr] = []
        for child in params.named_children if params is not None else ():
            word = text_of(child)
            known = Name(child, word) if word.isidentifier() else _expression(word)
            if child.type != "parameter_declaration" or known is None:
                return Opaque(node, "function declarator")
            items.append(_placed(known, child))
        single = len(items) == 1 and clean_type(kind) != "dim3"
        init: Expr = items[0] if single else Items(target, tuple(items))
        return Declare(node, name, clean_type(kind), (), init, const="const" in words)

    def _target(self, node: Node) -> tuple[str, tuple[Expr | None, ...], bool, bool]:
        dims: list[Expr | None] = []
        pointer = reference = False
        while True:
            if node.type == "array_declarator":
                size = node.child_by_field_name("size")
                dims.insert(0, None if size is None else self.expr(size))
            elif node.type == "pointer_declarator":
                pointer = True
            elif node.type == "reference_declarator":
                reference = True
                inner = node.named_children
                if not inner:
                    break
                node = inner[-1]
                continue
            elif node.type not in {"parenthesized_declarator", "attributed_declarator"}:
                break
            below = node.child_by_field_name("declarator") or (
                node.named_children[-1] if node.named_children else None
            )
            if below is None:
                break
            node = below
        return text_of(node), tuple(dims), pointer, reference

    # --- the whole text ----------------------------------------------------------------------

    def parameters(self, node: Node | None) -> tuple[Parameter, ...]:
        out = []
        for child in node.named_children if node is not None else ():
            if child.type not in {"parameter_declaration", "optional_parameter_declaration"}:
                continue
            declarator = child.child_by_field_name("declarator")
            name, dims, pointer, reference = (
                self._target(declarator) if declarator is not None else ("", (), False, False)
            )
            const = any(
                c.type == "type_qualifier" and text_of(c) == "const" for c in child.children
            )
            kind = clean_type(text_of(child.child_by_field_name("type")))
            out.append(Parameter(name, kind, pointer or bool(dims), reference, const, child))
        return tuple(out)

    def function(self, node: Node, template: Node | None) -> Function | None:
        declarator = node.child_by_field_name("declarator")
        pointer = False
        while declarator is not None and declarator.type in {
            "pointer_declarator",
            "reference_declarator",
        }:
            pointer = True
            declarator = declarator.child_by_field_name("declarator") or (
                declarator.named_children[-1] if declarator.named_children else None
            )
        body = node.child_by_field_name("body")
        if declarator is None or declarator.type != "function_declarator" or body is None:
            return None
        words = {
            text_of(c) for c in node.children if not c.is_named or c.type != "compound_statement"
        }
        kind = "global" if "__global__" in words else "device" if "__device__" in words else "host"
        name = text_of(declarator.child_by_field_name("declarator")).split("::")[-1]
        params = self.parameters(declarator.child_by_field_name("parameters"))
        returns = clean_type(text_of(node.child_by_field_name("type"))) + "*" * pointer
        lowered = self.block(body)
        return Function(name, kind, returns, params, _template(template), lowered, node)

    def program(self, root: Node) -> Program:
        functions: list[Function] = []
        macros: dict[str, Macro] = {}
        constants: list[Declare] = []
        aliases: dict[str, str] = {}
        for node, template in _top_level(root, None, 0):
            if node.type == "function_definition":
                function = self.function(node, template)
                if function is not None:
                    functions.append(function)
            elif node.type in {"preproc_def", "preproc_function_def"}:
                macro = self.macro(node)
                macros[macro.name] = macro
            elif node.type == "declaration":
                constants.extend(d for d in self.declaration(node) if isinstance(d, Declare))
            elif node.type == "alias_declaration":
                name = text_of(node.child_by_field_name("name"))
                aliases[name] = clean_type(text_of(node.child_by_field_name("type")))
            elif node.type == "type_definition":
                name = text_of(node.child_by_field_name("declarator"))
                aliases[name] = clean_type(text_of(node.child_by_field_name("type")))
        launches = tuple(
            (f, part) for f in functions for part in walk(f.body) if isinstance(part, LaunchCall)
        )
        return Program(
            tuple(functions), macros, tuple(constants), launches, aliases, bool(root.has_error)
        )

    def macro(self, node: Node) -> Macro:
        name = text_of(node.child_by_field_name("name"))
        params = node.child_by_field_name("parameters")
        names = tuple(text_of(c) for c in params.named_children) if params is not None else None
        text = (
            text_of(node.child_by_field_name("value")).split("//")[0].replace("\\\n", " ").strip()
        )
        return Macro(name, names, text, _expression(text), node)


def parse_number(text: str) -> tuple[int | float, str] | None:
    """Return the value and type letter of a C++ numeric literal, or None."""
    text = text.replace("'", "")
    low = text.lower()
    try:
        if low.startswith(("0x", "0b")):
            return int(low.rstrip("ul"), 0), "l" if "l" in low else "i"
        digits = low.rstrip("ul")
        if digits.isdigit():
            return int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10), (
                "l" if "l" in low else "i"
            )
        if _FLOAT.match(text) and any(c.isdigit() for c in text):
            return float(low.rstrip("fl")), "f" if low.endswith("f") else "d"
    except ValueError:
        return None
    return None


def clean_type(text: str) -> str:
    """Return a type's text without qualifiers, references and pointers."""
    text = re.sub(
        r"\b(?:const|volatile|__restrict__|constexpr|static|typename|struct)\b", " ", text
    )
    return " ".join(text.replace("*", " ").replace("&", " ").split())


def _template(node: Node | None) -> tuple[TemplateParameter, ...]:
    out = []
    params = node.child_by_field_name("parameters") if node is not None else None
    for child in params.named_children if params is not None else ():
        is_type = "type_parameter" in child.type
        if is_type:
            names = [c for c in child.named_children if c.type == "type_identifier"]
            target = child.child_by_field_name("name") or (names[0] if names else None)
            default = child.child_by_field_name("default_type")
        else:
            target = child.child_by_field_name("declarator")
            default = child.child_by_field_name("default_value")
        out.append(TemplateParameter(text_of(target), is_type, text_of(default)))
    return tuple(out)


def _top_level(node: Node, template: Node | None, depth: int) -> Iterator[tuple[Node, Node | None]]:
    """Yield declarations at file level, inside namespaces, `extern "C"` and #if blocks."""
    if depth > 20:
        return
    for child in node.named_children:
        if child.type == "template_declaration":
            yield from _top_level(child, child, depth + 1)
        elif child.type in {
            "namespace_definition",
            "linkage_specification",
            "declaration_list",
            "preproc_ifdef",
            "preproc_if",
            "preproc_else",
            "ERROR",
            "struct_specifier",
            "field_declaration_list",
        }:
            yield from _top_level(child, None, depth + 1)
        else:
            yield child, template


def _placed(expr: Expr, node: Node) -> Expr:
    """Return an expression that was parsed apart, with all its parts at a node of this text."""
    changes: dict[str, Any] = {"node": node}
    for slot in fields(expr):
        part = getattr(expr, slot.name)
        if isinstance(part, Expr):
            changes[slot.name] = _placed(part, node)
        elif isinstance(part, tuple):
            changes[slot.name] = tuple(_placed(p, node) if isinstance(p, Expr) else p for p in part)
    return replace(expr, **changes)


@functools.lru_cache(maxsize=512)
def _expression(text: str) -> Expr | None:
    """Parse a macro's text as an expression; None if it isn't one."""
    if not text or len(text) > 500 or ";" in text or "{" in text:
        return None
    root = _parser().parse(f"auto macro_value = {text};".encode()).root_node
    if root.has_error or not root.named_children:
        return None
    found = list(_Lowering().declaration(root.named_children[0]))
    first = found[0] if len(found) == 1 else None
    return first.init if isinstance(first, Declare) else None


_SKIPPED = frozenset(
    {
        "comment",
        "preproc_call",
        "preproc_include",
        "preproc_def",
        "using_declaration",
        "alias_declaration",
        "type_definition",
        "static_assert_declaration",
        "namespace_alias_definition",
        "preproc_function_def",
        "preproc_directive",
    }
)

_EXPR: dict[str, Callable[[_Lowering, Node], Expr]] = {
    "number_literal": _Lowering.number,
    "identifier": _Lowering.name,
    "qualified_identifier": _Lowering.name,
    "this": _Lowering.name,
    "field_identifier": _Lowering.name,
    "true": _Lowering.literal,
    "false": _Lowering.literal,
    "null": _Lowering.literal,
    "char_literal": _Lowering.literal,
    "string_literal": _Lowering.literal,
    "concatenated_string": _Lowering.literal,
    "parenthesized_expression": _Lowering.inner,
    "condition_clause": _Lowering.condition,
    "unary_expression": _Lowering.unary,
    "pointer_expression": _Lowering.unary,
    "binary_expression": _Lowering.binary,
    "assignment_expression": _Lowering.assign,
    "update_expression": _Lowering.update,
    "conditional_expression": _Lowering.select,
    "subscript_expression": _Lowering.subscript,
    "field_expression": _Lowering.member,
    "call_expression": _Lowering.call,
    "cast_expression": _Lowering.cast,
    "sizeof_expression": _Lowering.sizeof,
    "comma_expression": _Lowering.comma,
    "initializer_list": _Lowering.items,
    "argument_list": _Lowering.items,
    "lambda_expression": _Lowering.lambda_,
    "compound_literal_expression": _Lowering.compound,
}

_STMT: dict[str, Callable[[_Lowering, Node], Stmt]] = {
    "compound_statement": _Lowering.block,
    "declaration": _Lowering.declared,
    "expression_statement": _Lowering.evaluate,
    "if_statement": _Lowering.if_,
    "for_statement": _Lowering.for_,
    "while_statement": _Lowering.while_,
    "do_statement": _Lowering.while_,
    "return_statement": _Lowering.return_,
    "break_statement": _Lowering.jump,
    "continue_statement": _Lowering.jump,
    "preproc_if": _Lowering.preprocessed,
    "preproc_ifdef": _Lowering.preprocessed,
    "preproc_else": _Lowering.preprocessed,
    "else_clause": _Lowering.block,
    "attributed_statement": _Lowering.block,
}


def lower(root: Node) -> Program:
    """Lower a CUDA text's tree-sitter tree. Never raises on a parse with errors."""
    return _Lowering().program(root)


@functools.lru_cache(maxsize=64)
def lower_text(text: str) -> Program:
    """Parse and lower a CUDA text that has no tree yet."""
    return lower(_parser().parse(text.encode("utf-8", "surrogatepass")).root_node)

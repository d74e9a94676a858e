"""Reads the typed tree of `cpp` from the nodes of the grammar. Never raises on a parse with errors."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import Field, fields, replace
from functools import lru_cache
from typing import Any

from grader.source import cpp
from grader.source.cuda_tree import parse_cuda
from grader.source.declarators import clean_type, declared_name, extents, layers, read_parameters
from grader.source.nodes import descendants, given_nodes, read_name, text
from grader.source.scalar_types import type_letter

MAX_DEPTH = 200
"""Deepest nesting that is read (hostile or generated text may be deeper)."""
CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "dynamic_cast"})
TEMPLATE_TYPES = frozenset({"T", "accscalar_t", "acc_t"})
"""Names that templates give to arithmetic types."""
PLAIN_TYPES = frozenset({"primitive_type", "sized_type_specifier"})
CALLED_BY_NAME = PLAIN_TYPES | {
    *("identifier", "qualified_identifier", "template_function", "type_identifier"),
}
SPECIFIERS = frozenset({"storage_class_specifier", "type_qualifier", "storage_class"})
_FLOAT = re.compile(r"^[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?[fFlL]?$")
_NO_STATEMENTS = re.compile(
    r"comment|preproc_(call|include|def|function_def|directive)|alias_declaration|type_definition"
    r"|(using|static_assert)_declaration|namespace_alias_definition"
)
"""Nodes between statements that aren't statements."""
PURE = ("__", "shfl", "f", "max", "min", "exp", "log", "sqrt", "rsqrt", "abs", "pow", "tanh", "std::")  # fmt: skip
"""Prefixes of functions that change none of their arguments."""


def expression(node: cpp.Node | None, depth: int = 0) -> cpp.Expr:
    """Read an expression."""
    if node is None or depth > MAX_DEPTH:
        return cpp.Unclear(node)
    special, kind = _EXPRESSIONS.get(node.type), cpp.KINDS.get(node.type)
    if special is not None:
        return special(node, depth + 1)
    if kind is not None and issubclass(kind, cpp.Expr):
        return kind(node, *_read_fields(kind, node, depth + 1))
    return cpp.Unclear(node, _expressions(node, depth + 1))


def statement(node: cpp.Node | None, depth: int = 0) -> cpp.Stmt:
    """Read a statement."""
    if node is None:
        return cpp.Block(node, ())
    if depth > MAX_DEPTH:
        return cpp.Opaque(node, "nested too deeply")
    special, kind = _STATEMENTS.get(node.type), cpp.KINDS.get(node.type)
    if special is not None:
        return special(node, depth + 1)
    if kind is not None and issubclass(kind, cpp.Stmt):
        return kind(node, *_read_fields(kind, node, depth + 1))
    if kind is not None:  # the beginning of a `for`
        return cpp.Evaluate(node, expression(node, depth))
    if node.type == "ERROR" or node.is_missing:
        return cpp.Opaque(node, "not parsed")
    inside = (c for c in node.named_children if c.type.endswith(("statement", "declaration")))
    return cpp.Opaque(node, node.type, tuple(_statements(inside, depth + 1)))


@lru_cache(maxsize=256)
def assigned_in(stmt: cpp.Stmt) -> frozenset[str]:
    """Return the names that a statement may change, including arrays and pointers whose cells it stores to."""
    names: set[str] = set()
    for part in cpp.walk(stmt):
        if isinstance(part, (cpp.Assign, cpp.Update)):
            target: cpp.Expr = part.target
            while isinstance(target, cpp.Subscript):
                target = target.base
            if isinstance(target, cpp.Name):
                names.add(target.id)
        elif isinstance(part, cpp.Call) and not part.name.startswith(PURE):
            names.update(a.id for a in part.args if isinstance(a, cpp.Name))
        elif isinstance(part, cpp.Unary) and part.op == "&" and isinstance(part.operand, cpp.Name):
            names.add(part.operand.id)
    return frozenset(names)


def _read_fields(kind: Any, node: cpp.Node, depth: int) -> Iterator[Any]:
    return (_read_field(slot, node, depth) for slot in fields(kind)[1:])


def _read_field(slot: Field[Any], node: cpp.Node, depth: int) -> Any:
    """Read one field of a part; its annotation determines whether that is a statement, and whether it is optional."""
    how, name = next(iter(slot.metadata.items()))
    if how == "parts":
        return _expressions(node, depth)
    inner = next(_code_in(node), None) if how == "first" else node.child_by_field_name(name)
    if how == "word":
        return text(inner)
    if inner is None and str(slot.type).endswith("None"):
        return None
    return (statement if str(slot.type).startswith("Stmt") else expression)(inner, depth)


def _code_in(node: cpp.Node | None) -> Iterator[cpp.Node]:
    """Yield a node's children, without comments."""
    return (c for c in (node.named_children if node is not None else ()) if c.type != "comment")


def _expressions(node: cpp.Node | None, depth: int) -> tuple[cpp.Expr, ...]:
    return tuple(expression(child, depth) for child in _code_in(node))


# expressions


def _number(node: cpp.Node, _depth: int) -> cpp.Expr:
    value = parse_number(text(node))
    return cpp.Unclear(node) if value is None else cpp.Number(node, *value)


def parse_number(text: str) -> tuple[int | float, str] | None:
    """Return the value and type letter of a C++ numeric literal, or None."""
    low = text.replace("'", "").lower()
    digits, letter, sign = low.lstrip("-").rstrip("ul"), "l" if "l" in low else "i", low[:1] == "-"
    try:
        if digits.startswith(("0x", "0b")):
            return int(digits, 0), letter
        if digits.isdigit():
            whole = int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10)
            return -whole if sign else whole, letter
        if _FLOAT.match(digits) and any(c.isdigit() for c in digits):
            return float(low.rstrip("fl")), "f" if low.endswith("f") else "d"
    except ValueError:
        return None
    return None


def _constant(node: cpp.Node, _depth: int) -> cpp.Expr:
    truth = node.type in {"true", "false"}
    return cpp.Number(node, int(node.type == "true"), "b" if truth else "i")


def _string(node: cpp.Node, _depth: int) -> cpp.Expr:
    return cpp.Text(node, text(node).strip('"'))


def _name(node: cpp.Node, _depth: int) -> cpp.Expr:
    return cpp.Name(node, text(node))


def _inner(node: cpp.Node, depth: int) -> cpp.Expr:
    inner = node.child_by_field_name("value") or next(reversed([*_code_in(node)]), None)
    return expression(inner, depth) if inner is not None else cpp.Unclear(node)


def _cast(node: cpp.Node, depth: int) -> cpp.Expr:
    value = expression(node.child_by_field_name("value"), depth)
    return cpp.Cast(node, text(node.child_by_field_name("type")), value)


def _sizeof(node: cpp.Node, _depth: int) -> cpp.Expr:
    measured = node.child_by_field_name("type") or node.child_by_field_name("value")
    return cpp.SizeOf(node, text(measured).strip("() "))


def _compound(node: cpp.Node, depth: int) -> cpp.Expr:
    written = text(node.child_by_field_name("type"))
    args = _expressions(node.child_by_field_name("value"), depth)
    return cpp.Call(node, clean_type(written).split("::")[-1], written, None, (), args)


def _lambda(node: cpp.Node, depth: int) -> cpp.Expr:
    declarator = node.child_by_field_name("declarator")
    parameters = declarator.child_by_field_name("parameters") if declarator else None
    body = statement(node.child_by_field_name("body"), depth)
    return cpp.Lambda(node, read_parameters(parameters), body)


def _call(node: cpp.Node, depth: int) -> cpp.Expr:
    """Read a launch, a conversion by a type's name, or a call."""
    called = node.child_by_field_name("function")
    syntax = next((c for c in node.children if c.type == "kernel_call_syntax"), None)
    if syntax is not None:
        return read_launch(syntax, depth)
    if called is None:
        return cpp.Unclear(node, _expressions(node.child_by_field_name("arguments"), depth))
    call = read_call(node, depth)
    if call.base is not None or len(call.args) != 1:
        return call
    if called.type in PLAIN_TYPES:
        return cpp.Cast(node, text(called), call.args[0])
    if call.name in CASTS and call.template:
        return cpp.Cast(node, call.template[0], call.args[0])
    arithmetic = type_letter(call.name) != "?" or call.name in TEMPLATE_TYPES
    return (
        cpp.Cast(node, call.qualified, call.args[0]) if arithmetic and not call.template else call
    )


def read_launch(syntax: cpp.Node, depth: int = 0) -> cpp.Launch:
    """Read the launch of a kernel from its `<<<...>>>`."""
    call = syntax.parent
    name, template = read_name(call.child_by_field_name("function") or call.named_child(0))
    config, args = (
        _expressions(syntax, depth),
        _expressions(call.child_by_field_name("arguments"), depth),
    )
    return cpp.Launch(call, name.split("::")[-1], template, given_nodes(syntax), config, args)


def read_call(node: cpp.Node, depth: int = 0) -> cpp.Call:
    """Read a call, including conversions in call syntax."""
    called, args = (
        node.child_by_field_name("function"),
        _expressions(node.child_by_field_name("arguments"), depth),
    )
    base = None
    if called is not None and called.type == "field_expression":
        base = expression(called.child_by_field_name("argument"), depth)
        called = called.child_by_field_name("field")
    elif called is not None and called.type not in CALLED_BY_NAME:
        return cpp.Call(node, "operator()", "operator()", expression(called, depth), (), args)
    name, template = read_name(called)
    return cpp.Call(node, name.split("::")[-1], name, base, tuple(map(text, template)), args)


_EXPRESSIONS: dict[str, Callable[[cpp.Node, int], cpp.Expr]] = {
    "number_literal": _number,
    **dict.fromkeys(("true", "false", "null", "char_literal"), _constant),
    **dict.fromkeys(("string_literal", "concatenated_string"), _string),
    **dict.fromkeys(("identifier", "qualified_identifier", "this", "field_identifier"), _name),
    **dict.fromkeys(
        ("parenthesized_expression", "condition_clause", "subscript_argument_list"), _inner
    ),
    "cast_expression": _cast,
    "sizeof_expression": _sizeof,
    "compound_literal_expression": _compound,
    "lambda_expression": _lambda,
    "call_expression": _call,
}


# statements


def _block(node: cpp.Node, depth: int) -> cpp.Stmt:
    return cpp.Block(node, tuple(_statements(node.named_children, depth)))


def _statements(nodes: Iterable[cpp.Node], depth: int) -> Iterator[cpp.Stmt]:
    for node in nodes:
        if node.type == "declaration":
            yield from declarations(node, depth)
        elif not _NO_STATEMENTS.fullmatch(node.type):
            yield statement(node, depth)


def _otherwise(node: cpp.Node, depth: int) -> cpp.Stmt:
    return statement(next(_code_in(node), None), depth)


def _preprocessor_branch(node: cpp.Node, depth: int) -> cpp.Stmt:
    """Read the first branch of an #if, except of `#if 0`."""
    off = text(node.child_by_field_name("condition")).strip() == "0"
    branch = node.child_by_field_name("alternative") if off else node
    if branch is None:
        return cpp.Block(node, ())
    heads = [branch.child_by_field_name(one) for one in ("condition", "name", "alternative")]
    inside = (child for child in branch.named_children if child not in heads)
    return cpp.Block(branch, tuple(_statements(inside, depth)))


def _expression_statement(node: cpp.Node, depth: int) -> cpp.Stmt:
    inner = next(_code_in(node), None)
    if inner is None:
        return cpp.Block(node, ())
    if inner.type == "gnu_asm_expression":
        return cpp.Opaque(node, "inline assembly")
    return cpp.Evaluate(node, expression(inner, depth))


def _declaration_block(node: cpp.Node, depth: int) -> cpp.Stmt:
    return cpp.Block(node, tuple(declarations(node, depth)))


_STATEMENTS: dict[str, Callable[[cpp.Node, int], cpp.Stmt]] = {
    **dict.fromkeys(("compound_statement", "attributed_statement"), _block),
    **dict.fromkeys(("preproc_if", "preproc_ifdef", "preproc_else"), _preprocessor_branch),
    "else_clause": _otherwise,
    "expression_statement": _expression_statement,
    "declaration": _declaration_block,
}


# declarations


def variables(under: cpp.Node | None) -> Iterator[cpp.Declare]:
    """Yield the variables declared in a part of a text, in order."""
    for node in descendants(under, "declaration") if under is not None else ():
        yield from (one for one in declarations(node) if isinstance(one, cpp.Declare))


def declarations(node: cpp.Node, depth: int = 0) -> Iterator[cpp.Stmt]:
    """Yield one `Declare` for each name that a declaration declares."""
    words = {text(child) for child in node.children if child.type in SPECIFIERS}
    kind = text(node.child_by_field_name("type"))
    declarators = node.children_by_field_name("declarator")
    for child in declarators:
        yield _declare(node, child, kind, words, depth)
    if not declarators:
        yield cpp.Opaque(node, "declaration")


def _declare(node: cpp.Node, child: cpp.Node, kind: str, words: set[str], depth: int) -> cpp.Stmt:
    if child.type == "function_declarator":
        return _vexing_parse(node, child, kind, words)
    around = [one.type for one in layers(child)]
    dims = tuple(None if one is None else expression(one, depth) for one in extents(child))
    return cpp.Declare(
        node,
        text(declared_name(child)),
        clean_type(kind),
        dims,
        _initial(child, kind, depth),
        shared="__shared__" in words,
        extern="extern" in words,
        stars=around.count("pointer_declarator"),
        reference="reference_declarator" in around,
        const=bool(words & {"const", "constexpr"}),
    )


def _initial(child: cpp.Node, kind: str, depth: int) -> cpp.Expr | None:
    """Read a variable's initialiser; that of `int n(5);` is 5, and of `dim3 grid(5);` a list."""
    value = child.child_by_field_name("value")
    made = expression(value, depth) if value is not None else None
    single = (
        isinstance(made, cpp.Items) and made.node.type == "argument_list" and len(made.items) == 1
    )
    return made.items[0] if single and clean_type(kind) != "dim3" else made  # type: ignore[union-attr]


def _vexing_parse(node: cpp.Node, target: cpp.Node, kind: str, words: set[str]) -> cpp.Stmt:
    """Read `dim3 grid(n);`, which the grammar takes for a function, as a variable."""
    items: list[cpp.Expr] = []
    for child in _code_in(target.child_by_field_name("parameters")):
        known = parse_expression(text(child))
        if child.type != "parameter_declaration" or known is None:
            return cpp.Opaque(node, "function declarator")
        items.append(_placed_at(known, child))
    single = len(items) == 1 and clean_type(kind) != "dim3"
    init: cpp.Expr = items[0] if single else cpp.Items(target, tuple(items))
    name = text(target.child_by_field_name("declarator"))
    return cpp.Declare(node, name, clean_type(kind), (), init, const="const" in words)


@lru_cache(maxsize=512)
def parse_expression(text: str) -> cpp.Expr | None:
    """Parse a separate text, such as a macro's, as an expression; None if it isn't one."""
    if not text or len(text) > 500 or ";" in text or "{" in text:
        return None
    root = parse_cuda(f"auto macro_value = {text};".encode()).root_node
    if root.has_error or not root.named_children:
        return None
    found = list(declarations(root.named_children[0]))
    first = found[0] if len(found) == 1 else None
    return first.init if isinstance(first, cpp.Declare) else None


def _placed_at(expr: cpp.Expr, node: cpp.Node) -> cpp.Expr:
    """Return a separately parsed expression, with all its parts at a node of this text."""
    changes: dict[str, Any] = {"node": node}
    for slot in fields(expr):
        part = getattr(expr, slot.name)
        if isinstance(part, cpp.Expr):
            changes[slot.name] = _placed_at(part, node)
        elif isinstance(part, tuple):
            changes[slot.name] = tuple(
                _placed_at(p, node) if isinstance(p, cpp.Expr) else p for p in part
            )
    return replace(expr, **changes)

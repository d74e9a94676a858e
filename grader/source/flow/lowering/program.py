"""From a text's concrete tree to a `flow.program.Program`."""

import functools
from collections.abc import Iterator

from grader.source.cuda_code import around, text
from grader.source.cuda_tree import parse_cuda
from grader.source.declarators import clean_type
from grader.source.flow.lowering.statements import Statements
from grader.source.flow.program import Function, Macro, Program
from grader.source.flow.tree import Declare, Expr, Node
from grader.source.units import Unit


class Lowering(Statements):
    """One pass over one text."""

    def parse(self, text: str) -> Expr | None:
        """Read a text as an expression."""
        return parse_expression(text)

    def program(self, unit: Unit) -> Program:
        """Lower a whole text."""
        macros = map(_macro, (*unit.nodes("preproc_def"), *unit.nodes("preproc_function_def")))
        declared = (one for node in _outside(unit, "declaration") for one in self.declaration(node))
        return Program(
            tuple(self._functions(unit)),
            {macro.name: macro for macro in macros},
            tuple(one for one in declared if isinstance(one, Declare)),
            dict(_aliases(unit)),
        )

    def _functions(self, unit: Unit) -> Iterator[Function]:
        for one in unit.functions:
            body = self.block(one.body)
            template = one.template_parameters
            yield Function(one.name, one.runs, one.parameters, template, body, one.node)


def _outside(unit: Unit, kind: str) -> Iterator[Node]:
    """Yield the nodes of a kind that stand in no function."""
    for node in unit.nodes(kind):
        if all(outer.type != "function_definition" for outer in around(node)):
            yield node


def _macro(node: Node) -> Macro:
    name = text(node.child_by_field_name("name"))
    params = node.child_by_field_name("parameters")
    names = tuple(text(c) for c in params.named_children) if params is not None else None
    value = text(node.child_by_field_name("value")).split("//")[0].replace("\\\n", " ").strip()
    return Macro(name, names, parse_expression(value), node)


def _aliases(unit: Unit) -> Iterator[tuple[str, str]]:
    """Yield the names that a text gives to types, outside of functions."""
    for kind, named in (("alias_declaration", "name"), ("type_definition", "declarator")):
        for node in _outside(unit, kind):
            written = clean_type(text(node.child_by_field_name("type")))
            yield text(node.child_by_field_name(named)), written


@functools.lru_cache(maxsize=512)
def parse_expression(text: str) -> Expr | None:
    """Parse a macro's text as an expression; None if it isn't one."""
    if not text or len(text) > 500 or ";" in text or "{" in text:
        return None
    root = parse_cuda(f"auto macro_value = {text};".encode()).root_node
    if root.has_error or not root.named_children:
        return None
    found = list(Lowering().declaration(root.named_children[0]))
    first = found[0] if len(found) == 1 else None
    return first.init if isinstance(first, Declare) else None


def lower(unit: Unit) -> Program:
    """Lower a CUDA text. Never raises on a parse with errors."""
    return Lowering().program(unit)

"""From a whole text's concrete tree to a `flow.tree.Program`."""

import functools
from collections.abc import Iterator

import tree_sitter
import tree_sitter_cuda

from grader.source.cuda_code import text
from grader.source.flow.lowering.statements import Statements
from grader.source.flow.lowering.words import clean_type
from grader.source.flow.program import Function, Macro, Program, TemplateParameter
from grader.source.flow.tree import Declare, Expr, LaunchCall, Node, walk


@functools.lru_cache(maxsize=1)
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


class Lowering(Statements):
    """One pass over one text."""

    def parse(self, text: str) -> Expr | None:
        """Read a text as an expression."""
        return parse_expression(text)

    def _function(self, node: Node, template: Node | None) -> Function | None:
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
        words = {text(c) for c in node.children if not c.is_named or c.type != "compound_statement"}
        kind = "global" if "__global__" in words else "device" if "__device__" in words else "host"
        name = text(declarator.child_by_field_name("declarator")).split("::")[-1]
        params = self.parameters(declarator.child_by_field_name("parameters"))
        returns = clean_type(text(node.child_by_field_name("type"))) + "*" * pointer
        lowered = self.block(body)
        return Function(name, kind, returns, params, _template(template), lowered, node)

    def program(self, root: Node) -> Program:
        """Lower a whole text."""
        functions: list[Function] = []
        macros: dict[str, Macro] = {}
        constants: list[Declare] = []
        aliases: dict[str, str] = {}
        for node, template in _top_level(root, None, 0):
            if node.type == "function_definition":
                function = self._function(node, template)
                if function is not None:
                    functions.append(function)
            elif node.type in {"preproc_def", "preproc_function_def"}:
                macro = self._macro(node)
                macros[macro.name] = macro
            elif node.type == "declaration":
                constants.extend(d for d in self.declaration(node) if isinstance(d, Declare))
            elif node.type == "alias_declaration":
                name = text(node.child_by_field_name("name"))
                aliases[name] = clean_type(text(node.child_by_field_name("type")))
            elif node.type == "type_definition":
                name = text(node.child_by_field_name("declarator"))
                aliases[name] = clean_type(text(node.child_by_field_name("type")))
        launches = tuple(
            (f, part) for f in functions for part in walk(f.body) if isinstance(part, LaunchCall)
        )
        return Program(tuple(functions), macros, tuple(constants), launches, aliases)

    def _macro(self, node: Node) -> Macro:
        name = text(node.child_by_field_name("name"))
        params = node.child_by_field_name("parameters")
        names = tuple(text(c) for c in params.named_children) if params is not None else None
        value = text(node.child_by_field_name("value")).split("//")[0].replace("\\\n", " ").strip()
        return Macro(name, names, value, parse_expression(value), node)


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
        out.append(TemplateParameter(text(target), is_type, text(default)))
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


@functools.lru_cache(maxsize=512)
def parse_expression(text: str) -> Expr | None:
    """Parse a macro's text as an expression; None if it isn't one."""
    if not text or len(text) > 500 or ";" in text or "{" in text:
        return None
    root = _parser().parse(f"auto macro_value = {text};".encode()).root_node
    if root.has_error or not root.named_children:
        return None
    found = list(Lowering().declaration(root.named_children[0]))
    first = found[0] if len(found) == 1 else None
    return first.init if isinstance(first, Declare) else None


def lower(root: Node) -> Program:
    """Lower a CUDA text's tree-sitter tree. Never raises on a parse with errors."""
    return Lowering().program(root)


@functools.lru_cache(maxsize=64)
def lower_text(text: str) -> Program:
    """Parse and lower a CUDA text that has no tree yet."""
    return lower(_parser().parse(text.encode("utf-8", "surrogatepass")).root_node)

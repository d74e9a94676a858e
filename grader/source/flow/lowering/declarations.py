"""From the concrete nodes of declarations and parameters to those of `flow.tree`."""

from collections.abc import Iterator

from grader.source.cuda_code import text
from grader.source.declarators import clean_type
from grader.source.flow.lowering.expressions import Expressions, place_expression
from grader.source.flow.tree import Declare, Expr, Items, Name, Node, Opaque, Stmt


class Declarations(Expressions):
    """Lowers declarations."""

    def parse(self, text: str) -> Expr | None:
        """Read a text as an expression; defined by `program.Lowering`."""
        raise NotImplementedError

    def declaration(self, node: Node) -> Iterator[Stmt]:
        """Yield one `Declare` for each declared name."""
        words = {
            text(c)
            for c in node.children
            if c.type in {"storage_class_specifier", "type_qualifier", "storage_class"}
        }
        kind = text(node.child_by_field_name("type"))
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
            return self._lower_vexing_parse(node, target, kind, words)
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
        )

    def _lower_vexing_parse(self, node: Node, target: Node, kind: str, words: set[str]) -> Stmt:
        """Read `dim3 grid(n);`, which the grammar takes for a function, as a variable."""
        params = target.child_by_field_name("parameters")
        name = text(target.child_by_field_name("declarator"))
        items: list[Expr] = []
        for child in params.named_children if params is not None else ():
            word = text(child)
            known = Name(child, word) if word.isidentifier() else self.parse(word)
            if child.type != "parameter_declaration" or known is None:
                return Opaque(node, "function declarator")
            items.append(place_expression(known, child))
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
        return text(node), tuple(dims), pointer, reference

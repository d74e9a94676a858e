"""From the concrete nodes of statements to those of `flow.tree`."""

from collections.abc import Callable, Iterator

from grader.source.cuda_code import text
from grader.source.flow.lowering.declarations import Declarations
from grader.source.flow.lowering.expressions import MAX_DEPTH
from grader.source.flow.lowering.words import SKIPPED
from grader.source.flow.tree import Block, Evaluate, If, Jump, Loop, Node, Opaque, Return, Stmt


class Statements(Declarations):
    """Lowers statements."""

    def stmt(self, node: Node | None) -> Stmt:
        """Lower a statement."""
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
        """Lower the statements between braces."""
        return Block(node, tuple(self._stmts(node)))

    def _stmts(self, node: Node) -> Iterator[Stmt]:
        for child in node.named_children:
            if child.type in SKIPPED:
                continue
            if child.type == "declaration":
                yield from self.declaration(child)
            else:
                yield self.stmt(child)

    def _lower_declaration(self, node: Node) -> Stmt:
        return Block(node, tuple(self.declaration(node)))

    def _lower_preprocessed(self, node: Node) -> Stmt:
        """Take the first branch of an #if, except of `#if 0`."""
        test = text(node.child_by_field_name("condition"))
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
            if child.id in skip or child.type in SKIPPED:
                continue
            if child.type == "declaration":
                out.extend(self.declaration(child))
            else:
                out.append(self.stmt(child))
        return Block(node, tuple(out))

    def _evaluate(self, node: Node) -> Stmt:
        kids = [c for c in node.named_children if c.type != "comment"]
        if not kids:
            return Block(node, ())
        if kids[0].type == "gnu_asm_expression":
            return Opaque(node, "inline assembly")
        return Evaluate(node, self.expr(kids[0]))

    def _if(self, node: Node) -> Stmt:
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

    def _for(self, node: Node) -> Stmt:
        init, test, step = (
            node.child_by_field_name(f) for f in ("initializer", "condition", "update")
        )
        first: Stmt | None = None
        if init is not None:
            first = self._lower_declaration(init) if init.type == "declaration" else None
            first = first or Evaluate(init, self.expr(init))
        return Loop(
            node,
            "for",
            first,
            None if test is None else self.expr(test),
            None if step is None else self.expr(step),
            self.stmt(node.child_by_field_name("body")),
        )

    def _while(self, node: Node) -> Stmt:
        test = self.expr(node.child_by_field_name("condition"))
        body = self.stmt(node.child_by_field_name("body"))
        return Loop(node, "do" if node.type == "do_statement" else "while", None, test, None, body)

    def _return(self, node: Node) -> Stmt:
        kids = [c for c in node.named_children if c.type != "comment"]
        return Return(node, self.expr(kids[0]) if kids else None)

    def _jump(self, node: Node) -> Stmt:
        return Jump(node, "break" if node.type == "break_statement" else "continue")


_STMT: dict[str, Callable[[Statements, Node], Stmt]] = {
    "compound_statement": Statements.block,
    "declaration": Statements._lower_declaration,
    "expression_statement": Statements._evaluate,
    "if_statement": Statements._if,
    "for_statement": Statements._for,
    "while_statement": Statements._while,
    "do_statement": Statements._while,
    "return_statement": Statements._return,
    "break_statement": Statements._jump,
    "continue_statement": Statements._jump,
    "preproc_if": Statements._lower_preprocessed,
    "preproc_ifdef": Statements._lower_preprocessed,
    "preproc_else": Statements._lower_preprocessed,
    "else_clause": Statements.block,
    "attributed_statement": Statements.block,
}

"""Helpers for nodes of a CUDA or C++ tree: text, ancestors, descendants, names."""

from collections.abc import Iterator

from tree_sitter import Node


def text(node: Node | None) -> str:
    """Return a node's text; empty for None."""
    return "" if node is None or node.text is None else node.text.decode("utf-8", "replace")


def one_line(node: Node | None, limit: int = 80) -> str:
    """Return a node's text on one line, cut to a length."""
    line = " ".join(text(node).split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def around(node: Node) -> Iterator[Node]:
    """Yield the ancestors of a node, from the inside out."""
    here = node.parent
    while here is not None:
        yield here
        here = here.parent


def read_name(node: Node | None) -> tuple[str, tuple[Node, ...]]:
    """Return the called, launched or declared name with namespaces, and its template arguments."""
    scope = ""
    while node is not None:
        if node.type == "qualified_identifier":
            scope += f"{text(node.child_by_field_name('scope'))}::"
            node = node.child_by_field_name("name")
        elif node.type in {"template_function", "template_method", "template_type"}:
            given = node.child_by_field_name("arguments")
            arguments = tuple(given.named_children) if given is not None else ()
            return scope + text(node.child_by_field_name("name")), arguments
        elif node.type == "field_expression":
            node = node.child_by_field_name("field")
        elif node.type == "dependent_name":
            node = node.named_children[-1] if node.named_children else None
        else:
            return scope + "".join(text(node).split()), ()
    return scope, ()


def given_nodes(arguments: Node | None) -> tuple[Node, ...]:
    """Return the expressions in a list of arguments, with the parentheses around them."""
    return tuple(c for c in arguments.named_children if c.type != "comment") if arguments else ()


def plain_name(node: Node | None) -> str:
    """Return the name without namespaces: `f` for `ns::f<float>`."""
    return read_name(node)[0].rpartition("::")[2]


def descendants(node: Node, *kinds: str) -> Iterator[Node]:
    """Yield the nodes of these kinds under a node, in the order of the text."""
    todo = [node]
    while todo:
        here = todo.pop()
        if here.type in kinds:
            yield here
        todo += reversed(here.named_children)


def names_in(node: Node | None) -> set[str]:
    """Return the identifiers in a part of a text."""
    return {text(one) for one in descendants(node, "identifier")} if node is not None else set()


def function_around(node: Node) -> Node | None:
    """Return the definition of the function around a node."""
    return next((one for one in around(node) if one.type == "function_definition"), None)

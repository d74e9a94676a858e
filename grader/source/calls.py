"""Calls in a CUDA or C++ text, read from the nodes of the grammar."""

from dataclasses import dataclass

from tree_sitter import Node

from grader.source.nodes import read_name, text


@dataclass(frozen=True, eq=False)
class Call:
    """One call: what is called as written (`at::cuda::getCurrentCUDAStream`), and on what."""

    name: str
    """With namespaces, without template arguments; only the method's name for a method."""
    template: str
    """The template arguments' text without the angle brackets, or ""."""
    object: Node | None
    """What a method is called on."""
    arguments: tuple[Node, ...]
    node: Node

    @property
    def last(self) -> str:
        """The name without namespaces."""
        return self.name.rsplit("::", 1)[-1]


def read_call(node: Node) -> Call:
    """Return a call expression's parts."""
    callee = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    given = arguments.named_children if arguments is not None else []
    owner: Node | None = None
    if callee is not None and callee.type == "field_expression":
        owner = callee.child_by_field_name("argument")
        callee = callee.child_by_field_name("field")
    name, template = read_name(callee)
    return Call(
        name,
        ", ".join(map(text, template)),
        owner,
        tuple(item for item in given if item.type != "comment"),
        node,
    )

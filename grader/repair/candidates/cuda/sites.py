"""Where a rewrite applies: what an expression is to the statement, loop, index or launch around it."""

from __future__ import annotations

import re

from tree_sitter import Node

from grader.repair.candidates.cuda.scope import Site, is_target, parts, stored_in
from grader.repair.candidates.pattern import Where
from grader.source.cuda_code import around, read_call, text

INDEXED = {"subscript_argument_list", "binary_expression", "init_declarator", "argument_list"}
MAKERS = re.compile(r"(?:torch|at)::(?:empty|zeros|ones|full)")


def device(site: Site) -> bool:
    """Whether it stands in code of the GPU."""
    return not site.scope.on_host


def host(site: Site) -> bool:
    """Whether it stands in host code."""
    return site.scope.on_host


def integer(site: Site) -> bool:
    """Whether it is a whole number."""
    return site.scope.kind_of(site.node) == "integer"


def real(site: Site) -> bool:
    """Whether it is a real number."""
    return site.scope.kind_of(site.node) == "real"


def kind_of(site: Site, letter: str) -> str:
    """Return what kind of number a letter stands for."""
    return site.scope.kind_of(site.bound[letter])


def kind(letter: str, *kinds: str) -> Where:
    """Return whether a letter stands for a number of one of these kinds."""
    return lambda site: kind_of(site, letter) in kinds


def is_a(letter: str, form: str) -> Where:
    """Return whether a letter's text has a form."""
    return lambda site: re.fullmatch(form, site.text(letter)) is not None


def node_is(*types: str) -> Where:
    """Return whether it is a node of one of these types."""
    return lambda site: site.node.type in types


def parent_is(*types: str) -> Where:
    """Return whether what is around it is of one of these types."""
    return lambda site: site.node.parent is not None and site.node.parent.type in types


def calls(names: set[str] | frozenset[str]) -> Where:
    """Return whether it is a call of one of these, by the last part of their names."""

    def found(site: Site) -> bool:
        return site.node.type == "call_expression" and read_call(site.node).last in names

    return found


def call_around(node: Node) -> Node | None:
    """Return the call that a node is an argument of."""
    outer = node.parent.parent if node.parent is not None else None
    return outer if outer is not None and outer.type == "call_expression" else None


def not_(where: Where) -> Where:
    """Return the opposite."""
    return lambda site: not where(site)


def is_stored(site: Site) -> bool:
    """Whether it is the value that is stored to, or added to, an array that the kernel is given."""
    parent, arrays = site.node.parent, site.scope.pointers
    if site.scope.on_host or parent is None:
        return False
    if parent.type == "assignment_expression":
        own = parent.child_by_field_name("right") == site.node
        return own and stored_in(parent) in arrays
    outer = call_around(site.node)
    if outer is None or read_call(outer).name != "atomicAdd":
        return False
    return read_call(outer).arguments[1:] == (site.node,)


def is_value(site: Site) -> bool:
    """Whether it is a whole real value: assigned, returned, given to a function, or an element in a product."""
    parent = site.node.parent
    if site.scope.on_host or parent is None or not real(site) or is_target(site.node):
        return False
    if parent.type == "argument_list":
        return site.scope.kind_of(call_around(site.node)) == "real"
    if parent.type == "binary_expression":
        return site.node.type == "subscript_expression" and parts(parent)[1] in {"*", "/"}
    return parent.type in {"assignment_expression", "init_declarator", "return_statement"}


def is_truncated(site: Site) -> bool:
    """Whether it is a real number that a cast makes a whole one: what stands behind its point is lost."""
    outer = site.node.parent if site.node.type != "parenthesized_expression" else None
    cast = call_around(site.node) if outer is not None and outer.type == "argument_list" else outer
    whole = re.match(r"\((?:u?int|char|long)|static_cast<\s*(?:u?int|char|long)", text(cast))
    return whole is not None and real(site) and device(site)


def is_added_up(site: Site) -> bool:
    """Whether it is a real value that is added to a sum as it is."""
    parent = site.node.parent
    plain = site.node.type in {"identifier", "subscript_expression"} and real(site)
    added = parent is not None and parent.type == "assignment_expression"
    return plain and added and not is_target(site.node) and parts(parent)[1] == "+="


def is_made(site: Site) -> bool:
    """Whether it is the whole number that a variable is given."""
    given = parent_is("init_declarator", "assignment_expression")(site)
    return given and not is_target(site.node) and integer(site)


def in_index(site: Site) -> bool:
    """Whether it is part of an index, or of what one is made of."""
    return any(outer.type in INDEXED for outer in list(around(site.node))[:3])


def is_index(site: Site) -> bool:
    """Whether it is a whole index of device code."""
    return device(site) and parent_is("subscript_argument_list")(site)


def is_addend(site: Site) -> bool:
    """Whether it is a name that is an index of device code, or is added to others to make one or a variable."""
    here = site.node.parent
    while here is not None and here.type == "binary_expression" and parts(here)[1] == "+":
        here = here.parent
    named = site.node.type == "identifier" and integer(site) and device(site)
    return (
        named and here is not None and here.type in {"subscript_argument_list", "init_declarator"}
    )


def loop_of(node: Node) -> Node | None:
    """Return the `for` that a node is the head of, or None."""
    for outer in around(node):
        if outer.type == "for_statement":
            body = outer.child_by_field_name("body")
            return outer if body is None or node.end_byte <= body.start_byte else None
        if outer.type.endswith("statement"):
            return None
    return None


def in_loop_head(site: Site) -> bool:
    """Whether it stands in the head of a loop."""
    return loop_of(site.node) is not None


def is_outermost(site: Site) -> bool:
    """Whether it is a sum or product that is part of no other."""
    return site.node.type == "binary_expression" and not parent_is("binary_expression")(site)


def is_whole_condition(site: Site) -> bool:
    """Whether it is a condition that is no part of another joined by `&&`."""
    parent = site.node.parent
    return not (
        parent is not None and parent.type == "binary_expression" and "&&" in parts(parent)[1]
    )


def is_launch_size(site: Site) -> bool:
    """Whether it is a whole number by its name in `<<<...>>>`; a dim3 is none."""
    named = site.node.type == "identifier" and parent_is("kernel_call_syntax")(site)
    return named and integer(site)


def is_block_size(site: Site) -> bool:
    """Whether it is the second thing that a launch is told: its threads."""
    parent = site.node.parent
    told = [child for child in parent.named_children if child.type != "comment"] if parent else []
    return is_launch_size(site) and told[1:2] == [site.node]


def is_grid_size(site: Site) -> bool:
    """Whether it is a whole number by its name among the sizes of a declared `dim3`."""
    given = site.node.parent
    outer = given.parent if given is not None and given.type == "argument_list" else None
    made = outer.parent if outer is not None and outer.type == "init_declarator" else None
    a_dim3 = made is not None and text(made.child_by_field_name("type")) == "dim3"
    return a_dim3 and site.node.type == "identifier" and integer(site)


def makes_tensor(node: Node) -> bool:
    """Whether an expression makes a tensor of sizes that it is given one by one."""
    if node.type != "call_expression" or not MAKERS.fullmatch(read_call(node).name):
        return False
    arguments = read_call(node).arguments
    return bool(arguments) and arguments[0].type == "initializer_list"


def axes_of(site: Site, axis: str) -> bool:
    """Whether the function looks at an axis of the block or grid that is not the first."""
    return f".{axis}" in text(site.scope.function.node)


def launched_text(site: Site) -> str:
    """Return the text of the kernel that is launched with a size."""
    begun = site.node.parent.parent if site.node.parent is not None else None
    name = read_call(begun).last if begun is not None else ""
    return "".join(kernel.text for kernel in site.scope.text.kernels if kernel.name == name)

"""Parses CUDA and C++ text with tree-sitter's CUDA grammar, and walks its trees.

The grammar tolerates errors: unreadable text becomes an `ERROR` node, the rest stays usable.
"""

import time
from collections.abc import Iterator, Mapping
from functools import cache

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser, Tree, TreeCursor

TIME_LIMIT = 1.5
"""Seconds for one text; error recovery on megabytes of nonsense can take minutes."""
MAX_BYTES = 4_000_000
SMALL = 32_768
"""Bytes that are read without a deadline."""
CHUNK = 65_536


@cache
def cuda_language() -> Language:
    """Return the grammar, for custom queries."""
    return Language(tree_sitter_cuda.language())


NESTING = (b"(", b"{", b"[", b"?", b"+", b"*", b"-", b"<", b"for", b"if", b"do", b"while")
"""Characters that nest, or chain into a deep tree."""
FEW = 600
"""Least number of them for measuring a tree's depth."""
MAX_DEPTH = 300


def parse_cuda(data: bytes) -> Tree:
    """Return the tree of a CUDA or C++ text; an empty tree where it takes too long to read.

    A text with unreasonably deep nesting counts as such, since walking up from a node takes time with its depth.
    """
    if len(data) > SMALL and not _readable_in_time(data):
        data = b""
    tree = Parser(cuda_language()).parse(data)
    if sum(map(data.count, NESTING)) > FEW and _is_deep(tree.root_node):
        tree = Parser(cuda_language()).parse(b"")
    return tree


def _is_deep(node: Node) -> bool:
    return any(cursor.depth > MAX_DEPTH for cursor in _cursors(node))


def _cursors(node: Node) -> Iterator[TreeCursor]:
    """Yield a cursor at a node and then at each under it, in the order of the text.

    Iterative: generated code may nest deeper than Python's stack.
    """
    cursor = node.walk()
    while True:
        yield cursor
        if cursor.goto_first_child() or cursor.goto_next_sibling():
            continue
        while cursor.goto_parent():
            if cursor.goto_next_sibling():
                break
        else:
            return


def _readable_in_time(data: bytes) -> bool:
    """Test whether the text parses within a deadline; only this form of the call has one, but its tree is slow."""
    if len(data) > MAX_BYTES:
        return False
    deadline = time.monotonic() + TIME_LIMIT
    try:
        Parser(cuda_language()).parse(
            lambda offset, _point: data[offset : offset + CHUNK],
            progress_callback=lambda _offset, _error: time.monotonic() > deadline,
        )
    except ValueError:  # the binding's error when the callback stopped it
        return False
    return True


def descend(node: Node) -> Iterator[Node]:
    """Yield the node and all under it in the order of the text."""
    return (cursor.node for cursor in _cursors(node) if cursor.node is not None)


def by_kind(root: Node) -> Mapping[str, tuple[Node, ...]]:
    """Return the named nodes of a tree by their kind, each kind in the order of the text."""
    found: dict[str, list[Node]] = {}
    for node in descend(root):
        if node.is_named:
            found.setdefault(node.type, []).append(node)
    return {kind: tuple(nodes) for kind, nodes in found.items()}

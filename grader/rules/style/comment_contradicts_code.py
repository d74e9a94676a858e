"""STY002: a comment contradicts the code."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.rules import Context, Finding, Source, Unit, rule_of
from grader.source import Kernel
from grader.source.instantiations import array_size, instantiations
from grader.source.nodes import descendants, text

NUMBER = re.compile(
    r"\b(\d+(?:\.\d+)?)\s*(?:(KB|KiB|bytes?|B|MB)|(floats?|doubles?|elements?|ints?|values?)|threads)\b"
    r"|\bthreads per block (?:is|=|of) (\d+)",
    re.IGNORECASE,
)
UNITS = {"kb": 1024, "kib": 1024, "mb": 1 << 20, "b": 1, "byte": 1, "bytes": 1}
INTO_SHARED = re.compile(r"\b(?:load|cop(?:y|ies)|stage|store)s?\b.*\bshared\b", re.IGNORECASE)
SAME_FOR_ALL = re.compile(
    r"\ball threads\b.*\bsame\b|\bbroadcast\b.*\ball threads\b", re.IGNORECASE
)
ONE_THREAD = re.compile(r"(?:lane|tid|threadIdx\.x)\w*\s*==\s*0")


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Compare comments on sizes or on the destination of data with the code beside them."""
    for unit in source.cuda:
        for kernel in unit.kernels:
            for comment in descendants(kernel.node, "comment"):
                wrong = _size(source, unit, kernel, comment) or _claim(kernel, comment)
                if wrong:
                    yield RULE.finding(unit.place(comment), wrong)


def _size(source: Source, unit: Unit, kernel: Kernel, comment: Node) -> str:
    """Report a wrong size in a comment on a shared array's line."""
    line = comment.start_point[0]
    array = next((one for one in kernel.shared if one.node.end_point[0] == line), None)
    if array is None or array.extern:
        return ""
    sizes = (array_size(unit, array, one) for one in instantiations(source.cuda, kernel))
    count, element = next(filter(None, sizes), (0, 0))
    said = next((f[0] for f in NUMBER.finditer(text(comment)) if _off(f, count, element)), "")
    if said and count:
        return f"the comment says {said}, but {array.name} has {count} elements and {count * element} bytes"
    return ""


def _off(found: re.Match[str], count: int, element: int) -> bool:
    said, unit, elements, threads = found.groups()
    if unit:
        size = float(said) * UNITS[unit.lower()]
        return abs(size - count * element) > count * element / 10
    if elements:
        return float(said) != count
    number = float(threads or said)
    return number > count and number % 32 == 0


def _claim(kernel: Kernel, comment: Node) -> str:
    """Report a comment's claim that the statements below it don't fulfil, up to the next comment or barrier."""
    below: list[Node] = []
    here = comment.next_named_sibling
    while here is not None and here.type != "comment" and "__syncthreads" not in text(here)[:20]:
        below.append(here)
        here = here.next_named_sibling
    if below and kernel.shared and INTO_SHARED.search(text(comment)):
        if not any(map(_stores, below)):
            return "the comment speaks of putting data into shared memory, and the code below it stores nothing there"
    elif below and SAME_FOR_ALL.search(text(comment)) and _in_one_thread(below[0]):
        return "the comment says that all threads have the same value, and the code below it changes it in some threads only"
    return ""


def _stores(statement: Node) -> bool:
    """Whether a statement stores into an array, or passes it to a function that may."""
    stored = (
        n.child_by_field_name("left") for n in descendants(statement, "assignment_expression")
    )
    called = any(descendants(statement, "call_expression"))
    return called or any(left is not None and left.type != "identifier" for left in stored)


def _in_one_thread(statement: Node) -> bool:
    """Whether a statement is `if (lane == 0) value = ...`, with a value that is not shared."""
    test = text(statement.child_by_field_name("condition"))
    targets = [
        n.child_by_field_name("left") for n in descendants(statement, "assignment_expression")
    ]
    own = bool(targets) and all(one is not None and one.type == "identifier" for one in targets)
    return statement.type == "if_statement" and own and bool(ONE_THREAD.search(test))


RULE = rule_of(__file__, check)

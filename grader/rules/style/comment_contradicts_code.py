"""STY002: a comment says what the code does not do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Kernel, SharedArray, Source, Unit
from grader.source.constants import fold, size_of
from grader.source.cuda_code import around, cuda_code, descendants, text
from grader.source.instantiations import instantiations

BYTES = re.compile(r"\b(\d+(?:\.\d+)?)\s*(KB|KiB|bytes?|B|MB)\b", re.IGNORECASE)
ELEMENTS = re.compile(r"\b(\d+)\s*(floats?|doubles?|elements?|ints?|values?)\b", re.IGNORECASE)
THREADS = re.compile(
    r"\bmax(?:imum)? threads(?: per block)? (?:is|=|of) (\d+)|\b(\d+) threads\b", re.IGNORECASE
)
UNITS = {"kb": 1024, "kib": 1024, "mb": 1 << 20, "b": 1, "byte": 1, "bytes": 1}
INTO_SHARED = re.compile(
    r"\b(?:load|copy|stage|cop(?:y|ies)|loads|store)\b.*\bshared\b", re.IGNORECASE
)
SAME_FOR_ALL = re.compile(
    r"\ball threads\b.*\bsame\b|\bbroadcast\b.*\ball threads\b", re.IGNORECASE
)


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Compare comments that name sizes, or say where data goes, with the code beside them."""
    for unit in source.cuda:
        for kernel in unit.kernels:
            if kernel.body is None:
                continue
            comments = list(descendants(kernel.body, "comment"))
            for array in kernel.shared:
                yield from _sizes(source, unit, kernel, array, comments)
            for comment in comments:
                yield from _claims(unit, kernel, comment)


def _sizes(
    source: Source, unit: Unit, kernel: Kernel, array: SharedArray, comments: list[Node]
) -> Iterator[Finding]:
    """Check the numbers in the comment on an array's own line."""
    line = array.node.end_point[0]
    comment = next((one for one in comments if one.start_point[0] == line), None)
    if comment is None or array.dynamic:
        return
    for instance in instantiations(source.cuda, kernel) or ():
        extents = [fold(unit, dim, instance.values, instance.types) for dim in array.dims]
        element = size_of(array.element_type, instance.types)
        if element is None or None in extents:
            return
        count = 1
        for extent in extents:
            count *= extent or 0
        wrong = _wrong_number(text(comment), count, count * element)
        if wrong:
            yield RULE.finding(
                unit.place(comment),
                f"the comment says {wrong}, but {array.name} has {count} elements and {count * element} bytes",
            )
        return


def _wrong_number(comment: str, count: int, size: int) -> str:
    for found in BYTES.finditer(comment):
        said = float(found.group(1)) * UNITS[found.group(2).lower()]
        if said not in {size, size * 2} and abs(said - size) > size / 10:
            return found.group(0)
    for found in ELEMENTS.finditer(comment):
        if int(found.group(1)) != count:
            return found.group(0)
    for found in THREADS.finditer(comment):
        number = int(found.group(1) or found.group(2))
        if number > count and number % 32 == 0:
            return f"{number} threads"
    return ""


def _claims(unit: Unit, kernel: Kernel, comment: Node) -> Iterator[Finding]:
    said = text(comment)
    below = _statements_below(comment)
    if INTO_SHARED.search(said) and below and kernel.shared:
        names = {array.name for array in kernel.shared} | _aliases(unit, kernel)
        if not any(_stores(one, names) for one in below):
            yield RULE.finding(
                unit.place(comment),
                "the comment speaks of putting data into shared memory, and the code below it stores nothing there",
            )
    elif SAME_FOR_ALL.search(said) and below and _only_one_thread(below[0]):
        yield RULE.finding(
            unit.place(comment),
            "the comment says that all threads have the same value, and the code below it changes it in some threads only",
        )


def _statements_below(comment: Node) -> list[Node]:
    """Return the statements that a comment is about: up to the next comment or barrier."""
    statements: list[Node] = []
    here = comment.next_named_sibling
    while here is not None and here.type != "comment" and "__syncthreads" not in text(here)[:20]:
        statements.append(here)
        here = here.next_named_sibling
    return statements


def _aliases(unit: Unit, kernel: Kernel) -> set[str]:
    """Return local pointers, which may point into shared memory."""
    return {
        text(node.child_by_field_name("declarator")).lstrip("* ")
        for node in cuda_code(unit).of("pointer_declarator")
        if kernel.node.start_byte <= node.start_byte < kernel.node.end_byte
        and not any(outer.type == "parameter_declaration" for outer in around(node))
    }


def _stores(statement: Node, names: set[str]) -> bool:
    for node in descendants(statement, "assignment_expression", "call_expression"):
        if node.type == "call_expression":
            if any(text(one) in names for one in descendants(node, "identifier")):
                return True
            continue
        left = node.child_by_field_name("left")
        if left is not None and any(text(one) in names for one in descendants(left, "identifier")):
            return True
    return False


def _only_one_thread(statement: Node) -> bool:
    """Whether a statement is `if (lane == 0) value = ...`, with a value that is not shared."""
    if statement.type != "if_statement":
        return False
    condition = text(statement.child_by_field_name("condition")).replace(" ", "")
    if not re.search(r"(?:lane|tid|threadIdx\.x)\w*==0", condition):
        return False
    targets = [
        node.child_by_field_name("left") for node in descendants(statement, "assignment_expression")
    ]
    return bool(targets) and all(one is not None and one.type == "identifier" for one in targets)


RULE = Rule(
    code="STY002",
    name="comment-contradicts-code",
    severity="note",
    summary="The comment states something that the code does not do; readers will trust the wrong one.",
    why="A comment that gives another size, or a step that is not there, often marks what the author meant to write.",
    bad=(
        "__global__ void k(float* y) {\n    __shared__ float t[8192];  // 8 KB\n"
        "    t[threadIdx.x] = 1.0f;\n    y[threadIdx.x] = t[threadIdx.x];\n}"
    ),
    good="__global__ void k(const float* x, float* y) {\n"
    "    __shared__ float t[8192];  // 32 KB, 8192 floats\n"
    "    // Load data into shared memory\n    t[threadIdx.x] = x[threadIdx.x];\n"
    "    // All threads now see the same tile\n    __syncthreads();\n"
    "    y[threadIdx.x] = t[threadIdx.x];\n}",
    detects=("text",),
    languages=("cuda",),
    guards="Numbers count only with a unit, on the line of the array; claims only where the code right below shows the opposite. Never "
    "above note.",
    fix="",
    check=check,
)

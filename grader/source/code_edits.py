"""Building blocks of fixes: common edits."""

import ast
from collections.abc import Callable, Collection, Iterable, Sequence

from tree_sitter import Node

from grader.records import Edit, Fix
from grader.source import Extension, Function, Source, Unit
from grader.source.nodes import text
from grader.source.python_code import constant_text


def fix(label: str, edits: Iterable[Edit | None], **kind: bool) -> tuple[Fix, ...]:
    """Return the fix as a tuple of one; an empty tuple if one of its edits can't be made. `kind`: `certain`, `hides`."""
    made = tuple(edits)
    known = tuple(edit for edit in made if edit is not None)
    if not made or len(known) < len(made):
        return ()
    return (Fix(label=label, edits=known, **kind),)


# Python


def replace(source: Source, node: ast.AST, new: str) -> Edit:
    """Return the edit that puts other text in place of a Python node."""
    start, end = source.span(node)
    return Edit(start=start, end=end, text=new)


def add_argument(source: Source, call: ast.Call, more: str) -> Edit:
    """Return the edit that gives a Python call one more argument, at its end."""
    end = source.span(call)[1] - 1
    comma = "" if source.text(call)[:-1].rstrip().endswith(",") else ", "
    return Edit(start=end, end=end, text=comma + more)


def insert_line_before(source: Source, node: ast.AST, new: str) -> Edit:
    """Return the edit that puts whole lines before a Python statement, decorators included."""
    decorators = getattr(node, "decorator_list", [])
    line = min([getattr(node, "lineno", 1), *(item.lineno for item in decorators)])
    at = source.positions.offset(line, 0)
    return Edit(start=at, end=at, text=new if new.endswith("\n") else new + "\n")


def delete_line(source: Source, line: int) -> Edit:
    """Return the edit that removes a whole line of the Python text."""
    start = source.positions.offset(line, 0)
    end = source.positions.offset(line + 1, 0) if line < len(source.lines) else len(source.code)
    return Edit(start=start, end=end, text="")


def delete_statement(source: Source, node: ast.stmt, beside: Collection[ast.stmt] = ()) -> Edit:
    """Return the edit that removes a statement.

    `pass` replaces it where it was alone on its line and the block would be empty; `beside` are other statements
    removed too.
    """
    start, end = source.span(node)
    line_start = source.positions.offset(node.lineno, 0)
    rest = source.code[end:].split("\n", 1)[0]
    shares_line = source.code[line_start:start].strip() or rest.strip(" \t;")
    block = _block(source, node)
    if shares_line or (node in block[:1] and {*block} <= {node, *beside}):
        return Edit(start=start, end=end, text="pass")
    return Edit(start=line_start, end=min(end + len(rest) + 1, len(source.code)), text="")


def _block(source: Source, node: ast.stmt) -> Sequence[ast.stmt]:
    """Return the statements of the block around a statement; none for the module's own."""
    for outer in source.walk(ast.stmt, ast.ExceptHandler):
        for name in ("body", "orelse", "finalbody"):
            block: Sequence[ast.stmt] = getattr(outer, name, ())
            if node in block:
                return block
    return ()


def delete_item(source: Source, item: ast.AST, end: int) -> Edit:
    """Return the edit that removes an argument or element, with the comma that belongs to it.

    `end` is where the surrounding call or list ends.
    """
    start, stop = source.span(item)
    code = source.code
    after = stop
    while after < end and code[after] in " \t\n":
        after += 1
    if after < end and code[after] == ",":
        after += 1
        while after < end and code[after] in " \t":
            after += 1
        line_start = code.rfind("\n", 0, start) + 1
        if after < end and code[after] == "\n" and not code[line_start:start].strip():
            return Edit(start=line_start, end=after + 1, text="")
        return Edit(start=start, end=after, text="")
    before = start
    while before > 0 and code[before - 1] in " \t\n":
        before -= 1
    if before > 0 and code[before - 1] == ",":
        return Edit(start=before - 1, end=stop, text="")
    return Edit(start=start, end=stop, text="")


def delete_keyword(source: Source, call: ast.Call, name: str) -> Edit | None:
    """Return the edit that removes a keyword argument of a call."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return delete_item(source, keyword, source.span(call)[1])
    return None


def quote_text(value: str) -> str:
    """Return a text as a Python literal; over several lines in triple quotes."""
    if "\n" not in value or '"""' in value or "\\" in value:
        return repr(value) if '"' in value else f'"{value}"' if "\\" not in value else repr(value)
    return f'"""{value}"""'


def add_declarations(
    source: Source, extension: Extension, prototypes: Sequence[str]
) -> Edit | None:
    """Return the edit that adds C++ prototypes to what reaches `cpp_sources`."""
    new = "\n".join(prototypes)
    expression = extension.keywords.get("cpp_sources")
    if expression is None:
        return None
    if isinstance(expression, ast.List | ast.Tuple):
        if not expression.elts:
            return replace(source, expression, f"[{quote_text(new)}]")
        at = source.span(expression.elts[-1])[1]
        return Edit(start=at, end=at, text=f", {quote_text(new)}")
    if isinstance(expression, ast.Constant) and not str(expression.value or "").strip():
        return replace(source, expression, quote_text(new))
    for unit in extension.cpp[-1:]:
        glue = "" if not unit.text or unit.text.endswith("\n") else "\n"
        edit = unit.edit(len(unit.data), len(unit.data), f"{glue}{new}")
        if edit is not None and unit not in extension.cuda and unit.text.strip():
            return edit
    if len(extension.cpp) == 1:
        return replace(source, expression, f"[{source.text(expression)}, {quote_text(new)}]")
    return None


# C++


def replace_node(unit: Unit, node: Node, new: str) -> Edit | None:
    """Return the edit that puts other text in place of a node of a CUDA or C++ tree."""
    return unit.edit(node.start_byte, node.end_byte, new)


def delete_lines_of(unit: Unit, node: Node) -> Edit | None:
    """Return the edit that removes a node, and its lines where nothing else stands on them."""
    data = unit.data
    start = data.rfind(b"\n", 0, node.start_byte) + 1
    end = data.find(b"\n", node.end_byte)
    end = len(data) if end < 0 else end
    if data[start : node.start_byte].strip() or _code_after(data[node.end_byte : end]):
        return unit.edit(node.start_byte, node.end_byte, "")
    return unit.edit(start, min(end + 1, len(data)), "")


def _code_after(rest: bytes) -> bool:
    rest = rest.strip()
    return bool(rest) and not rest.startswith(b"//")


def add_include(unit: Unit, *headers: str) -> Edit | None:
    """Return the edit that includes headers after the last include of a text."""
    includes = [node for node in unit.nodes("preproc_include") if _at_top(node)]
    lines = "".join(f"#include <{header}>\n" for header in headers)
    if includes:
        last = includes[-1]
        stop = last.end_byte
        if not text(last).endswith("\n"):
            return unit.edit(stop, stop, "\n" + lines.rstrip("\n"))
        return unit.edit(stop, stop, lines)
    first = len(unit.data) - len(unit.data.lstrip())
    start = unit.data.rfind(b"\n", 0, first) + 1
    return unit.edit(start, start, lines)


def _at_top(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "translation_unit"


def head(function: Function) -> str:
    """Return a function's head on one line, without its body: what a prototype repeats."""
    if function.body is None:
        return " ".join(text(function.node).rstrip("; \n").split())
    data = function.node.text or b""
    until = function.body.start_byte - function.node.start_byte
    return " ".join(data[:until].decode("utf-8", "replace").split())


def prototype(function: Function) -> str:
    """Return the declaration of a function, with its default arguments."""
    return f"{head(function)};"


def drop_flags(
    source: Source, call: ast.Call, keyword: str, dropped: Callable[[str], bool]
) -> list[Edit | None]:
    """Return the edits that remove such flags from a list argument of a call, with separate words before them."""
    value = next((word.value for word in call.keywords if word.arg == keyword), None)
    if not isinstance(value, ast.List):
        return [None]
    drop = [one for one in value.elts if dropped(constant_text(one) or "")]
    if len(drop) == len(value.elts):
        return [delete_keyword(source, call, keyword)]
    return [delete_item(source, one, source.span(value)[1]) for one in drop]

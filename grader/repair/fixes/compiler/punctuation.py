"""Semicolons, parentheses and braces that are missing or too many."""

from __future__ import annotations

import re

from grader.records import Edit, Fix
from grader.repair.fixes.compiler.diagnostic import Diagnostic
from grader.source import Source, Unit
from grader.source.code_edits import fix

ENDED = (";", "{", "}", ",", "(", ":", "\\", "&&", "||", "=")
BEGIN = (re.compile(r"(?<![=!<>])=(?!=)\s*"), re.compile(r"\breturn\s+|\b(?:if|while)\s+"))
"""Where an expression begins: after `=`, else after `return`, `if`, `while`."""
HEAD = re.compile(
    r"(?:template\s*<|__global__|__device__|torch::Tensor\s+\w+\s*\(|std::\w+<.*>\s+\w+\s*\(|void\s+\w+\s*\()"
)
"""Beginning of a definition, at the start of a line."""
NO_CODE = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
BACK = 4
"""Lines before the message's in which the end of a statement is looked for."""


def end_statement(found: Diagnostic) -> tuple[Fix, ...]:
    """End the statement before the place where a compiler expected a semicolon."""
    if not found.line or not found.says(r"expected (?:a )?\W?;"):
        return ()
    if declarations := _end_declarations(found.source, found.line):
        return declarations
    for line in range(found.line, max(found.line - BACK, 0), -1):
        code = found.source.lines[line - 1].split("//")[0].rstrip()
        before = line < found.line or found.says("after")
        open_ended = code.strip() and not code.strip().startswith("#") and not code.endswith(ENDED)
        if before and open_ended:
            return _insert_text(found.source, line, len(code), ";")
    return ()


def _end_declarations(source: Source, line: int) -> tuple[Fix, ...]:
    """End the last declaration of a text, where that is on this line."""
    for unit in source.cpp:
        code = unit.data.rstrip()
        if code.endswith(b")") and unit.place_span(len(code), len(code)).line == line:
            edit = unit.edit(len(code), len(code), ";")
            return fix("end the declaration with a semicolon", [edit])
    return ()


def balance_parentheses(found: Diagnostic) -> tuple[Fix, ...]:
    """Insert the one missing parenthesis of a line, at the beginning or the end of its expression."""
    if found.kind != "syntax" or not 0 < found.line <= len(found.source.lines):
        return ()
    code = re.split(r"//|/\*", found.source.lines[found.line - 1])[0].rstrip()
    more = code.count("(") - code.count(")")
    if abs(more) != 1 or '"' in code or not code.endswith((";", "{")):
        return ()
    if more > 0:
        return _insert_text(found.source, found.line, len(code.rstrip(";{").rstrip()), ")")
    begin = next((hit for pattern in BEGIN if (hit := pattern.search(code))), None)
    return _insert_text(found.source, found.line, begin.end(), "(") if begin else ()


def _insert_text(source: Source, line: int, column: int, what: str) -> tuple[Fix, ...]:
    at = source.positions.offset(line, 0) + column
    label = f"line {line}: put in the `{what}` that is missing"
    return fix(label, [Edit(start=at, end=at, text=what)])


def close_brace(found: Diagnostic) -> tuple[Fix, ...]:
    """Close a function before the next one begins, or remove an unmatched brace."""
    for unit in found.source.cuda if found.kind == "syntax" else ():
        line, missing = _odd_line(unit)
        if not line:
            continue
        lines = unit.text.split("\n")
        start = sum(len(words.encode("utf-8", "replace")) + 1 for words in lines[: line - 1])
        if missing:
            at = min(start, len(unit.data))
            label = (
                f"close the block before line {unit.place_line(min(line, len(unit.lines))).line}"
            )
            return fix(label, [unit.edit(at, at, "}\n" * missing)])
        stop = start + len(lines[line - 1].encode("utf-8", "replace"))
        where = unit.data.rfind(b"}", start, stop)
        return fix("take out the brace that closes nothing", [unit.edit(where, where + 1, "")])
    return ()


def _odd_line(unit: Unit) -> tuple[int, int]:
    """Return the first line where the braces show a slip, and how many are missing before it: 0 for one too many."""
    plain = NO_CODE.sub(lambda hit: re.sub(r"[^\n]", " ", hit[0]), unit.text)
    depth = 0
    lines = plain.split("\n")
    for number, line in enumerate(lines, 1):
        if depth > 0 and HEAD.match(line):
            return number, depth
        for sign in line:
            depth += (sign == "{") - (sign == "}")
            if depth < 0:
                return number, 0
    return (len(lines) + 1, depth) if depth > 0 else (0, 0)

"""The statements of one function."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable

from .locations import Locations
from .operands import Pool, Scope
from .program import LABEL_MARK, Function, Token, Variable
from .variables import declared_variables

_STATEMENT = re.compile(
    r"\s*(?:(?P<loc>\.loc\b[^\n]*)"
    r"|(?P<label>[A-Za-z_$%][\w$]*)\s*:(?!:)"
    r"|(?P<brace>[{}])"
    r"|(?P<directive>\.[a-z][^;]*);"
    r"|(?P<code>[@a-z][^;]*);"
    r"|(?P<empty>;))"
)
_PLAIN_LABEL = re.compile(r"[{}]|(?:^|(?<=[;{}\n]))[ \t]*([A-Za-z_][\w$]*)[ \t]*:(?!:)")
"""A brace, or a label that nvcc didn't name: of inline assembly, where each brace has labels of its own."""
_CALL = re.compile(r"^(?:\(([^)]*)\)\s*,\s*)?([^\s,]+)\s*(?:,\s*\(([^)]*)\))?\s*(?:,\s*([\w$]+))?$")
_REG = re.compile(r"\.reg\s*(?:\.v[24]\s+)?\.(\w+)\s+(.*)", re.DOTALL)
_SPACE = re.compile(r"((?:\.\w+\s*(?:\d+\s+)?)+)(.*)", re.DOTALL)
_GUARDED = re.compile(r"@(!?)\s*([\w$%]+)\s+(.*)", re.DOTALL)


class Body:
    """Decodes the text between a function's braces into its code."""

    def __init__(
        self,
        *,
        function: Function,
        scope: Scope,
        pool: Pool,
        locations: Locations,
        add_variable: Callable[[Variable], int],
        index: int,
    ) -> None:
        self._function = function
        self._scope = scope
        self._pool = pool
        self._locations = locations
        self._add = add_variable
        self._index = index
        self._table_name = ""

    def decode(self, text: str) -> None:
        """Append all statements; an unreadable one becomes an unsupported instruction."""
        self._locations.leave()
        position, end = 0, len(text)
        plain = _plain_labels(text)
        self._scope.declare_labels(plain.get(-1, ()))
        match = _STATEMENT.match
        while position < end:
            found = match(text, position)
            if found is None:
                rest = text[position:].strip()
                if rest:
                    raise ValueError(f"can't read {rest[:60]!r}")
                break
            position = found.end()
            kind = found.lastgroup
            if kind == "code":
                self._instruction(found["code"])
            elif kind == "loc":
                self._locations.enter(found["loc"])
            elif kind == "label":
                self._function.code.extend((LABEL_MARK, self._scope.label(found["label"])))
                self._table_name = found["label"]
            elif kind == "brace" and found["brace"] == "{":
                self._scope.push(plain.get(found.start("brace"), ()))
            elif kind == "brace":
                self._scope.pop()
            elif kind == "directive":
                self._directive(found["directive"])
        self._function.labels = self._scope.labels

    def _instruction(self, text: str) -> None:
        guard = 0
        if text[0] == "@":
            guarded = _GUARDED.match(text)
            if guarded is None:
                raise ValueError(f"can't read {text[:60]!r}")
            words = self._scope.words_of_name(guarded[2])
            if words is None or words[0] >> 28 != Token.REG:
                raise ValueError(f"unknown predicate {guarded[2]}")
            guard = (words[0] + 1) << 1 | bool(guarded[1])
            text = guarded[3]
        head, _, rest = text.partition(" ") if " " in text[:40] else _part_instruction(text)
        if "\t" in head or "\n" in head:
            head, _, rest = _part_instruction(text)
        code = self._function.code
        start = len(code)
        code.extend((self._pool.string(head), guard, self._locations.current, 0))
        self._function.instructions += 1
        try:
            code[start + 3] = self._operands(head, rest, code)
        except (ValueError, IndexError):
            del code[start:]
            name = self._pool.string(f"!{head} {' '.join(rest.split())}"[:120])
            code.extend((name, guard, self._locations.current, 0))

    def _operands(self, head: str, rest: str, code: array[int]) -> int:
        if head.startswith("call"):
            return self._call(rest, code)
        if "{" in rest or "[" in rest or "(" in rest:
            texts = _split_operands(rest)
        else:
            texts = [part.strip() for part in rest.split(",")] if rest.strip() else []
        if head.startswith("brx") and len(texts) == 2:
            code.extend(self._scope.words(texts[0]))
            targets = self._scope.tables[texts[1]]
            code.append(Token.TARGETS << 28 | len(targets))
            code.extend(self._scope.label(target) for target in targets)
            return 2
        self._scope.emit(texts, code)
        return len(texts)

    def _call(self, rest: str, code: array[int]) -> int:
        match = _CALL.match(" ".join(rest.split()))
        if match is None:
            raise ValueError("call")
        for group in (match[1], match[3]):
            names = [name.strip() for name in (group or "").split(",") if name.strip()]
            code.append(Token.VEC << 28 | len(names))
            self._scope.emit(names, code)
        code.extend(self._scope.words(match[2]))
        return 3

    def _directive(self, text: str) -> None:
        if text.startswith(".reg"):
            match = _REG.match(text)
            if match is None:
                raise ValueError(text[:60])
            self._scope.declare_registers(match[1], match[2])
        elif text.startswith(".branchtargets"):
            names = tuple(name.strip() for name in text[14:].split(","))
            self._scope.tables[self._table_name] = names
        elif text.startswith((".param", ".local", ".shared", ".global", ".const")):
            match = _SPACE.match(text)
            if match is None:
                raise ValueError(text[:60])
            for variable in declared_variables(match[1], match[2], self._index):
                number = self._add(variable)
                zero = self._pool.constant(0)
                self._scope.declare(variable.name, (Token.VAR << 28 | number, zero))


def _plain_labels(text: str) -> dict[int, list[str]]:
    """Return the labels directly inside of each brace, by its place; -1 for the function's own."""
    labels: dict[int, list[str]] = {}
    open_at = [-1]
    for found in _PLAIN_LABEL.finditer(text):
        if found[1]:
            labels.setdefault(open_at[-1], []).append(found[1])
        elif found[0] == "{":
            open_at.append(found.start())
        elif len(open_at) > 1:
            open_at.pop()
    return labels


def _part_instruction(text: str) -> tuple[str, str, str]:
    parts = text.split(None, 1)
    return parts[0], " ", parts[1] if len(parts) > 1 else ""


def _split_operands(text: str) -> list[str]:
    """Split at the commas outside of braces and brackets."""
    parts, depth, start = [], 0, 0
    for place, mark in enumerate(text):
        if mark in "{[(":
            depth += 1
        elif mark in "}])":
            depth -= 1
        elif mark == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    parts.append(text[start:].strip())
    return parts

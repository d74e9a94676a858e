"""SEC004: code is hidden from the reader."""

import ast
import math
import re
from collections import Counter
from collections.abc import Iterator

from grader.rules import Context, Finding, Source, rule_of
from grader.rules.name_tables import read_names
from grader.source.python_code import PythonCode

NAMES = read_names(__file__)

ENCODED = re.compile(r"^[A-Za-z0-9+/=_\-\s]{200,}$")
LEAST_ENTROPY = 4.5
"""Bits a character: source code has about 4, base64 of compressed data about 6."""
INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for decoding, for long literals without words, and for invisible characters."""
    code = source.module
    for name, call in code.calls:
        if name in NAMES["decoders"] and not code.in_main_guard(call):
            yield RULE.finding(
                source.place(call),
                f"{name} unpacks something at run time that this file does not show",
                severity="error" if _feeds_code(code, call) else "warning",
                rejects=_feeds_code(code, call),
            )
    yield from _literals(source, code)
    for number, line in enumerate(source.lines, 1):
        if INVISIBLE.search(line.lstrip("\ufeff")):
            yield RULE.finding(
                source.line_place(number),
                "this line has invisible characters, so it does not say what it shows",
                severity="warning",
            )
            return


def _literals(source: Source, code: PythonCode) -> Iterator[Finding]:
    for node in code.of(ast.Constant):
        value = node.value
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        packed = isinstance(text, str) and len(text) >= 200 and ENCODED.match(text) is not None
        if packed and _entropy(str(text)[:4000]) > LEAST_ENTROPY:
            yield RULE.finding(
                source.place(node),
                f"a literal of {len(str(text))} characters holds packed data, not source text",
                severity="warning",
            )
            return


def _entropy(text: str) -> float:
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())


def _feeds_code(code: PythonCode, call: ast.Call) -> bool:
    """Whether decoded text is executed: inside exec, eval, compile or a build."""
    return any(
        isinstance(around, ast.Call)
        and (
            code.canonical(around.func) in NAMES["runners"]
            or code.canonical(around.func).endswith(".load_inline")
        )
        for around in code.ancestors(call)
    )


RULE = rule_of(__file__, check)

"""No module looks for words in our own sentences: it asks the records' fields."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import grader

PACKAGE = Path(grader.__file__).parent
SENTENCES = {"message", "text", "sentence"}
PATTERNS = {"search", "match", "fullmatch", "findall", "finditer"}
METHODS = {"startswith", "endswith", "find", "index", "partition", "rpartition", "split"}
NO_RECORDS = {
    "unit": "CUDA or C++ text of the submission",
    "function": "a function of it",
    "f": "a function of it",
    "reference": "the reference's Python text",
    "prose": "what the author wrote",
    "review": "the sample, as it came",
    "run": "a stretch of the author's prose",
    "one": "a quoted text of a sample",
    "line": "a line of a sample",
    "lines": "lines of a sample",
    "region": "lines of a sample",
    "decode": "a file's text",
    "refusal": "a driver's refusal",
    "error": "a compiler's error in the driver, or Python's SyntaxError",
    "outcome": "what a tool printed",
    "message": "a compiler's message as the log has it",
    "said": "what a tool printed",
    "self": "the object's own text",
}
"""Whose `text` or `message` may be searched: none of these is a Finding, an Evidence, a Mismatch or a Verdict."""


def matches(code: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each look for words in a sentence of a record."""
    for node in ast.walk(ast.parse(code)):
        for looked in _looked_at(node):
            if isinstance(looked, ast.Attribute) and looked.attr in SENTENCES:
                if _name(looked.value) not in NO_RECORDS:
                    yield looked.lineno, ast.unparse(node)


def _name(owner: ast.expr) -> str:
    """Return the last name of what a text belongs to: `unit` of `scope.unit`, `lines` of `lines[0]`."""
    match owner:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=inner) | ast.Call(func=inner):
            return _name(inner)
    return ""


def _looked_at(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for operator, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, ast.In | ast.NotIn):
                yield right
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in PATTERNS:
            yield from node.args
        if node.func.attr in METHODS:
            yield node.func.value


def test_no_module_matches_on_our_own_sentences() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, text in matches(path.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "'shape' in item.text",
        "_PATTERN.search(evidence.text)",
        "re.match('x', finding.message)",
        "verdict.sentence.startswith('It')",
        "item.mismatch.text.partition('; ')",
    ],
)
def test_the_search_sees(code: str) -> None:
    assert list(matches(code))


@pytest.mark.parametrize("code", ["'warp' in item.said", "'half' in unit.text", "item.text == ''"])
def test_a_tool_s_words_may_be_searched(code: str) -> None:
    assert not list(matches(code))

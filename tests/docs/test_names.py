"""Functions have names that say what they do to what, and that can be grepped: no bare participles, no words of any meaning."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.docs.pages import ROOT

PARTICIPLE = re.compile(r"[a-z]+(?:ed|en)")
NO_PARTICIPLES = {
    "children",
    "deepen",
    "embed",
    "feed",
    "flatten",
    "open",
    "seed",
    "speed",
    "token",
}
VAGUE = {
    "bound", "by", "do", "does", "drawn", "found", "from", "given", "held", "kept", "known", "left", "made", "meant", "met", "more",
    "one", "ones", "other", "others", "own", "put", "right", "said", "same", "seen", "shown", "thing", "things", "told", "what",
    "which", "whole", "with", "wrong",
}  # fmt: skip


def vague_names(code: str) -> Iterator[str]:
    """Yield the functions and methods whose only word is a participle or could mean anything; properties are nouns."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = node.name.strip("_")
            participle = PARTICIPLE.fullmatch(name) and name not in NO_PARTICIPLES
            if (participle or name in VAGUE) and not any(map(_is_property, node.decorator_list)):
                yield node.name


def _is_property(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).endswith("property")


@pytest.mark.parametrize("name", ["_told", "settled", "made", "right"])
def test_a_vague_name_is_seen(name: str) -> None:
    assert list(vague_names(f"class A:\n    def {name}(self): ...")) == [name]
    assert not list(vague_names(f"class A:\n    @cached_property\n    def {name}(self): ..."))
    assert not list(vague_names(f"def {name}_lines(): ..."))


def test_no_function_has_a_vague_name() -> None:
    paths = sorted((ROOT / "grader").rglob("*.py"))
    found = [(p.name, name) for p in paths for name in vague_names(p.read_text("utf-8"))]
    assert not found

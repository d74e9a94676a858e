"""Nothing that a sample holds makes reading it raise, or costs more than it should."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.source import Source, parse
from grader.source.cuda_tree import MAX_DEPTH, parse_cuda

ROOT = Path(__file__).parents[2]
N = 30_000


def load(name: str = "x") -> str:
    return f'\nload_inline("e", "", {name})\n'


DEEP = {
    "parentheses": "x = " + "(" * N + ")" * N,
    "signs": "x = " + "-" * N + "1",
    "sum": "x = " + "1 + " * N + "1",
    "concatenation": "x = " + '"a" + ' * 900 + '"b"' + load(),
    "long concatenation": "x = " + '"a" + ' * N + '"b"' + load(),
    "attributes": "x = a" + ".b" * N,
    "calls": "x = " + "f(" * N,
    "lists": "x = " + "[" * N,
    "lambdas": "x = " + "lambda: " * N + "1",
    "blocks": "".join(" " * i + "if 1:\n" for i in range(500)),
    "branches": "if 1:\n pass\n" + "elif 1:\n pass\n" * 5000,
    "functions": "".join(" " * i + "def f():\n" for i in range(90)) + " " * 90 + load().strip(),
    "doubling": "a = 'x'\n" + "a = a + a\n" * 100 + load("a"),
    "doubling by name": "a0 = 'x'\n"
    + "".join(f"a{i + 1} = a{i} + a{i}\n" for i in range(60))
    + load("a60"),
    "recursion": "def f(): return f()" + load("f()"),
    "two recursions": "def f(x): return g(x) + g(x)\ndef g(x): return f(x) + f(x)" + load("f('a')"),
    "self": "a = a" + load("a"),
    "classes in a circle": "class A:\n  x = B.y\nclass B:\n  y = A.x" + load("A.x"),
    "unclosed holes": 'x = f"' + "{" * 1000 + '"' + load(),
    "zero byte": "x = 1\0\n",
    "half a character": 'x = "\ud800"' + load(),
    "byte order mark": "\ufeffx = 1\n",
    "huge number": "x = 1" + "0" * 10_000 + load("str(x)"),
    "many calls": load() * 3000,
    "form feed": "x = 1\n\x0cy = 2\n" + load("'z'"),
    "braces in the kernel": 'x = """__global__ void k() {' + "{" * N + '"""' + load(),
    "parentheses in the kernel": 'x = """__global__ void k() { int a = ' + "(" * N + '"""' + load(),
    "pointers": 'x = """__global__ void k(float ' + "*" * N + 'p) { }"""' + load(),
    "templates": 'x = """__global__ void k() { ' + "a<" * 5000 + '1; }"""' + load(),
    "nonsense in the kernel": 'x = r"""' + "{(<[  } ) > ] <<<" * 3000 + '"""' + load(),
}


def read_everything(source: Source) -> None:
    for unit in source.units:
        _ = (unit.functions, unit.declarations, unit.launches, unit.shared, unit.bindings)
        _ = (unit.includes, unit.macros, unit.constants, [one.code for one in unit.functions])
        unit.place(unit.tree)
    _ = (source.module.classes, source.module.functions)
    source.compiled_place("cuda.cu", 4)


@pytest.mark.parametrize("code", DEEP.values(), ids=DEEP)
def test_deep_and_odd_programs_are_read(code: str) -> None:
    source = parse(code)
    assert not (source.syntax_error and source.module.tree.body)
    read_everything(source)


LONG = {
    "lines": ('"""' + "// a line of code\n" * 60_000 + '"""', 18 * 60_000),
    "escapes": ('"' + "\\n" * 500_000 + '"', 500_000),
    "kernels": (
        '"""' + "__global__ void k(int* p) { p[0] = 1; }\n" * 25_000 + '"""',
        41 * 25_000 - 25_000,
    ),
    "letters": ('"' + "é" * 900_000 + '"', 900_000),
}


@pytest.mark.parametrize(("literal", "length"), LONG.values(), ids=LONG)
def test_megabyte_literals(literal: str, length: int) -> None:
    source = parse("x = " + literal + load())
    (extension,) = source.extensions
    assert [len(unit.text) for unit in extension.cuda] == [length]
    read_everything(source)


def fuzzer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "benchmarks" / "fuzz_source.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_mutated_samples_are_read() -> None:
    """A small share of what `benchmarks/fuzz_source.py` does."""
    fuzz = fuzzer()
    texts = [path.read_text() for path in sorted((ROOT / "samples").iterdir())]
    for number in range(800):
        rng = random.Random(number)
        fuzz.check(fuzz.mutated(rng, rng.choice(texts)))


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from(list("ab=+()[]{}\"'\\\n:#f. ,")), max_size=120))
def test_any_text_is_read(text: str) -> None:
    read_everything(parse(text + load("a")))
    read_everything(parse(text))


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from(list("<>(){}[]*&;,ab 1\n#\"'/")), max_size=120))
def test_any_kernel_text_is_read(text: str) -> None:
    code = 'x = r"""__global__ void k(int* p) {' + text.replace('"', "'") + '"""'
    source = parse(code + load())
    read_everything(source)
    (unit,) = source.cuda
    assert unit.text.startswith("__global__ void k")


@pytest.mark.parametrize("opening", ["for (;;) ", "{", "(", "if (n) ", "a + ", "n ? 1 : "])
def test_no_tree_nests_beyond_reading(opening: str) -> None:
    closing = {"{": "}", "(": ")"}.get(opening, "")
    text = f"void f(int n) {{ {opening * 3000}1{closing * 3000}; }}"
    cursor, deepest = parse_cuda(text.encode()).walk(), 0
    while cursor.goto_first_child() or cursor.goto_next_sibling():
        deepest = max(deepest, cursor.depth)
    assert deepest <= MAX_DEPTH


def test_a_long_sum_is_read() -> None:
    text = b"void f(int n) { int a = " + b"1 + " * 100 + b"1; }"
    assert parse_cuda(text).root_node.named_children


@pytest.mark.parametrize("name", ["\ud800\udc00", "BULLET", "no such name", ""])
def test_a_character_by_name_in_a_text_that_is_no_python(name: str) -> None:
    source = parse(f'x = "__global__ void k() {{ \\N{{{name}}} }}" )\n')
    assert source.syntax_error is not None

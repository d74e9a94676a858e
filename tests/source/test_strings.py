"""Which text reaches load_inline, compared with what Python itself passes."""

from __future__ import annotations

import ast
import types

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.source import parse

PROGRAMS = {
    "name": 'src = """A\n__global__"""\nload_inline(name="e", cpp_sources="", cuda_sources=src)',
    "list": 'a = "A\\n"\nb = r"B\\n"\nload_inline("e", [a, "x"], [a, b], functions=["f", "g"])',
    "positional": 'load_inline("e", "cpp", "cuda")',
    "plus": 'a = "A"\nload_inline("e", "", a + "B" + \'C\' "D")',
    "implicit": 'src = ("one\\n"  # c\n    "two\\n"\n    \'three\')\nload_inline("e", "", src)',
    "continued": 'src = "one" \\\n    "two"\nload_inline("e", "", src)',
    "augmented": 'src = "A\\n"\nsrc += "B\\n"\nload_inline("e", "", src)\nsrc += "C"',
    "escapes": 'src = "a\\t q\\" \\x41 \\u00e9 \\101 \\\\n \\\n joined"\nload_inline("e", "", src)',
    "raw": 'src = r"""a\\n"b" \\"""" \nload_inline("e", "", src)',
    "fstring": 'N = 256\nsrc = f"#define N {N}\\nint f() {{ {N}; }}"\nload_inline("e", "", src)',
    "fstring raw": 'N = 8\nsrc = rf"{N} \\n {{x}}"\nload_inline("e", "", src)',
    "fstring expression in class": (
        "class C:\n    N = 4\n    src = f'v[{N}]'\nload_inline('e', '', C.src)"
    ),
    "replace": 'src = "NN NN".replace("NN", "256")\nload_inline("e", "", src)',
    "replace str": 'B = 4 * 64\nsrc = "NN".replace("NN", str(B))\nload_inline("e", "", src)',
    "format": 'src = "{{ {n} {} {m} }}".format(7, n=1, m="q")\nload_inline("e", "", src)',
    "join": 'parts = ["a", "b"]\nload_inline("e", "", "\\n".join(parts + ["c"]))',
    "grown": (
        'parts = ["a"]\nparts.append("b")\nparts.extend(["c", "d"])\nload_inline("e", "", "\\n".join(parts))\n'
        'parts.append("later")'
    ),
    "strip": 'load_inline("e", "", "  \\n a b \\n ".strip())',
    "lstrip": 'load_inline("e", "", """\n\n  x\n""".lstrip())',
    "dedent": (
        'import textwrap\nload_inline("e", "", textwrap.dedent("""\n    a\n\n      b\n    """))'
    ),
    "dict": 'S = {"cuda": "A", "cpp": "B"}\nload_inline("e", S["cpp"], S["cuda"])',
    "index": 'S = ["A", "B"]\nload_inline("e", "", S[-1])',
    "function": 'def source():\n    return "A\\n"\nload_inline("e", "", source())',
    "builder": (
        "def build(name, src, flags=None):\n"
        "    return load_inline(name=name, cpp_sources='', cuda_sources=src)\n"
        "a = build('one', 'A')\nb = build(src='B', name='two')"
    ),
    "self": (
        "class M:\n    def __init__(self):\n        self.src = 'A'\n"
        "        load_inline('e', '', self.src)\nM()"
    ),
    "nested quotes": "src = f\"{'a'}b\"\nload_inline('e', '', 'c')",
    "tuple assignment": "a, b = 'A', 'B'\nload_inline('e', a, b)",
    "chained": "a = b = 'A'\nload_inline('e', a, b)",
    "non-ascii": "src = 'é — ü'; load_inline('e', '', src + '→')",
    "rebinding": "s = 'A'\nload_inline('e', '', s)\ns = 'B'\nload_inline('f', '', s)",
    "starred": "a = ['A', 'B']\nload_inline('e', '', [*a, 'C'])",
}


def passed(code: str) -> list[dict[str, object]]:
    """Run a program of our own and return what it passes to load_inline."""
    calls: list[dict[str, object]] = []

    def load_inline(name: str, cpp_sources: object, cuda_sources: object = None, **rest: object):
        calls.append({"name": name, "cpp": cpp_sources, "cuda": cuda_sources, **rest})
        return types.SimpleNamespace()

    exec(compile(code, "program", "exec"), {"load_inline": load_inline})
    return calls


@pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS)
def test_sources_are_what_python_passes(code: str) -> None:
    calls = passed(code)
    source = parse(code)
    assert len(source.extensions) == len(calls)
    for extension, call in zip(source.extensions, calls, strict=True):
        assert extension.name == call["name"]
        assert extension.complete
        for units, given_text in ((extension.cuda, call["cuda"]), (extension.cpp, call["cpp"])):
            expected = [given_text] if isinstance(given_text, str) else list(given_text)
            assert [unit.text for unit in units] == expected
            assert all(unit.resolved for unit in units)
        if "functions" in call:
            assert list(extension.functions or ()) == call["functions"]
    check_pieces(code)


def check_pieces(code: str) -> None:
    """Every character that is said to stand in the code does stand there."""
    source = parse(code)
    for unit in source.units:
        at = 0
        for piece in unit.origin.pieces:
            if piece.verbatim:
                assert unit.text[at : at + piece.length] == source.code[piece.start : piece.end]
            at += piece.length
        assert at == len(unit.text)


UNKNOWN = {
    "hole": 'import os\nsrc = f"int v[{os.cpu_count()}];"\nload_inline("e", "", src)',
    "percent": 'src = "int v[%d];" % n()\nload_inline("e", "", src)',
    "format call": 'src = "{n}".format(n=n())\nload_inline("e", "", src)',
    "replace unknown": 'src = "int NN;".replace("NN", n())\nload_inline("e", "", src)',
    "a function of the text": (
        "def clean(s):\n    if s:\n        return s\n    return s.x()\n"
        'load_inline("e", "", clean("A\\n"))'
    ),
    "lines kept in a loop": (
        "def bare(s):\n    kept = []\n    for line in s.splitlines():\n        if line:\n"
        '            kept.append(line)\n    return "\\n".join(kept)\nload_inline("e", "", bare("A\\nB"))'
    ),
    "condition": 'src = "A" if n() else "B"\nload_inline("e", "", src)',
    "rebound in a branch": 'src = "A"\nif n():\n    src = "B"\nload_inline("e", "", src)',
}


@pytest.mark.parametrize("code", UNKNOWN.values(), ids=UNKNOWN)
def test_what_cannot_be_known_is_marked(code: str) -> None:
    (extension,) = parse(code).extensions
    (unit,) = extension.cuda
    assert not unit.resolved
    check_pieces(code)


def test_a_hole_keeps_the_rest_readable() -> None:
    kernel = "__global__ void k(float* x) {{\n  __shared__ float s[{size()}];\n}}\n"
    code = f'src = f"""\n{kernel}"""\nload_inline("e", "", src)'
    (unit,) = parse(code).cuda
    assert [kernel.name for kernel in unit.kernels] == ["k"]
    assert unit.kernels[0].shared[0].name == "s"
    assert unit.place(unit.kernels[0].shared[0].node).line == 3


def test_a_source_that_no_call_takes_is_found() -> None:
    code = (
        "from torch.utils.cpp_extension import load\n"
        'SRC = """\n__global__ void k() {}\n"""\nopen("k.cu", "w").write(SRC)\n'
        'ext = load(name="e", sources=["k.cu"])'
    )
    source = parse(code)
    assert [extension.call for extension in source.extensions] == ["load"]
    assert [kernel.name for unit in source.cuda for kernel in unit.kernels] == ["k"]


def test_a_program_that_is_no_python_still_gives_its_kernels() -> None:
    source = parse('src = """\n__global__ void k(int n) {}\n"""\nclass ModelNew(:\n')
    assert source.syntax_error is not None
    assert source.syntax_error.line == 4
    assert [kernel.name for kernel in source.cuda[0].kernels] == ["k"]
    assert source.cuda[0].place(source.cuda[0].kernels[0].node).line == 2


def test_a_docstring_is_no_source() -> None:
    assert parse('"""Text about\n__global__ functions."""\n').cuda == ()


def test_names_of_imports_are_followed() -> None:
    code = "from torch.utils import cpp_extension as ce\nimport torch.nn.functional as F\n"
    source = parse(code + "e = ce.load_inline('e', '', 'x')\ny = F.relu(1)")
    assert source.extensions[0].variable == "e"
    calls = [source.module.canonical(call.func) for call in source.walk(ast.Call)]
    assert "torch.nn.functional.relu" in calls


def test_flags_and_where_it_is_built() -> None:
    code = (
        "def make():\n    try:\n        return load_inline('e', '', 'x',\n"
        "            extra_cuda_cflags=['-O3', *OPT], extra_cflags=['-O2'],\n"
        "            extra_ldflags='-lm', no_implicit_headers=True)\n"
        "    except Exception:\n        return None\n"
    )
    (extension,) = parse(code).extensions
    assert extension.cflags == ("-O2",)
    assert extension.cuda_cflags is None
    assert extension.ldflags == ("-lm",)
    assert extension.inside_try
    assert extension.in_function == "make"
    assert not extension.preluded


# literals of every kind against Python's own reading of them

prefixes = st.sampled_from(["", "r", "R", "u", "f", "rf", "fR"])
quotes = st.sampled_from(['"', "'", '"""', "'''"])
bodies = st.text(alphabet=st.sampled_from(list("ab{}\\\n\"'tnx41u0{}N é\t#")), max_size=24)


def evaluated(expression: str) -> str | None:
    try:
        value = ast.literal_eval(expression)
    except (SyntaxError, ValueError):
        try:  # f-strings: only those without holes
            tree = ast.parse(expression, mode="eval").body
        except (SyntaxError, ValueError):
            return None
        if not isinstance(tree, ast.JoinedStr):
            return None
        if not all(isinstance(part, ast.Constant) for part in tree.values):
            return None
        value = "".join(str(part.value) for part in tree.values)  # type: ignore[attr-defined]
    return value if isinstance(value, str) else None


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=600, deadline=None)
@given(st.lists(st.tuples(prefixes, quotes, bodies), min_size=1, max_size=3))
def test_literals_read_as_python_reads_them(parts: list[tuple[str, str, str]]) -> None:
    expression = " ".join(f"{prefix}{quote}{body}{quote}" for prefix, quote, body in parts)
    expected = evaluated(f"({expression})")
    if expected is None:
        return
    code = f"load_inline('e', '', ({expression}))\n"
    (extension,) = parse(code).extensions
    assert [unit.text for unit in extension.cuda] == [expected]
    check_pieces(code)

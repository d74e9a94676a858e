"""Facts about CUDA text (functions, launches, shared arrays), places and edits in it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.source import Unit, parse
from grader.source.edits import apply
from grader.source.nodes import descendants, plain_name, text

CUDA = """\
#include <torch/extension.h>
#include "mine.h"
#define BLOCK 256
#define MAXV(a, b) ((a) > (b) ? (a) : (b))
constexpr int WARPS = BLOCK / 32;
__constant__ float table[4];

template <typename scalar_t, int TILE = 16>
__global__ void __launch_bounds__(256) reduce(const scalar_t* __restrict__ x, float y[],
                                              int n, float& r) {
    __shared__ scalar_t tile[TILE][TILE + 1];
    extern __shared__ unsigned char raw[];
    __shared__ float total;
    y[0] = MAXV(x[0], total);
}

static __device__ __forceinline__ float4 load4(const float4* p, int i) { return p[i]; }

namespace inner {
__global__ void scale(float* p, float s) { p[threadIdx.x] *= s; }
}
extern "C" __global__ void plain(void) {}

torch::Tensor forward(torch::Tensor x, std::vector<int64_t> sizes, const at::Tensor& w) {
    const dim3 grid(4), block(BLOCK);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", ([&] {
        reduce<scalar_t, 16><<<grid, block, 1024, at::cuda::getCurrentCUDAStream()>>>(
            x.data_ptr<scalar_t>(), nullptr, 3, 1.f);
    }));
    inner::scale<<<1, 32>>>(x.data_ptr<float>(), 2.0f);
    return x;
}
at::Tensor declared(at::Tensor x);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &forward, "doc"); }
"""


def program(cuda: str, opening: str = 'r"""', closing: str = '"""') -> str:
    return (
        "from torch.utils.cpp_extension import load_inline\n\n"
        f"src = {opening}{cuda}{closing}\n"
        'ext = load_inline(name="e", cpp_sources="", cuda_sources=src)\n'
    )


def only_unit(code: str) -> Unit:
    (unit,) = parse(code).cuda
    return unit


@pytest.fixture(scope="module")
def unit() -> Unit:
    return only_unit(program(CUDA))


def test_functions_by_where_they_run(unit: Unit) -> None:
    assert [kernel.name for kernel in unit.kernels] == ["reduce", "scale", "plain"]
    assert [function.name for function in unit.device_functions] == ["load4"]
    assert [function.name for function in unit.host_functions] == ["forward"]
    assert [function.name for function in unit.declarations] == ["declared"]
    assert not unit.tree.has_error


def test_parameters(unit: Unit) -> None:
    x, y, n, r = unit.kernels[0].parameters
    assert (x.name, x.type) == ("x", "const scalar_t* __restrict__")
    assert x.is_pointer
    assert x.is_const
    assert y.is_pointer
    assert not y.is_const
    assert not n.is_pointer
    assert r.is_reference
    assert [(p.type, p.name) for p in unit.kernels[0].template_parameters] == [
        ("typename", "scalar_t"),
        ("int", "TILE"),
    ]
    assert unit.device_functions[0].return_type == "float4"
    assert "__forceinline__" in unit.device_functions[0].qualifiers
    assert [p.type for p in unit.host_functions[0].parameters] == [
        "torch::Tensor",
        "std::vector<int64_t>",
        "const at::Tensor&",
    ]


def test_shared_arrays(unit: Unit) -> None:
    tile, raw, total = unit.kernels[0].shared
    assert (tile.name, tile.type, tile.extern) == ("tile", "scalar_t", False)
    assert [text(size) for size in tile.sizes] == ["TILE", "TILE + 1"]
    assert (raw.name, raw.type, raw.extern) == ("raw", "unsigned char", True)
    assert (total.name, total.dims) == ("total", ())
    assert text(unit.kernels[0].launch_bounds) == "__launch_bounds__(256)"


def test_launches(unit: Unit) -> None:
    first, second = unit.launches
    assert first.kernel == "reduce"
    assert [text(node) for node in first.template_arguments] == ["scalar_t", "16"]
    given_nodes = (first.grid, first.block, first.shared, first.stream)
    assert [text(node) for node in given_nodes] == [
        "grid",
        "block",
        "1024",
        "at::cuda::getCurrentCUDAStream()",
    ]
    assert len(first.arguments) == 4
    host = unit.function_around(first.node)
    assert host is not None
    assert host.name == "forward"
    assert first in unit.launches_in(host)
    assert (second.kernel, second.shared, second.stream) == ("scale", None, None)


def test_the_schema_of_an_operator_is_no_binding() -> None:
    text = (
        "torch::Tensor twice(torch::Tensor x);\n"
        'TORCH_LIBRARY(own, m) { m.def("twice(Tensor x) -> Tensor", &twice); }\n'
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("thrice", &twice); }\n'
    )
    (unit,) = parse(program(text)).cuda
    assert [one.name for one in unit.bindings] == ["thrice"]


def test_preprocessor_and_bindings(unit: Unit) -> None:
    assert unit.includes == ("torch/extension.h", "mine.h")
    values = {one.name: (one.parameters, one.value) for one in unit.macros.values()}
    assert values == {"BLOCK": (None, "256"), "MAXV": (("a", "b"), "((a) > (b) ? (a) : (b))")}
    warps = unit.constants["WARPS"].init
    assert warps is not None
    assert text(warps.node) == "BLOCK / 32"
    assert [(one.name, one.target) for one in unit.bindings] == [("run", "forward")]


def test_text_that_is_no_cuda_gives_what_can_be_read() -> None:
    broken = "__global__ void a(int* p) { p[0] = ; }\n}}} ((( \n__global__ void b(int* p) { }\n"
    names = {kernel.name for kernel in only_unit(program(broken)).kernels}
    assert "a" in names


WRITTEN = {
    "raw": (CUDA, 'r"""', '"""'),
    "plain": (CUDA.replace("\\", "\\\\"), '"""', '"""'),
    "single quotes": (CUDA, "r'''", "'''"),
    "f-string": (CUDA.replace("{", "{{").replace("}", "}}"), 'f"""', '"""'),
    "one line": (CUDA.replace('"', '\\"').replace("\n", "\\n"), '"', '"'),
    "stripped": ("\n\n" + CUDA + "\n", '"""', '""".strip()'),
    "joined": (CUDA.replace("namespace inner", '""" + """namespace inner'), '"""', '"""'),
}


@pytest.mark.parametrize(("written", "opening", "closing"), WRITTEN.values(), ids=WRITTEN)
def test_an_edit_changes_the_text_as_asked(written: str, opening: str, closing: str) -> None:
    """Whatever literal the text is written in: apply the edit, parse again, compare."""
    unit = only_unit(program(written, opening, closing))
    wanted = 'y[0] = f({1, "q\\n"});\n'
    node = next(
        n for n in descendants(unit.tree, "expression_statement") if b"MAXV" in (n.text or b"")
    )
    edit = unit.edit(node.start_byte, node.end_byte, wanted)
    if opening == 'r"""':
        for word in (
            '"""',
            '"q',
            'q"',
            "q\\",
        ):  # what would end a raw literal, alone or with its neighbours
            assert unit.edit(node.start_byte, node.end_byte, word) is None
    assert edit is not None
    new = only_unit(apply(program(written, opening, closing), [edit]))
    expected = unit.data[: node.start_byte] + wanted.encode() + unit.data[node.end_byte :]
    assert new.data == expected


@pytest.mark.parametrize(("written", "opening", "closing"), WRITTEN.values(), ids=WRITTEN)
def test_places_point_at_the_text(written: str, opening: str, closing: str) -> None:
    code = program(written, opening, closing)
    unit = only_unit(code)
    for node in descendants(unit.tree, "identifier", "number_literal"):
        place = unit.place(node)
        line = code.split("\n")[place.line - 1]
        assert line[place.column : place.end_column] == text(node)
        assert place.string_line == node.start_point.row + 1
        assert place.excerpt == text(node)


def test_no_span_across_literals() -> None:
    unit = only_unit(program('__global__ void ab" "cd(int n) { }', '"', '"'))
    assert [kernel.name for kernel in unit.kernels] == ["abcd"]
    declarator = unit.kernels[0].node.child_by_field_name("declarator")
    assert plain_name(declarator.child_by_field_name("declarator")) == "abcd"
    assert unit.edit(declarator.start_byte, declarator.end_byte, "") is None
    assert unit.place(declarator).line == 3


def test_columns_count_characters() -> None:
    code = program("// é — ü\n/* → */ __global__ void k() {}\n")
    unit = only_unit(code)
    place = unit.place(unit.kernels[0].node)
    assert code.split("\n")[place.line - 1][place.column :].startswith("__global__")
    source = parse("é = 'ü'; x = load_inline('e', '', 'y')")
    assert source.place(source.extensions[0].node).column == 13


COMPILED = '''
a = """// a1
// a2
"""
b = "// b1\\n// b2"
first = load_inline(name="first", cpp_sources=["// c1", b], cuda_sources=[a, b])
d, e = "// d1", "// e1"
second = load_inline(name="second", cpp_sources=d, cuda_sources=e, no_implicit_headers=True)
'''


def test_compiled_lines_come_back_to_the_submission() -> None:
    source = parse(COMPILED)
    places = {
        ("cuda.cu", 4): (2, "// a1"),
        ("cuda.cu", 5): (3, "// a2"),
        ("/tmp/x/cuda.cu", 7): (5, "// b1"),
        ("cuda.cu", 8): (5, "// b2"),
        ("main.cpp", 2): (6, "// c1"),
        ("main.cpp", 4): (5, "// b2"),
    }
    for (file, line), (python_line, excerpt) in places.items():
        place = source.compiled_place(file, line, extension="first")
        assert place is not None
        assert (place.line, place.excerpt) == (python_line, excerpt)
    assert source.compiled_place("cuda.cu", 3, extension="first") is None
    assert source.compiled_place("cuda.cu", 99) is None
    assert source.compiled_place("other.cu", 4) is None
    second = source.compiled_place("cuda.cu", 1, extension="second_v1")
    assert second is not None
    assert second.excerpt == "// e1"


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("name", ["first", "second"])
def test_the_layout_is_the_installed_torchs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let torch write cuda.cu and main.cpp, without compiling, and look each line up."""
    from torch.utils import cpp_extension

    monkeypatch.setattr(cpp_extension, "_jit_compile", lambda *_, **__: None)

    def load_inline(**arguments: object) -> None:
        if arguments["name"] == name:
            cpp_extension.load_inline(**arguments, build_directory=str(tmp_path))

    exec(COMPILED, {"load_inline": load_inline})
    source = parse(COMPILED)
    seen = 0
    for file in ("cuda.cu", "main.cpp"):
        for number, line in enumerate((tmp_path / file).read_text().split("\n"), 1):
            place = source.compiled_place(file, number, extension=name)
            if line.startswith("//"):
                assert place is not None
                assert place.excerpt == line
                seen += 1
            elif line.startswith("#include"):
                assert place is None
    assert seen == (7 if name == "first" else 2)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, len(CUDA)),
    st.integers(0, len(CUDA)),
    st.text(alphabet="ab{}\\\"'\n é", max_size=8),
)
def test_any_edit_does_what_it_says_or_says_no(start: int, end: int, text: str) -> None:
    low, high = sorted((start, end))
    for written, opening, closing in WRITTEN.values():
        code = program(written, opening, closing)
        unit = only_unit(code)
        low, high = min(low, len(unit.data)), min(high, len(unit.data))
        edit = unit.edit(low, high, text)
        if edit is not None:
            new = parse(apply(code, [edit]))
            assert new.syntax_error is None
            expected = unit.text[:low] + text + unit.text[high:]
            assert new.extensions[0].cuda[0].text == (
                expected.strip() if "strip" in closing else expected
            )

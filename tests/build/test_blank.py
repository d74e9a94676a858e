"""Blanking of device bodies: nothing moves, host code stays, device code goes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.build.driver.blank import blank_device_bodies, has_device_lambda, without_assembly

from .programs import BUILT, FAILED


def test_only_device_bodies_go() -> None:
    text = """#include <x.h>
__global__ void k(float* p) { p[0] = "}"[0]; /* } */ }
__device__ float twice(float v) { return v + v; }
__host__ __device__ float both(float v) { return v; }
void host() { k<<<1, 1>>>(nullptr); }
"""
    blanked = blank_device_bodies(text)
    assert 'p[0] = "}"' not in blanked
    assert "v + v" not in blanked
    assert "{ return v; }" in blanked
    assert "k<<<1, 1>>>(nullptr);" in blanked


@pytest.mark.parametrize(
    ("text", "gone", "kept"),
    [
        (
            "template<class T> __global__ __launch_bounds__(64) void k(T* p) { body; }\nint h() { stay; }",
            "body",
            "stay",
        ),
        (
            "#define DEV __device__ __forceinline__\nDEV int f() { body; }\nint h() { stay; }",
            "body",
            "stay",
        ),
        ("#define BOTH __host__ __device__\nBOTH int f() { stay; }", "nothing", "stay"),
        ("struct S { __device__ int f() const { body; } int g() { stay; } };", "body", "stay"),
        ("__device__ float table[2] = { 1, 2 };", "nothing", "{ 1, 2 }"),
        ("__constant__ int n;\nint h() { stay; }", "nothing", "stay"),
        (
            "__global__ void k() {\n#if A\n if (x) { body;\n#else\n if (y) { body;\n#endif\n } }\nint h() { stay; }",
            "body",
            "stay",
        ),
        ("__device__ constexpr int f() { stay; }", "nothing", "stay"),
        (
            "#define K(N) __global__ void N() { \\\n body; }\nK(a)\nint h() { stay; }",
            "body",
            "stay",
        ),
        (
            "struct S { const int a; int b; __device__ S(int i) : a(body), b{body} { body; } int g() { stay; } };",
            "body",
            "stay",
        ),
        ("struct S { int a; __device__ S(int i): a(i) {}\nint g() { stay; } };", "a(i)", "stay"),
        ("struct S { int a; __host__ __device__ S(int i) : a(stay) {} };", "nothing", "stay"),
        (
            "struct S : B { __device__ S() : B<int>() , a{1} { body; } };\nint h() { stay; }",
            "body",
            "stay",
        ),
        ('__global__ void k() { auto s = R"(}{)"; body; }\nint h() { stay; }', "body", "stay"),
    ],
)
def test_forms_of_declarations(text: str, gone: str, kept: str) -> None:
    blanked = blank_device_bodies(text)
    assert gone not in blanked
    assert kept in blanked
    assert blanked.count("\n") == text.count("\n")
    assert len(blanked) == len(text)


@pytest.mark.parametrize("name", [*BUILT, *FAILED])
def test_lines_and_columns_stay(name: str) -> None:
    text = {**BUILT, **FAILED}[name].cuda
    blanked = blank_device_bodies(text)
    assert [len(line) for line in blanked.split("\n")] == [len(line) for line in text.split("\n")]
    assert "<<<" not in text or "<<<" in blanked


@given(st.text(alphabet="{}()[];\"'/*#\\\n _xglobade<>R", max_size=300))
def test_never_raises_and_keeps_the_length(text: str) -> None:
    assert len(blank_device_bodies("__global__ void k() {" + text)) == len(text) + 21
    assert len(without_assembly("asm volatile(" + text)) == len(text) + 13
    has_device_lambda(text)


def test_assembly_goes_also_in_macros() -> None:
    text = '#define M(x) { \\\n  asm ("a;" : "=h"(x)); \\\n  }\nint f() { asm volatile("b" :: "r"(1)); return 1; }\n'
    done = without_assembly(text)
    assert "asm" not in done
    assert done.count("\\\n") == text.count("\\\n")
    assert "return 1" in done


def test_device_lambdas_are_seen() -> None:
    assert has_device_lambda("auto f = [=] __device__ (int i) { };")
    assert not has_device_lambda("__device__ int f(int i[3]) { return i[0]; }")

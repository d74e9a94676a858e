"""Which refusals need no stock compiler; every doubt must go to one."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.build import header_extraction
from grader.build.driver.command import Command, parse
from grader.build.driver.config import Config
from grader.build.driver.confirm import does_clang_agree, sure

TORCH = """
namespace at { struct Tensor { int features; }; void forward(int input); }
extern "C" { typedef struct _object PyObject; void Py_Run(PyObject *object, int (*hook)(void)); }
enum Mode { FAST, SLOW };
typedef struct { int hidden; } Handle;
void (*on_signal(int number))(int);
#define TORCH_CHECK(cond, ...) if (!(cond)) {}
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A prepared folder whose torch is the text above, in one header."""
    include = tmp_path / "include"
    include.mkdir()
    header = include / "torch.h"
    header.write_text(TORCH)
    (include / "more.h").write_text(
        "#pragma once\n#define LATE(x) x\nint late;\nnamespace at { int later; }\n"
    )
    macros = header_extraction.macros([TORCH])
    written = {
        "words.txt": header_extraction.words([TORCH]),
        "globals.txt": sorted(header_extraction.global_words(TORCH) | macros),
        "macros.txt": sorted(macros),
        "headers.txt": ["torch.h"],
    }
    for name, lines in written.items():
        (tmp_path / name).write_text("\n".join(lines))
    plain: dict[str, Any] = {field.name: [] for field in fields(Config)}
    plain |= {
        "prepared": str(tmp_path),
        "torch_includes": [str(include)],
        "dispatch_takes_type": False,
    }
    return Config(**plain)


def _call(tmp_path: Path, text: str) -> Command:
    source = tmp_path / "cuda.cu"
    source.write_text(text)
    return parse(["-c", str(source), "-o", "cuda.o"])


def test_names_of_the_global_scope_are_found() -> None:
    found = header_extraction.global_words(TORCH)
    assert {
        "at",
        "PyObject",
        "Py_Run",
        "hook",
        "Mode",
        "FAST",
        "SLOW",
        "Handle",
        "on_signal",
    } <= found
    assert not found & {"features", "forward", "input", "hidden", "number", "object"}


@given(st.text(alphabet="{}();ab\"'* \n#=enum", max_size=60))
def test_any_text_has_its_words_or_none(text: str) -> None:
    assert header_extraction.global_words(text) <= set(header_extraction._TOKEN.findall(text))


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("y = nowhere_at_all;", "nowhere_at_all", True),
        ("y = features;", "features", True),
        ("y = features(x);", "features", False),
        ("using namespace at;\ny = features;", "features", False),
        ("namespace at {\nint y = features;\n}", "features", False),
        ("struct Mine : at::Tensor { int y() { return features; } };", "features", False),
        ("#define JOIN(a, b) a##b\ny = features;", "features", False),
        ("y = FAST;", "FAST", False),
        ("y = TORCH_CHECK;", "TORCH_CHECK", False),
        ("#include <more.h>\ny = late;", "late", False),
        ("#include <more.h>\ny = later;", "later", True),
        ("#include <more.h>\ny = later(1);", "later", False),
    ],
)
def test_an_unknown_name_is_sure_where_no_header_can_declare_it(
    text: str, name: str, expected: bool, config: Config, tmp_path: Path
) -> None:
    command = _call(tmp_path, text)
    nvcc = f'{command.sources[0]}(1): error: identifier "{name}" is undefined\n'
    gcc = f"{command.sources[0]}:1:5: error: \u2018{name}\u2019 was not declared in this scope\n"
    assert sure(config, command, nvcc, stub=True) is expected
    assert sure(config, command, gcc, stub=True) is expected


@pytest.mark.parametrize(
    ("text", "message", "expected"),
    [
        ("int i = 0\nint k;", 'expected a ";"', True),
        ("TORCH_CHECK(x)\nint k;", 'expected a ";"', False),
        ("#include <more.h>\nLATE(x) int k;", 'expected a ";"', False),
        (
            "const float* x;\nfloat* p = x;",
            'a value of type "const float *" cannot be used to initialize an entity of type "float *"',
            True,
        ),
        (
            "\nfloat* p = x.data_ptr();",
            'a value of type "const float *" cannot be used to initialize an entity of type "float *"',
            False,
        ),
        (
            "\nint k = x;",
            'no suitable conversion function from "at::Tensor" to "int" exists',
            False,
        ),
        ("int own(int a, int b);\nint k = own(1);", "too few arguments in function call", True),
        (
            "int own(int a, int b); int k = own(\n    1);",
            "too few arguments in function call",
            True,
        ),
        (
            "int own(int a, int b); int forward(int a, int b);\nint k = own(1) + forward(1);",
            "too few arguments in function call",
            False,
        ),
        ("\nint k = blockIdx.features;", 'class "uint3" has no member "features"', True),
        ("\nint k = x.features;", 'class "at::Tensor" has no member "features"', False),
        ("\nint k = not_here(1, 2);", "too many arguments in function call", False),
    ],
)
def test_a_slip_of_the_language_is_sure_where_torch_has_no_part(
    text: str, message: str, expected: bool, config: Config, tmp_path: Path
) -> None:
    command = _call(tmp_path, text)
    log = f"{command.sources[0]}(2): error: {message}\n"
    assert sure(config, command, log, stub=True) is expected


@pytest.mark.parametrize(
    ("nvcc", "clang", "expected"),
    [
        (
            'class "std::tuple<at::Tensor>" has no member "values"',
            "no member named 'values' in 'std::tuple<at::Tensor>'",
            True,
        ),
        (
            'no suitable constructor exists to convert from "int" to "at::Tensor"',
            "no viable conversion from 'int' to 'at::Tensor'",
            True,
        ),
        (
            'namespace "at" has no member "later"',
            "no member named 'later' in namespace 'at'",
            False,
        ),
        (
            'identifier "features" is undefined',
            "use of undeclared identifier 'features'",
            False,
        ),
        ("incomplete type is not allowed", "variable has incomplete type 'at::Tensor'", False),
        ("this operator is not allowed", None, False),
    ],
)
def test_two_front_ends_on_one_line_are_enough_but_for_what_other_headers_add(
    nvcc: str, clang: str | None, expected: bool, config: Config, tmp_path: Path
) -> None:
    command = _call(tmp_path, "int a;\nint b = a.values;\n")
    source = command.sources[0]
    log = f"{source}(2): error: {nvcc}\n{source}(9): error: something else\n"
    other = f"{source}:2:7: error: {clang}\n" if clang else f"{source}:3:1: error: {nvcc}\n"
    assert does_clang_agree(config, command, log, other) is expected


def test_an_error_in_a_header_is_never_sure(config: Config, tmp_path: Path) -> None:
    command = _call(tmp_path, "int a;\n")
    log = (
        '/usr/include/torch.h(1): error: expected a ";"\n'
        f'{command.sources[0]}(1): error: expected a ";"\n'
    )
    assert not sure(config, command, log, stub=True)
    assert not does_clang_agree(
        config, command, log, f"{command.sources[0]}:1:1: error: expected ';'\n"
    )

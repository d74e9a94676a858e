"""Compiler logs to evidence at the submission's lines."""

import pytest

from grader.build import log
from grader.records import ToolMessage
from grader.source import parse as parse_source
from grader.source.analysis.diagnostics import explain

from .programs import FAILED

LOG = """[1/3] nvcc -c cuda.cu
FAILED: cuda.cuda.o
/s/extensions/program/cuda.cu(6): error: identifier "gelu_exact" is undefined
      if (i < n) { y[i] = gelu_exact(x[i]); }
                          ^

/s/extensions/program/cuda.cu(6): error: identifier "gelu_exact" is undefined
/s/extensions/program/cuda.cu(5): warning #177-D: variable "j" was declared but never referenced
1 error detected in the compilation of "cuda.cu".
main.cpp:4:55: error: 'run' was not declared in this scope; did you mean 'ran'?
/usr/bin/ld: cannot find -lfoo: No such file or directory
collect2: error: ld returned 1 exit status
ptxas error   : Entry function '_Z1kPf' uses too much shared data (0x20000 bytes, 0xc000 max)
ptxas fatal   : Ptx assembly aborted due to errors
nvcc fatal   : Value 'sm_20' is not defined for option 'gpu-architecture'
ImportError: /s/x.so: undefined symbol: _Z3runN2at6TensorE
ninja: build stopped: subcommand failed.
"""


def test_every_tool_is_heard_once_and_in_order() -> None:
    source = parse_source(FAILED["undefined_in_kernel"].code)
    errors = log.parse(LOG, source)
    assert [e.code for e in errors] == [
        "undefined-name",
        "undefined-name",
        "missing-library",
        "shared-memory-overflow",
        "unsupported-architecture",
        "undefined-symbol",
    ]
    first = errors[0]
    assert first.count == 2
    assert first.text == 'nvcc: identifier "gelu_exact" is undefined.'
    assert errors[3].kind == "ptxas"
    assert errors[5].kind == "link"


def test_a_compiler_of_the_programs_own_that_is_not_here() -> None:
    source = parse_source(FAILED["undefined_in_kernel"].code)
    for line in ("/bin/sh: 1: hipcc: not found", "sh: line 1: hipcc: command not found"):
        (error,) = log.parse(f"hipcc -c main.cpp\n{line}\nninja: build stopped.\n", source)
        assert error.said == "hipcc: command not found"
        explained = explain(error.said)
        assert explained
        assert explained.sentence.startswith("the build calls `hipcc`, a compiler that is not")


def test_errors_stand_at_the_line_of_the_submission() -> None:
    code = FAILED["undefined_in_kernel"].code
    source = parse_source(code)
    # load_inline puts three lines before the CUDA text.
    line = next(i for i, text in enumerate(code.split("\n"), 1) if "gelu_exact" in text)
    unit_line = next(
        i
        for i, text in enumerate(FAILED["undefined_in_kernel"].cuda.split("\n"), 1)
        if "gelu_exact" in text
    )
    errors = log.parse(
        f'/x/program/cuda.cu({unit_line + 3}): error: identifier "gelu_exact" is undefined\n',
        source,
    )
    assert errors[0].place is not None
    assert errors[0].place.line == line
    assert errors[0].place.string_line == unit_line


def test_warnings_are_kept_apart() -> None:
    source = parse_source(FAILED["undefined_in_kernel"].code)
    assert [e.said for e in log.warnings(LOG, source)] == [
        'variable "j" was declared but never referenced'
    ]


def test_resources_of_each_kernel() -> None:
    text = """ptxas info    : 0 bytes gmem, 16 bytes cmem[3]
ptxas info    : Compiling entry function '_Z1kIfEvPT_' for 'sm_90'
ptxas info    : Function properties for _Z1kIfEvPT_
    40 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 31 registers, used 1 barriers, 40 bytes cumulative stack size, 1024 bytes smem
ptxas info    : Compile time = 42.956 ms
kernel-grader: kernel _Z1kIfEvPT_ is void k<float>(float*)
"""
    (kernel,) = log.resources(text)
    assert kernel.kernel == "void k<float>(float*)"
    assert kernel.symbol == "_Z1kIfEvPT_"
    assert (kernel.registers, kernel.shared_bytes, kernel.stack_bytes) == (31, 1024, 40)
    assert (kernel.spill_store_bytes, kernel.spill_load_bytes) == (8, 12)


def test_text_of_a_model_is_no_diagnostic() -> None:
    source = parse_source("x = 1\n")
    assert log.parse("Hello\nthis error is fine\nwarning of nothing\n", source) == ()


def test_ptxas_is_heard_at_the_kernel_that_it_names() -> None:
    program = FAILED["shared_too_large"]
    source = parse_source(program.code)
    text = "ptxas error   : Entry function '_Z5scalePKfPfi' uses too much shared data (0x13880 bytes, 0xc000 max)\n"
    (error,) = log.parse(text, source)
    assert error.place is not None
    assert "scale" in source.lines[error.place.line - 1]


def test_a_brace_too_many_is_an_error_of_its_own_and_follows_others_as_an_echo() -> None:
    alone = "/tmp/e/cuda.cu(27): error: expected a declaration"
    assert [m.text for m in log.messages(alone)] == ["expected a declaration"]
    after = f'/tmp/e/cuda.cu(12): error: expected a ";"\n{alone}'
    assert [m.text for m in log.messages(after)] == ['expected a ";"']


HEADER = "/t/include/ATen/core/TensorBase.h"
FROM_A_HEADER = {
    "nvcc": (
        f'{HEADER}(633): error: static assertion failed with "accessor is used for indexing tensor"\n'
        '          detected during instantiation of "at::TensorBase::accessor<T,N>() const & [with N=0UL]" at line 6 '
        "of /s/extensions/program/cuda.cu\n"
    ),
    "g++": (
        f"{HEADER}: In instantiation of 'at::TensorBase::accessor<T, N>() const & [with N = 0]':\n"
        "/s/extensions/program/cuda.cu:6:20:   required from here\n"
        f"{HEADER}:633:5: error: static assertion failed: accessor is used for indexing tensor\n"
    ),
    "clang": (
        f"{HEADER}:633:5: error: static assertion failed: accessor is used for indexing tensor\n"
        "/s/extensions/program/cuda.cu:6:20: note: in instantiation of member function "
        "'at::TensorBase::accessor' requested here\n"
    ),
}


@pytest.mark.parametrize("compiler", FROM_A_HEADER)
def test_what_fails_in_a_header_stands_where_the_submission_asks_for_it(compiler: str) -> None:
    source = parse_source(FAILED["undefined_in_kernel"].code)
    said = "/s/extensions/program/cuda.cu(5): error: one of its own\n"
    own, error = log.parse(said + FROM_A_HEADER[compiler], source)
    assert own.place is not None
    assert error.place is not None
    assert error.place.line == own.place.line + 1
    assert isinstance(error.details, ToolMessage)
    assert error.details.file == "TensorBase.h"

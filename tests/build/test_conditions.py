"""Which conditions of a text the quick compilers may answer in another way than the stock ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.build.builder import for_stock_compilers
from grader.build.driver.command import Command, parse
from grader.build.driver.conditions import asked_by, conditions_asked


def call(folder: Path, *flags: str) -> Command:
    source = folder / "cuda.cu"
    source.touch()
    return parse([*flags, "-c", str(source), "-o", "cuda.o"])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("#ifdef __clang__\n", "__clang__"),
        ("#if !defined(__GNUC__) || 0\n", "__GNUC__"),
        ("  #  ifndef C10_API\n", "C10_API"),
        ("#if 0\n#elif defined(KG_LEAN)\n#endif\n", "KG_LEAN"),
        ("#if __has_include(<torch/nn.h>)\n", "__has_include"),
        ('#if __has_include("/root/secret.h") || __has_include(<cuda_fp8.h>)\n', ""),
        ("#if 1 && \\\n  __VERSION__\n", "__VERSION__"),
        ("#if __CUDA_ARCH__ >= 800 && defined(__CUDACC__)\n", ""),
        ("#ifndef WARP\n#define WARP 32\n#endif\n", ""),
        ("#if __cplusplus >= 201703L && 0x1F > 2u\n", ""),
        ("// #ifdef __clang__\n/*\n#ifdef __clang__\n*/\n", ""),
        ("#ifndef M_PI\n#if defined(USE_ROCM) || CUDA_VERSION > 11000\n", ""),
        ("#include <torch/extension.h>\n#pragma unroll\nint iff = 3;\n", ""),
        ('bool clang = strstr(__VERSION__, "lang");\n', "__VERSION__"),
        ("puts(__PRETTY_FUNCTION__);\n", "__PRETTY_FUNCTION__"),
        ("puts(__func__); puts(__FILE__);  // __VERSION__\n", ""),
    ],
)
def test_a_name_of_the_compilers_or_of_torchs_headers_is_told(
    text: str, name: str, tmp_path: Path
) -> None:
    assert conditions_asked(call(tmp_path), text) == name


def test_what_the_call_defines_is_its_own(tmp_path: Path) -> None:
    assert conditions_asked(call(tmp_path, "-DFAST=1"), "#ifdef FAST\n") == ""
    assert conditions_asked(call(tmp_path), "#ifdef FAST\n") == "FAST"


def test_headers_of_its_own_are_read_whatever_they_include(tmp_path: Path) -> None:
    (tmp_path / "one.h").write_text('#include "two.h"\n')
    (tmp_path / "two.h").write_text('#include "one.h"\n#ifdef __clang__\n#endif\n')
    assert conditions_asked(call(tmp_path), '#include "one.h"\n') == "__clang__"
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "three.h").write_text("#ifdef __llvm__\n")
    flag = f"-I{tmp_path / 'more'}"
    assert conditions_asked(call(tmp_path, flag), "#include <three.h>\n") == "__llvm__"


def test_a_whole_submission_is_asked_as_its_sources_are() -> None:
    source = 'CUDA = r"""\n#ifdef __clang__\n#endif\n"""\n'
    assert asked_by(source) == "__clang__"
    assert asked_by(source, {"__clang__"}) == ""
    assert asked_by("import torch\n# a comment\nif torch.cuda.is_available():\n    pass\n") == ""


PROGRAM = """
from torch.utils.cpp_extension import load_inline

{comment}
source = r'''
#include <torch/extension.h>
{line}
__global__ void twice(float* x) {{ x[threadIdx.x] *= 2; }}
'''
ops = load_inline(name="ops", cpp_sources="", cuda_sources=source, functions=[])
"""


def test_only_what_the_compilers_read_takes_their_time() -> None:
    plain = PROGRAM.format(comment="# if the GPU is there", line="// plain")
    assert not for_stock_compilers(plain)
    assert for_stock_compilers(PROGRAM.format(comment="", line="#ifdef __clang__\n#endif"))


def test_where_no_text_can_be_told_the_whole_program_is_asked() -> None:
    assert for_stock_compilers("text = read(path)\n#ifdef __clang__\nload(text)\n")

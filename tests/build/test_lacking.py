"""A header that every toolkit has and this machine lacks is not the sample's fault."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from grader.build import discover
from grader.build.lacking import lacking
from grader.build.toolchain import STAND_INS

TOOLCHAIN = replace(discover(), cuda_includes=(), library_includes=())


@pytest.mark.parametrize(
    "line",
    [
        "host.cu:3:10: fatal error: curand_kernel.h: No such file or directory",
        'main.cu(3): fatal error: cannot open source file "curand_kernel.h"',
        "main.cpp:1:10: fatal error: 'curand_kernel.h' file not found",
    ],
)
def test_every_compilers_words_are_understood(line: str) -> None:
    assert "install nvidia-curand with pip" in lacking(line, "", TOOLCHAIN)


def test_a_header_of_nobody_is_the_samples_own() -> None:
    line = "host.cu:3:10: fatal error: my_kernels.cuh: No such file or directory"
    assert not lacking(line, '#include "my_kernels.cuh"', TOOLCHAIN)


def test_a_call_of_a_library_that_only_has_a_stand_in_is_the_machines_gap() -> None:
    code, line = "#include <cublas_v2.h>", "error: 'cublasSgemm' was not declared in this scope"
    assert not lacking(line, code, TOOLCHAIN)
    assert "nvidia-cublas" in lacking(line, code, replace(TOOLCHAIN, library_includes=(STAND_INS,)))


def test_torchs_own_cuda_part_is_missing_from_a_cpu_build_alone() -> None:
    log = "ImportError: one.so: undefined symbol: _ZNK3c104cuda10CUDAStream6streamEv"
    assert "CPU build" in lacking(log, "", replace(TOOLCHAIN, torch_cuda=""))
    assert not lacking(log, "", replace(TOOLCHAIN, torch_cuda="13.2"))


def test_the_stand_ins_satisfy_torchs_own_headers(tmp_path: Path) -> None:
    """Without any folder of the real libraries, torch's CUDA context compiles."""
    tools = discover()
    own = [path for path in tools.cuda_includes if not (path / "cusparse.h").exists()]
    if not own or not tools.torch or not tools.gxx:
        pytest.skip("this toolkit has the real headers in the compiler's own folder")
    source = tmp_path / "context.cpp"
    source.write_text("#include <ATen/cuda/CUDAContext.h>\n#include <ATen/cuda/Exceptions.h>\n")
    folders = [*tools.torch_includes, *own, STAND_INS]
    command = [str(tools.gxx), f"-std={tools.cpp_standard}", "-fsyntax-only", "-w"]
    done = subprocess.run(
        [*command, *(f"-I{path}" for path in folders), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]

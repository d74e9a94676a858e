"""A header that every toolkit has and this machine lacks is not the sample's fault."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from grader.build import discover, installed
from grader.build.installed import STAND_INS
from grader.build.lacking import say_what_lacks

TOOLCHAIN = replace(discover(), cuda_includes=(), library_includes=())


CURAND = "#include <curand_kernel.h>\n"


@pytest.mark.parametrize(
    "line",
    [
        "host.cu:3:10: fatal error: curand_kernel.h: No such file or directory",
        'main.cu(3): fatal error: cannot open source file "curand_kernel.h"',
        "main.cpp:1:10: fatal error: 'curand_kernel.h' file not found",
    ],
)
def test_every_compilers_words_are_understood(line: str) -> None:
    assert "install nvidia-curand with pip" in say_what_lacks(line, CURAND, TOOLCHAIN)


def test_a_header_of_nobody_is_the_samples_own() -> None:
    line = "host.cu:3:10: fatal error: my_kernels.cuh: No such file or directory"
    assert not say_what_lacks(line, '#include "my_kernels.cuh"', TOOLCHAIN)


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("cublas_v2.h", "nvidia-cublas"),
        ("cublasLt.h", "nvidia-cublas"),
        ("cusolverDn.h", "nvidia-cusolver"),
        ("curand_philox4x32_x.h", "nvidia-curand"),
        ("nvtx3/nvToolsExt.h", "nvidia-nvtx"),
        ("nvtx3/nvtx3.hpp", "nvidia-nvtx"),
        ("cudnn.h", "nvidia-cudnn-cu13"),
        ("cublas_helpers.h", ""),
        ("cublaslt.h", ""),
        ("curand_kernel.cuh", ""),
        ("cudnn_frontend.h", ""),
        ("nvrtc_helper.h", ""),
        ("nppi_fused_softmax.h", ""),
        ("cublas_v2.h.h", ""),
    ],
)
def test_only_headers_that_the_library_has_are_the_machines_gap(name: str, package: str) -> None:
    line = f"host.cu:3:10: fatal error: {name}: No such file or directory"
    said = say_what_lacks(line, f"#include <{name}>", TOOLCHAIN)
    assert package in said
    assert bool(said) is bool(package)


def test_words_alone_do_not_make_it_the_machines_gap() -> None:
    line = "RuntimeError: x.cu:1:1: fatal error: curand_kernel.h: No such file or directory"
    assert not say_what_lacks(line, f"raise RuntimeError({line!r})", TOOLCHAIN)
    line = "ImportError: undefined symbol: _ZNK3c104cuda10CUDAStream6streamEv"
    code = f"raise ImportError({line!r})"
    assert not say_what_lacks(line, code, replace(TOOLCHAIN, torch_cuda=""))


def test_a_header_that_torchs_own_asks_for_is_the_machines_gap(tmp_path: Path) -> None:
    header = tmp_path / "include" / "ATen" / "Sparse.h"
    header.parent.mkdir(parents=True)
    header.write_text("#include <cusparse.h>\n")
    line = f"{header}:1:10: fatal error: cusparse.h: No such file or directory"
    tools = replace(TOOLCHAIN, torch=tmp_path)
    assert "nvidia-cusparse" in say_what_lacks(line, "#include <ATen/Sparse.h>", tools)
    assert not say_what_lacks(line, "", TOOLCHAIN)


STOOD_IN = replace(TOOLCHAIN, library_includes=(STAND_INS,))


@pytest.mark.parametrize(
    "line",
    [
        "k.cu:5:3: error: 'cublasSsyrk' was not declared in this scope",
        'k.cu(5): error: identifier "cublasSsyrk" is undefined',
        "k.cu:5:3: error: use of undeclared identifier 'cublasSsyrk'",
        "ImportError: one.so: undefined symbol: cublasSsyrk",
    ],
)
def test_a_call_that_only_the_real_library_has_is_the_machines_gap(line: str) -> None:
    code = "#include <cublas_v2.h>\ncublasSsyrk(handle);"
    assert not say_what_lacks(line, code, TOOLCHAIN)
    assert "nvidia-cublas" in say_what_lacks(line, code, STOOD_IN)


@pytest.mark.parametrize(
    "line",
    [
        "k.cu:5:3: error: expected ';' before '}' token",
        "k.cu:5:3: error: 'undeclared' was not declared in this scope",
        "k.cu:5:3: error: too few arguments to function 'cublasStatus_t cublasSgemm_v2(...)'",
        "k.cu:5:3: error: 'cublasSsyrk' was not declared in this scope",
    ],
)
def test_a_broken_program_is_broken_whatever_library_it_includes(line: str) -> None:
    code = "#include <cublas_v2.h>\n#include <cusparse.h>\ncublasSgemm(handle)"
    assert not say_what_lacks(line, code, STOOD_IN)


@pytest.mark.parametrize(
    ("name", "real"),
    [
        ("cublasSsyrk", True),
        ("cublasZgemm3m_64", True),
        ("cublasDgemmGroupedBatched", True),
        ("cublasNrm2Ex", True),
        ("cublasHSHgemvStridedBatched", True),
        ("cublasLtMatrixTransform", True),
        ("cublasSgetrfBatched", True),
        ("cublasSoftmax", False),
        ("cublasSgemmFast", False),
        ("cublasMakeItSomebodyElsesFault", False),
    ],
)
def test_a_name_that_no_library_has_is_the_programs_own(name: str, real: bool) -> None:
    line = f"k.cu:5:3: error: '{name}' was not declared in this scope"
    assert bool(say_what_lacks(line, f"#include <cublas_v2.h>\n{name}(handle);", STOOD_IN)) is real


def test_torchs_own_cuda_part_is_missing_from_a_cpu_build_alone() -> None:
    log = "ImportError: one.so: undefined symbol: _ZNK3c104cuda10CUDAStream6streamEv"
    code = "auto stream = c10::cuda::getCurrentCUDAStream();"
    assert "CPU build" in say_what_lacks(log, code, replace(TOOLCHAIN, torch_cuda=""))
    assert not say_what_lacks(log, code, replace(TOOLCHAIN, torch_cuda="13.2"))


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


def test_what_pip_has_installed_in_a_folder_of_its_own_is_lacking_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "nvidia" / "curand" / "include"
    own.mkdir(parents=True)
    (own / "curand_kernel.h").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert own in installed.library_includes(None)
    toolkit = tmp_path / "toolkit"
    (toolkit / "include").mkdir(parents=True)
    (toolkit / "include" / "curand_kernel.h").touch()
    assert own not in installed.library_includes(toolkit)

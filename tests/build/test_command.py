"""Compiler calls taken apart, and what is refused in them."""

import pytest

from grader.build.driver import main
from grader.build.driver.command import RefusedError, parse, refuse
from grader.build.driver.device_pass import architectures, flags


def test_torchs_own_nvcc_call() -> None:
    command = parse(
        [
            "-MD",
            "-MF",
            "a.o.d",
            "-DTORCH_EXTENSION_NAME=x",
            "-isystem",
            "/t/include",
            "-D__CUDA_NO_HALF_OPERATORS__",
            "--expt-relaxed-constexpr",
            "-gencode=arch=compute_90,code=sm_90",
            "--compiler-options",
            "-fPIC",
            "-O3",
            "-Xptxas",
            "-v",
            "-std=c++20",
            "-c",
            "cuda.cu",
            "-o",
            "cuda.o",
        ]
    )
    assert command.sources == ["cuda.cu"]
    assert (command.output, command.depfile, command.compiles) == ("cuda.o", "a.o.d", True)
    assert command.defines == ["-DTORCH_EXTENSION_NAME=x", "-D__CUDA_NO_HALF_OPERATORS__"]
    assert command.values("-Xptxas") == ["-v"]
    assert architectures(command) == ["90"]
    kept = flags(command)
    assert "-O3" in kept
    assert "-std=c++20" in kept
    assert not any("Xptxas" in flag or "fPIC" in flag for flag in kept)


@pytest.mark.parametrize(
    "flag",
    ["-fplugin=/x.so", "-specs=/x", "-wrapper /bin/sh,-c", "@/etc/passwd", "-B/tmp/bin", "--compiler-bindir /tmp",
     "-ccbin /tmp/g++", "-include /etc/passwd", "-Wl,-T,/tmp/script", "-Xlinker --version-script=/x", "-T /x",
     "-I/root", "-I/etc", "-Xcompiler -fplugin=/x.so", "-fdump-tree-all=/root/x", "--options-file /x"],
)  # fmt: skip
def test_hostile_flags_are_refused_with_a_reason(flag: str, tmp_path) -> None:
    command = parse([*flag.split(), "-c", str(tmp_path / "a.cpp"), "-o", str(tmp_path / "a.o")])
    with pytest.raises(RefusedError, match="refused"):
        refuse(command, [str(tmp_path)])


def test_sources_may_lie_in_the_folder_for_temporary_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    call = ["-c", str(tmp_path / "tmpx1y2" / "row_max.cu"), "-o", "row_max.o"]
    with pytest.raises(RefusedError):
        refuse(parse(call), main._own_folders())
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    refuse(parse(call), main._own_folders())


def test_output_elsewhere_is_refused(tmp_path) -> None:
    with pytest.raises(RefusedError):
        refuse(parse(["-c", str(tmp_path / "a.cpp"), "-o", "/tmp/../etc/x"]), [str(tmp_path)])


@pytest.mark.parametrize(
    "flag",
    [
        "-O3",
        "-DNDEBUG",
        "-Wall",
        "-fopenmp",
        "-march=native",
        "-Wl,--no-as-needed",
        "-lm",
        "-L/usr/lib",
    ],
)
def test_ordinary_flags_pass(flag: str, tmp_path) -> None:
    refuse(
        parse([flag, "-c", str(tmp_path / "a.cpp"), "-o", str(tmp_path / "a.o")]), [str(tmp_path)]
    )

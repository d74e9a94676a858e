"""What a machine fails at is never a submission's: told apart by a program that must build."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from grader import build as building
from grader.build import host_fault
from grader.build.prepare import Prepared, prepare
from grader.errors import GraderError
from grader.records import Build, JsonValue, Submission
from grader.sandbox import Limits, strongest
from grader.simulator.gpus import gpu


def _failed(log: str, status: str = "failed", reason: str = "") -> Build:
    return Build(status=status, device="sim", mode="fast", log=log, reason=reason)


@pytest.mark.parametrize(
    "line",
    [
        "FAILED: [code=126] cuda.cuda.o",
        "FAILED: [code=127] main.o",
        "kernel-grader: can't run /usr/local/cuda/bin/nvcc: No such file or directory",
        "cc1plus: fatal error: error writing to /tmp/cc1.s: No space left on device",
        "nvcc error   : 'cicc' died due to signal 9 (Kill signal)",
        "g++: fatal error: Killed signal terminated program cc1plus",
        "OSError: [Errno 28] No space left on device",
        "ptxas: error while loading shared libraries: libm.so.6: cannot open shared object file",
        "LLVM ERROR: out of memory",
        "ImportError: /tmp/scratch/extensions/k/k.so: undefined symbol: kgsim_capture_stream",
        "ImportError: /tmp/scratch/extensions/k/k.so: undefined symbol: _ZN5torch16PyWarningHandlerD1Ev",
    ],
)
def test_signs_of_the_machine(line: str) -> None:
    assert host_fault.sign(_failed(f"ninja: Entering directory\n{line}\nmore")) == line
    assert host_fault.sign(_failed(line, status="built")) == ""


@pytest.mark.parametrize(
    "line",
    [
        "/tmp/x/cuda.cu(3): error: No space left on device",
        "/tmp/x/main.cpp:12:4: error: #error Killed",
        "cuda.cu(7): error: identifier \"out_of_line\" is undefined",
        "FAILED: [code=1] cuda.cuda.o",
    ],
)  # fmt: skip
def test_what_a_compiler_says_of_a_line_is_the_submissions(line: str) -> None:
    assert host_fault.sign(_failed(line)) == ""


def test_a_guest_that_somebody_killed() -> None:
    assert host_fault.sign(_failed("", "crashed", "ended by SIGKILL"))
    assert not host_fault.sign(_failed("", "crashed", "ended by SIGSEGV"))


def test_a_second_try_has_the_time_that_the_first_took() -> None:
    assert host_fault.seconds_of_second_try(120, 20) == 100
    assert host_fault.seconds_of_second_try(120, 115) == 115


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    toolchain = building.discover()
    if not toolchain.builds:
        pytest.skip(f"can't build here: {toolchain.missing}")
    return prepare(toolchain)


def _build(code: str, prepared: Prepared, folder: Path) -> Build:
    options: dict[str, JsonValue] = {
        "library": str(prepared.library),
        "torch_library": str(prepared.torch_library),
        "gpu": gpu("h100").fields(),
        "cuda_version": "13.0",
        "simulator": {},
    }
    return building.build(
        Submission(sample="t", code=code, line_map=(), how="t"),
        device="sim",
        form=strongest(),
        limits=Limits(wall=300),
        prepared=prepared,
        artifact_dir=folder,
        options=options,
    )


@pytest.mark.slow
def test_a_compiler_that_went_away_is_the_graders_failure(
    prepared: Prepared, tmp_path: Path
) -> None:
    toolchain = dataclasses.replace(prepared.toolchain, nvcc=tmp_path / "gone" / "nvcc")
    broken = dataclasses.replace(prepared, toolchain=toolchain)
    with pytest.raises(GraderError, match="compilers don't work"):
        _build(host_fault.PROGRAM.code + "# another\n", broken, tmp_path / "builds")
    assert list((tmp_path / "builds").iterdir()) == []


@pytest.mark.slow
def test_a_submission_that_claims_a_full_disk_is_charged(
    prepared: Prepared, tmp_path: Path
) -> None:
    made = _build('raise OSError(28, "No space left on device")\n', prepared, tmp_path)
    assert made.status == "failed"
    assert "No space left" in made.reason
    assert len(list(tmp_path.iterdir())) == 1

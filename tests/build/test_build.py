"""Submissions built for the simulator by the real compilers, in the sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import build as building
from grader.build.prepare import Prepared, prepare
from grader.records import Build, JsonValue, Submission
from grader.sandbox import Limits, strongest
from grader.simulator.gpus import gpu

from .programs import BUILT, FAILED, Program

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="session")
def prepared() -> Prepared:
    toolchain = building.discover()
    if not toolchain.builds:
        pytest.skip(f"can't build here: {toolchain.missing}")
    return prepare(toolchain)


@pytest.fixture(scope="session")
def options(prepared: Prepared) -> dict[str, JsonValue]:
    return {
        "library": str(prepared.library),
        "torch_library": str(prepared.torch_library),
        "gpu": gpu("h100").fields(),
        "cuda_version": "13.0",
        "simulator": {},
    }


def _build(
    program: Program,
    prepared: Prepared,
    options: dict[str, JsonValue],
    folder: Path,
    mode: building.Mode = "fast",
) -> Build:
    submission = Submission(sample="test", code=program.code, line_map=(), how="test")
    return building.build(
        submission,
        device="sim",
        mode=mode,
        form=strongest(),
        limits=Limits(wall=600),
        prepared=prepared,
        artifact_dir=folder,
        options=options,
    )


@pytest.mark.parametrize(
    "name",
    ["dispatch_half", "dispatch_all_and_half_index", "accessors", "constant_and_symbol", "large_dynamic_shared",
     "namespaces_and_static", "own_binding", "macro_kernel", "several_functions", "flags",
     "device_constructor", "defaults_declared_twice", "cub_and_thrust_on_a_device"],
)  # fmt: skip
def test_builds(
    name: str, prepared: Prepared, options: dict[str, JsonValue], tmp_path: Path
) -> None:
    made = _build(BUILT[name], prepared, options, tmp_path)
    assert made.status == "built", made.log[-3000:]
    assert made.errors == ()
    assert not building.stock_way(made)
    assert made.resources
    assert all(kernel.registers for kernel in made.resources)
    assert list(building.artifact(tmp_path, made).rglob("*.so"))
    assert _build(BUILT[name], prepared, options, tmp_path) == made


@pytest.mark.parametrize(
    "name",
    ["stream_without_header", "type_in_dispatch", "missing_header", "shared_too_large", "function_not_defined",
     "unknown_arch", "plugin", "bad_host_call", "relocatable", "function_of_its_own_file", "inline_function"],
)  # fmt: skip
def test_fails_with_the_stock_compilers_words(
    name: str, prepared: Prepared, options: dict[str, JsonValue], tmp_path: Path
) -> None:
    program = FAILED[name]
    made = _build(program, prepared, options, tmp_path)
    assert made.status == "failed", made.log[-3000:]
    assert made.key == ""
    assert program.error in made.log
    assert program.error in made.errors[0].said, made.errors


def test_what_the_machine_lacks_is_no_error_of_the_programs(
    monkeypatch: pytest.MonkeyPatch,
    prepared: Prepared,
    options: dict[str, JsonValue],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(
        "grader.build.builder.say_what_lacks", lambda *_: "This machine lacks a header."
    )
    made = _build(FAILED["missing_header"], prepared, options, tmp_path)
    assert (made.status, made.reason) == ("grader_error", "This machine lacks a header.")
    assert not made.errors
    assert made.log


def test_a_draft_is_the_fast_build_or_the_quick_compilers_word(
    prepared: Prepared, options: dict[str, JsonValue], tmp_path: Path
) -> None:
    built = _build(BUILT["flags"], prepared, options, tmp_path, "draft")
    assert built.status == "built", built.log[-3000:]
    assert _build(BUILT["flags"], prepared, options, tmp_path) == built
    assert not building.stock_way(built)
    # That the name is none of torch's takes the real headers to say.
    failed = _build(FAILED["bad_host_call"], prepared, options, tmp_path, "draft")
    assert failed.status == "failed"
    assert failed.errors
    assert not building.stock_way(failed)
    assert len([folder for folder in tmp_path.iterdir() if folder.is_dir()]) == 1


def test_a_python_error_is_told_with_its_line(
    prepared: Prepared, options: dict[str, JsonValue], tmp_path: Path
) -> None:
    submission = Submission(
        sample="t", code="import torch\n\nx = undefined_name\n", line_map=(), how="t"
    )
    made = building.build(
        submission,
        device="sim",
        form=strongest(),
        limits=Limits(wall=300),
        prepared=prepared,
        artifact_dir=tmp_path,
        options=options,
    )
    assert made.status == "failed"
    assert made.errors[0].kind == "python"
    assert made.errors[0].code == "NameError"
    assert made.errors[0].place is not None
    assert made.errors[0].place.line == 3

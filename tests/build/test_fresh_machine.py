"""Folders with every character, compilers that speak other languages, and a disk that takes nothing."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from grader.build import discover, prepare, programs, toolchain
from grader.build.guest_environment import environment, gxx_folders
from grader.build.prepare import Prepared
from grader.errors import GraderError

ODD = ["plain", "with space", "o'brien", 'quoted "so"', "$HOME `id`", "Prüfstand", "back\\slash"]


@pytest.fixture(params=ODD)
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / request.param
    folder.mkdir()
    return folder


def test_a_driver_runs_from_and_for_any_folder(odd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkout and the cache lie there; the driver is asked for a file that isn't there."""
    (odd / "grader" / "build").mkdir(parents=True)
    driver = odd / "grader" / "build" / "driver"
    driver.mkdir()
    (driver / "__init__.py").touch()
    (driver.parent / "harvest.py").touch()
    (driver / "main.py").write_text("def main(arguments): print(arguments)\n")
    monkeypatch.setattr(programs, "_ROOT", odd)
    tools = replace(discover(), zig=None)
    programs.write(odd, tools)
    program = programs.programs(odd, tools) / "kg-nvcc"
    done = subprocess.run(
        [program, "-c", "a b.cu"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("['nvcc', '-c', 'a b.cu']\n", "")


def test_torch_gets_a_word_that_its_ninja_file_can_hold(odd: Path) -> None:
    prepared = Prepared(
        odd, discover(), precompiled=(), library=None, torch_library=None, seconds=0
    )
    variables = environment(prepared, "sim").variables
    plain = not set(str(odd)) & set(" '\"$`\\")
    assert variables["PYTORCH_NVCC"].startswith("/") is plain
    assert variables["CXX"].startswith("/") is plain
    assert (str(programs.programs(odd, prepared.toolchain)) in variables["PATH"]) is not plain


def test_what_compilers_say_is_asked_for_in_english(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "g++"
    tool.write_text("#!/bin/sh\necho $LC_ALL\n")
    tool.chmod(0o755)
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert toolchain.output(tool).strip() == "C"


def test_a_compiler_outside_the_system_brings_its_folders(tmp_path: Path) -> None:
    places = {name: tmp_path / name / name for name in ("g++", "cc1plus", "as", "crtbeginS.o")}
    for path in places.values():
        path.parent.mkdir()
        path.write_text("")
    words = " ".join(f"-print-*={name}) echo '{path}';;" for name, path in places.items())
    places["g++"].write_text(f"#!/bin/sh\ncase $1 in {words} *) echo ld;; esac\n")
    places["g++"].chmod(0o755)
    assert set(gxx_folders(places["g++"])) == {path.parent for path in places.values()}
    assert gxx_folders(Path("/usr/bin/g++")) == ()


def test_a_cache_that_takes_nothing_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("KERNEL_GRADER_CACHE", str(tmp_path / "file" / "cache"))
    if not discover().builds:
        pytest.skip("nothing can be built here")
    with pytest.raises(GraderError, match=r"can't be prepared in .*XDG_CACHE_HOME"):
        prepare.prepare(discover())

"""Folders with every character, compilers that speak other languages, and a disk that takes nothing."""

from __future__ import annotations

import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from grader.build import build_key, discover, prepare, programs
from grader.build import tool_queries as asking
from grader.build.driver.tools import CANNOT_RUN, UNABLE
from grader.build.guest_environment import environment, gxx_folders
from grader.build.host_fault import sign
from grader.build.prepare import Prepared
from grader.build.readable import open_to_guests
from grader.errors import GraderError
from grader.records import Build, Submission
from grader.sandbox.bubblewrap import unreadable

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
    (driver.parent / "header_extraction.py").touch()
    (driver / "main.py").write_text("def main(arguments): print(arguments)\n")
    monkeypatch.setattr(programs, "_ROOT", odd)
    tools = replace(discover(), zig=None)
    programs.write(odd, tools)
    program = programs.programs(odd, tools) / "kg-nvcc"
    done = subprocess.run(
        [program, "-c", "a b.cu"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("['nvcc', '-c', 'a b.cu']\n", "")


def test_the_toolchain_is_the_same_with_and_without_the_environment_activated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else every stranger's `ninja` on the search path would have all prepared anew."""
    pytest.importorskip("ninja")
    known = discover.__wrapped__()
    stranger = tmp_path / "ninja"
    stranger.write_text("#!/bin/sh\n")
    stranger.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert discover.__wrapped__().ninja == known.ninja


def test_the_drivers_are_the_same_by_whatever_name_python_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else ninja makes every kept build anew in each guest of `python3`, after a batch by `python`."""
    tools = discover()
    known = programs.programs(tmp_path, tools)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3.99"))
    assert programs.programs(tmp_path, tools) == known


def test_a_build_is_known_by_its_drivers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    prepared = Prepared(tmp_path, discover(), library=None, torch_part=None, torch_place=None)
    program = Submission(sample="one", code="import torch", line_map=(1,), how="whole")
    known = build_key(program, prepared, "sim", "fast", None)
    assert build_key(program, prepared, "sim", "fast", None) == known
    monkeypatch.setattr(programs, "_PROGRAM", "#!/bin/sh\n")
    programs._contents.cache_clear()
    assert build_key(program, prepared, "sim", "fast", None) != known
    programs._contents.cache_clear()


def test_a_driver_that_can_not_be_read_is_the_machines_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No module of the driver is there."""
    (tmp_path / "grader" / "build").mkdir(parents=True)
    (tmp_path / "grader" / "build" / "header_extraction.py").touch()
    monkeypatch.setattr(programs, "_ROOT", tmp_path)
    tools = replace(discover(), zig=None)
    programs.write(tmp_path, tools)
    done = subprocess.run(
        [programs.programs(tmp_path, tools) / "kg-g++", "-c", "a.cpp"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == CANNOT_RUN
    log = f"FAILED: [code=1] a.o\n{done.stdout}"
    made = Build(status="failed", device="sim", mode="fast", log=log)
    assert UNABLE in sign(made)


def test_guests_of_root_are_not_started_where_they_can_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "package"
    folder.mkdir(mode=0o700)
    assert unreadable((folder,)) == str(folder)
    other = tmp_path / "other"
    other.mkdir()
    other.chmod(0o755)
    (folder / "file").touch(mode=0o600)
    assert unreadable((other,)) == ""
    assert unreadable((other, folder / "file")) == str(folder / "file")
    assert unreadable((other / "absent",)) == ""


def test_torch_gets_a_word_that_its_ninja_file_can_hold(odd: Path) -> None:
    prepared = Prepared(odd, discover(), library=None, torch_part=None, torch_place=None)
    variables = environment(prepared, "sim").variables
    plain = not set(str(odd)) & set(" '\"$`\\")
    assert variables["PYTORCH_NVCC"].startswith("/") is plain
    assert variables["CXX"].startswith("/") is plain
    assert (str(programs.programs(odd, prepared.toolchain)) in variables["PATH"]) is not plain


def test_what_compilers_say_is_asked_for_in_english_and_without_flags_of_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "g++"
    tool.write_text("#!/bin/sh\necho $LC_ALL $NVCC_APPEND_FLAGS\n")
    tool.chmod(0o755)
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-ccbin /nowhere")
    assert asking.output(tool).strip() == "C"


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


def test_guests_of_another_user_read_what_an_umask_hid(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    (folder / "deep").mkdir(parents=True)
    files = [folder / "library.so", folder / "deep" / "program"]
    for path, mode in zip(files, (0o600, 0o700), strict=True):
        path.touch()
        path.chmod(mode)
    for path in (folder, folder / "deep"):
        path.chmod(0o700)
    secret = tmp_path / "secret"
    secret.touch(mode=0o600)
    (folder / "link").symlink_to(secret)
    open_to_guests(folder)
    modes = [
        stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "deep", *files, secret)
    ]
    assert modes == [0o755, 0o755, 0o644, 0o755, 0o600]


def test_a_cache_that_takes_nothing_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("KERNEL_GRADER_CACHE", str(tmp_path / "file" / "cache"))
    if not discover().builds:
        pytest.skip("nothing can be built here")
    with pytest.raises(GraderError, match=r"can't be prepared in .*XDG_CACHE_HOME"):
        prepare.prepare(discover())

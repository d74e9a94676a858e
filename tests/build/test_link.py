"""Linking where lld can't: g++'s own linker leaves out libraries that only the headers' archives ask for."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from grader.build import discover
from grader.build.configuration import configuration
from grader.build.driver import cxx
from grader.build.driver.command import parse


def compiled(gxx: str, folder: Path, name: str, text: str, *flags: str) -> str:
    (folder / f"{name}.cpp").write_text(text)
    made = str(folder / name)
    subprocess.run([gxx, "-fPIC", *flags, str(folder / f"{name}.cpp"), "-o", made], check=True)
    return made


def test_a_library_that_only_an_archive_asks_for_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its symbols were undefined when the extension was loaded, and the submission was charged."""
    toolchain = discover()
    if not toolchain.builds or not toolchain.zig:
        pytest.skip("no compilers, or no clang, on this machine")
    monkeypatch.chdir(tmp_path)  # the driver's log is written there
    config = configuration(toolchain, tmp_path, "cuda", "fast")
    # A folder without lld: a machine may lack it, or kill it.
    config = replace(config, programs=str(tmp_path), precompiled=["header"])
    compiled(config.gxx, tmp_path, "libother.so", "int other() { return 1; }", "-shared")
    half = compiled(
        config.gxx, tmp_path, "header.o", "int other(); int part() { return other(); }", "-c"
    )
    subprocess.run(["ar", "rcs", str(tmp_path / "header.a"), half], check=True)
    own = compiled(config.gxx, tmp_path, "own.o", "int part(); int own() { return part(); }", "-c")
    call = [own, "-shared", f"-L{tmp_path}", "-lother", "-o", "own.so"]
    assert cxx._link(config, parse(call), call, tmp_path).ok
    said = subprocess.run(["readelf", "-d", "own.so"], capture_output=True, text=True, check=True)
    assert "[libother.so]" in said.stdout

"""The simulator's library: every source is of one part, and what was compiled at installation is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.simulator import library


def test_every_source_is_compiled_once() -> None:
    compiled = [source for _, own in library.parts() for source in own]
    assert sorted(compiled) == library.sources()
    assert len(compiled) == len(set(compiled)) > 50


def test_what_differs_in_its_flags_is_of_its_own_part() -> None:
    (directed,) = (own for part, own in library.parts() if "-frounding-math" in part.flags)
    assert [source.name for source in directed] == ["ops_directed.cpp"]


def _pretended(command: list[str]) -> None:
    Path(command[command.index("-o") + 1]).write_text("compiled")


def test_what_was_compiled_at_installation_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "_run_command", _pretended)
    begun: list[str] = []
    library.build(tmp_path / "installed", begin=lambda: begun.append("first"))
    monkeypatch.setattr(library, "INSTALLED", tmp_path / "installed")
    built = library.build(tmp_path / "cache", begin=lambda: begun.append("second"))
    assert begun == ["first"]
    assert built.is_relative_to(tmp_path / "cache")
    assert built.read_text() == "compiled"


def test_another_major_version_of_cuda_is_another_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "_run_command", _pretended)
    built = []
    for folder, number in (("a", 13000), ("b", 13020), ("c", 12090)):
        includes = tmp_path / folder
        includes.mkdir()
        (includes / "cuda_runtime_api.h").write_text(f"#define CUDART_VERSION  {number}\n")
        built.append(library.build(tmp_path / "cache", cuda_includes=[includes]))
    assert built[0] == built[1] != built[2]

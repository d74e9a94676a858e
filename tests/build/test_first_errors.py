"""A plain C++ build stops at its first errors."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.build.driver import stock
from grader.build.driver.tools import Outcome


def test_gxx_is_not_asked_for_thousands_of_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # what the driver says is kept in a file there
    (tmp_path / "main.cpp").write_text("int f() { return 1; }\n")
    calls: list[list[str]] = []

    def run(arguments: list[str]) -> Outcome:
        calls.append(arguments)
        return Outcome(1, "main.cpp:1:1: error: no\n")

    monkeypatch.setattr(stock, "run", run)
    config: Any = SimpleNamespace(device="cuda", gxx="g++", library_includes=[], mode="fast")
    command: Any = SimpleNamespace(
        arguments=["-std=c++14", "-c", "main.cpp"], sources=[str(tmp_path / "main.cpp")]
    )
    assert stock.plain_cpp(config, command) == 1
    (asked,) = calls
    assert asked[:4] == ["g++", "-std=c++14", "-c", "main.cpp"]
    assert any(word.startswith("-fmax-errors=") for word in asked)

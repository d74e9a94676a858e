"""What an extension lacks of torch's inline functions, told from what it may lack."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.build import on_demand
from grader.build.driver import halves
from grader.build.driver.config import Config
from grader.build.precompile import HALVES
from grader.build.prepare import Prepared
from grader.build.toolchain import Toolchain

EXPORTED = sorted(
    ["_ZNK2at6Tensor3sumEv", "_ZN3c105ErrorC1Ev", "_ZTIN3c105ErrorE", "_ZN5torch3jitEv"]
)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A prepared folder that knows the names of torch's libraries."""
    (tmp_path / halves.EXPORTED).write_text("\n".join(EXPORTED))
    plain: dict[str, Any] = {field.name: [] for field in fields(Config)}
    return Config(**plain | {"prepared": str(tmp_path)})


@pytest.mark.parametrize(
    "name",
    [
        "_ZN3c103strIA68_cJA26_cEEEDcDpRKT0_",
        "_ZNK2at6Tensor4sum1Ev",
        "_ZTVN5torch8autograd4NodeE",
        "_ZGVZN3c106detail3useEvE1x",
        "_ZNSt6vectorIlSaIlEE9push_backEOl",
        "_ZNKSs4sizeEv",
    ],
)
def test_an_inline_function_of_a_header_is_missed(name: str, config: Config) -> None:
    assert halves.lacks(config, [b"PyModule_Create2", name.encode()]) == [name.encode()]


@pytest.mark.parametrize(
    "name",
    [
        *EXPORTED,
        "PyModule_Create2",
        "_Py_NoneStruct",
        "_Z7forwardN2at6TensorE",
        "_ZN2at4cuda20getCurrentCUDAStreamEa",
        "_ZN4mine3runEN2at6TensorE",
        "_ZNSt6vectorIlSaIlEE9push_backEOl@GLIBCXX_3.4",
    ],
)
def test_what_a_library_or_the_program_itself_defines_is_not(name: str, config: Config) -> None:
    assert halves.lacks(config, [name.encode()]) == []


@given(st.sets(st.binary(min_size=1, max_size=4).filter(lambda name: b"\n" not in name)), st.data())
def test_a_name_is_found_where_it_is(names: set[bytes], data: st.DataObject) -> None:
    lines = b"\n".join(sorted(names))
    asked = data.draw(st.sampled_from(sorted(names)) if names else st.just(b"x"))
    assert halves._among(lines, asked) is (asked in names)
    other = data.draw(st.binary(min_size=1, max_size=4).filter(lambda name: b"\n" not in name))
    assert halves._among(lines, other) is (other in names)


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Prepared]:
    """A folder in which clang's work is done by a function of the test's."""

    def make(precompiled: tuple[str, ...], works: bool, calls: list[str]) -> Prepared:
        def precompile(_config: Config, name: str) -> bool:
            calls.append(name)
            return works

        monkeypatch.setattr(on_demand, "precompile", precompile)
        monkeypatch.setattr(on_demand, "configuration", lambda *_: None)
        tools = object.__new__(Toolchain)
        ready = json.dumps({"precompiled": precompiled})
        (tmp_path / "ready.json").write_text(ready, "utf-8")
        return Prepared(tmp_path, tools, library=None, torch_part=None, torch_place=None)

    return make


START = "from torch.utils.cpp_extension import load_inline\nload_inline('m', "
DECLARED = f"{START}'torch::Tensor f(torch::Tensor x, int n);')"
DEFINED = f"{START}'torch::Tensor f(torch::Tensor x) {{ return x; }}')"
OLD = f"{DECLARED}  # -D_GLIBCXX_USE_CXX11_ABI=0"


@pytest.mark.parametrize(
    ("code", "more"),
    [
        (DECLARED, ()),
        ("import triton", ()),
        (OLD, ("main_old_abi",)),
        (DEFINED, ("main",)),
        (START + "text)", ("main",)),
    ],
)
def test_what_few_builds_need_is_made_once(
    code: str, more: tuple[str, ...], prepared: Callable[..., Prepared]
) -> None:
    calls: list[str] = []
    plain = prepared(HALVES, True, calls)
    for _ in range(2):
        assert on_demand.prepared_for(plain, code).precompiled == HALVES + more
    assert tuple(calls) == more


def test_what_clang_can_not_make_is_asked_once(prepared: Callable[..., Prepared]) -> None:
    calls: list[str] = []
    plain = prepared(HALVES, False, calls)
    for _ in range(2):
        assert on_demand.prepared_for(plain, OLD) == plain
    assert calls == ["main_old_abi"]
    assert json.loads((plain.folder / "main_old_abi.json").read_text()) is False


def test_without_clang_nothing_is_made(prepared: Callable[..., Prepared]) -> None:
    calls: list[str] = []
    plain = prepared((), True, calls)
    assert on_demand.prepared_for(plain, OLD) is plain
    assert calls == []

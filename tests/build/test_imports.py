"""What a built extension imports and defines, read from its bytes; any bytes are read without harm."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.build.imports import imports
from grader.records import Evidence, LinkedName

HONEST = """
#include <sys/mman.h>
extern "C" int cudaRelu(int n) { return n; }
extern "C" int cudaLaunchKernel(const void*);
extern "C" int f(void* p) { return cudaLaunchKernel(p) + mprotect(p, 1, 0); }
"""
FORGED = 'extern "C" int cudaLaunchKernel(const void*) { return 0; }\n'


def name_of(item: Evidence) -> str:
    assert isinstance(item.details, LinkedName)
    return item.details.name


def library(folder: Path, text: str) -> Path:
    source, made = folder / "a.cpp", folder / "files" / "a.so"
    source.write_text(text)
    made.parent.mkdir()
    command = ["g++", "-shared", "-fPIC", "-Wl,--unresolved-symbols=ignore-all", "-o", made, source]
    subprocess.run(command, check=True)
    return made


def test_what_is_imported_is_told_from_what_is_defined(tmp_path: Path) -> None:
    library(tmp_path, HONEST)
    found = [(item.code, name_of(item)) for item in imports(tmp_path / "files")]
    assert found == [("reaching-import", "mprotect")]


def test_a_function_of_the_runtimes_own_is_seen_whatever_its_text(tmp_path: Path) -> None:
    library(tmp_path, FORGED)
    found = [(item.code, name_of(item)) for item in imports(tmp_path / "files")]
    assert found == [("runtime-defined", "cudaLaunchKernel")]


@pytest.fixture(scope="module")
def forged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library(tmp_path_factory.mktemp("broken"), FORGED)


@settings(max_examples=100)
@given(
    changes=st.lists(st.tuples(st.integers(4, 4095), st.integers(0, 255)), max_size=8),
    table=st.integers(0, 2**64 - 1) | st.none(),
    left=st.integers(16, 20_000),
)
def test_a_broken_table_is_read_without_harm(
    forged: Path, changes: list[tuple[int, int]], table: int | None, left: int
) -> None:
    whole = bytearray(forged.read_bytes())
    for at, value in changes:
        whole[at] = value
    if table is not None:
        whole[0x28:0x30] = table.to_bytes(8, "little")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.so").write_bytes(whole[:left])
        names = {name_of(item) for item in imports(Path(folder))}
    assert all(isinstance(name, str) and name for name in names)

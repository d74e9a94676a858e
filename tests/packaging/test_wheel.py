"""What would go to a package index: built from the source archive, installed, run without the checkout.

Nothing is fetched: the build has no isolation, and the fresh environment borrows the packages that the
grader depends on from the one that runs the tests.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from tests.whole import ROOT

pytestmark = pytest.mark.slow
PARTS = ("grader", "samples", "prompts")
FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
COMPILED_HERE = "installed"
"""The folder in which an editable install keeps what it compiled for this machine."""
LINKED = {"grader/samples": "samples", "grader/repair/prompts": "prompts"}
"""Folders of the package that are links in a checkout, and where they lead."""


def called(*words: str | Path, **options: object) -> str:
    """Run a program to its good end; return what it printed."""
    environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "PYTHONHOME"}}
    told = subprocess.run(
        [*map(str, words)], check=False, capture_output=True, text=True, env=environment, **options
    )
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


def built(tree: Path, kind: str, out: Path) -> Path:
    """Call the build backend as `python -m build --no-isolation` does; return the archive."""
    code = "import sys; from setuptools import build_meta as b; "
    code += f"print(b.build_{kind}(sys.argv[1]))"
    return out / called(sys.executable, "-c", code, out, cwd=tree).splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made from the source archive, made from a copy of the checkout."""
    room = tmp_path_factory.mktemp("package")
    tree, out = room / "tree", room / "dist"
    for part in PARTS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / part, tree / part, symlinks=True, ignore=ignored)
    for name in FILES:
        shutil.copy(ROOT / name, tree / name)
    archive = built(tree, "sdist", out)
    with tarfile.open(archive) as packed:
        packed.extractall(room / "unpacked", filter="data")
    (unpacked,) = (room / "unpacked").iterdir()
    return built(unpacked, "wheel", out)


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a fresh environment with the wheel, and nothing else of ours."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    called(*pip, "--no-deps", "--no-index", wheel)
    purelib = called(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    (Path(purelib) / "zz_borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return folder / "bin"


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    there = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "grader").rglob("*")
        if path.is_file() and not {"__pycache__", COMPILED_HERE} & set(path.parts)
    }
    for link, place in LINKED.items():
        there |= {f"{link}/{path.name}" for path in (ROOT / place).iterdir()}
    held = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("grader/")}
    assert held == there


def test_inspect_finds_the_task_by_the_packages_own_name() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    assert told["inspect_ai"] == {"grader": "grader.trainers.inspect_task"}
    page = (ROOT / "docs" / "how-to" / "inspect.md").read_text("utf-8")
    assert "inspect eval grader/kernels " in page


def test_it_runs_without_the_checkout(environment: Path, tmp_path: Path) -> None:
    program = environment / "kernel-grader"
    origin = called(
        environment / "python", "-c", "import grader; print(grader.__file__)", cwd=tmp_path
    )
    assert str(environment.parent) in origin, "grader comes from the wheel"
    assert "Grade and review CUDA and Triton kernels" in called(program, "--help", cwd=tmp_path)
    assert "SYN002" in called(program, "rules", cwd=tmp_path)
    called(program, "samples", "--to", "tried", cwd=tmp_path)
    copied = {path.name: path.read_bytes() for path in (tmp_path / "tried").iterdir()}
    assert copied == {path.name: path.read_bytes() for path in (ROOT / "samples").iterdir()}
    own = ("--device", "none", "--cache", tmp_path / "cache", "--json")
    rows = called(program, "tried/softmax_shared_overflow.txt", *own, cwd=tmp_path).splitlines()
    assert [json.loads(row)["sample"] for row in rows] == ["softmax_shared_overflow"]
    assert "comment-contradicts-code" in (
        tmp_path / "reviews" / "softmax_shared_overflow.md"
    ).read_text("utf-8")

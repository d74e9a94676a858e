"""The page on the architecture says what is there: its rooms, their order, and the functions of its stages."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from operator import attrgetter

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
ROW = re.compile(r"^\| (?P<first>[^|]+) \| (?P<second>[^|]+) \|", re.MULTILINE)
NAME = re.compile(r"`([\w.]+)`")


def section(title: str) -> str:
    """Return the text below a heading, up to the next one."""
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rooms() -> list[set[str]]:
    """Return the rooms of the page, each line a layer."""
    rows = (set(NAME.findall(row["first"])) for row in ROW.finditer(section("Rooms")))
    return [row for row in rows if row]


def layers() -> list[set[str]]:
    """Return the rooms as the import contract has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (found,) = (one["layers"] for one in contracts if one["type"] == "layers")
    return [set(re.split(r" [|:] ", layer)) for layer in found]


def test_each_room_is_on_the_page_and_the_other_way_round() -> None:
    folder = ROOT / "grader"
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert set[str]().union(*rooms()) == packages | modules


def test_rooms_are_in_the_order_of_the_import_contract() -> None:
    assert rooms() == layers()


def test_each_stage_of_the_drawing_is_a_function_in_the_file_that_the_page_names() -> None:
    stages = {row["first"]: row["second"].strip("`") for row in ROW.finditer(PAGE)}
    named = {stage: name for stage, name in stages.items() if name.startswith("pipeline.")}
    drawn = set(
        re.findall(r"(?<!\()\[([a-z ]+)\]", PAGE.partition("```mermaid")[2].partition("```")[0])
    )
    assert len(drawn) >= 6
    assert drawn == named.keys()
    for name in named.values():
        room, module, function = name.split(".", 2)
        assert callable(attrgetter(function)(importlib.import_module(f"grader.{room}.{module}")))


def test_each_file_that_the_page_names_exists() -> None:
    named = [path for path in re.findall(r"`([\w/]+\.(?:py|cpp))`", PAGE) if "/" in path]
    missing = [
        path for path in named if not any((ROOT / top / path).exists() for top in (".", "grader"))
    ]
    assert named
    assert not missing


def test_files_and_functions_stay_short_enough_to_be_read() -> None:
    """A file of more than 400 lines is two concepts; a function of more than 60 has steps that want names."""
    long = []
    for path in sorted((ROOT / "grader").rglob("*.py")):
        text = path.read_text("utf-8")
        long += [path.name] if text.count("\n") > 400 else []
        functions = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef))
        long += [f"{path.name}: {n.name}" for n in functions if n.end_lineno - n.lineno >= 60]
    assert not long

"""The languages that are in the package, as the rest of it may know them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from grader.languages import languages, read, readings
from grader.records import Place
from grader.rules.registry import all_rules
from grader.source import parse

ROOT = Path(__file__).resolve().parents[2]


def test_no_other_room_may_import_a_languages_folder() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (found,) = (one for one in contracts if one["type"] == "protected")
    folders = {path.parent.name for path in (ROOT / "grader" / "languages").glob("*/__init__.py")}
    assert set(found["protected_modules"]) == {f"grader.languages.{name}" for name in folders}
    assert set(languages()) >= folders
    assert not found["allowed_importers"]


def test_names_are_words_that_records_take_and_no_two_languages_share() -> None:
    names = [name for one in languages().values() for name in one.place_names]
    assert len(names) == len(set(names))
    for name in (*names, *languages()):
        assert Place(line=1, end_line=1, language=name).language == name
        assert re.fullmatch(r"[a-z]+", name)


def test_rules_name_languages_that_there_are() -> None:
    named = {name for rule in all_rules().values() for name in rule.languages}
    assert named <= set(languages())


def test_plain_python_is_in_no_language() -> None:
    source = parse("import torch\nclass ModelNew(torch.nn.Module): pass\n")
    assert not readings(source)
    assert read(source) == ()


CODE = '''
from torch.utils.cpp_extension import load_inline
source = """
// adds
__global__ void add(float* x) { x[threadIdx.x] += cublas; }
torch::Tensor run(torch::Tensor x) { add<<<1, 32>>>(x.data_ptr<float>()); /* n */ return x; }
"""
ops = load_inline(name="adder", cpp_sources="torch::Tensor run(torch::Tensor x);",
                  cuda_sources=source, functions=["run"])
'''


def test_cuda_is_read_from_what_load_inline_is_given() -> None:
    (found,) = read(parse(CODE))
    assert [one.name for one in found.kernels] == ["add"]
    assert [(one.name, one.place.language) for one in found.launches] == [("add", "cuda")]
    assert [(one.name, one.place.language) for one in found.bindings] == [("run", "python")]
    assert [(one.language, one.has_kernels) for one in found.texts] == [
        ("cuda", True),
        ("cpp", False),
    ]
    assert "adds" in found.texts[0].text
    assert "adds" not in found.texts[0].plain
    assert found.texts[0].last.line - found.texts[0].first.line == 4
    assert list(found.names) == ["add", "run", "run", "adder", "ops"]
    assert "cublas" in found.called
    (host,) = found.host_functions
    assert "add<<<1, 32>>>" in host
    assert "/*" not in host

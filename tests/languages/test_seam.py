"""A second language comes by an entry point, and its programs are graded with nothing else changed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader import languages, pipeline, plugins
from grader.config import Options
from grader.ingest import extract
from grader.languages import registry
from grader.pipeline.review import review
from grader.records import Review, Sample
from grader.rules import registry as rules
from grader.rules.engine import taking_part
from grader.source import parse
from grader.store import Store

HERE = Path(__file__).parent
ENTRY_POINTS = """[kernel_grader.languages]
rowwise = rowwise:LANGUAGE
broken = rowwise:MARK
absent = no_such_module:LANGUAGE

[kernel_grader.rules]
rowwise = rowwise:RULE
"""
PROGRAM = """import numpy
import torch

def rowwise(kernel):
    if kernel.__code__.co_argcount != 1:
        raise TypeError("a kernel takes one row")
    def launch(x):
        rows = x.detach().cpu().numpy().reshape(-1, x.shape[-1])
        made = numpy.stack([kernel(row) for row in rows])
        return torch.from_numpy(made).reshape(x.shape).to(x.device)
    return launch

@rowwise
def relu_of_row(row):
    return numpy.maximum(row, 0)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return relu_of_row(x)
"""
WRONG = PROGRAM.replace("return numpy.maximum(row, 0)", "return row")
CUDA = """
from torch.utils.cpp_extension import load_inline
extension = load_inline(name="e", cpp_sources="", cuda_sources="__global__ void k(float* x) { *x = 1; }", functions=["f"])
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the language where an installed package would be."""
    folder = tmp_path / "site"
    (folder / "rowwise-1.dist-info").mkdir(parents=True)
    (folder / "rowwise-1.dist-info" / "METADATA").write_text("Name: rowwise\nVersion: 1\n")
    (folder / "rowwise-1.dist-info" / "entry_points.txt").write_text(ENTRY_POINTS)
    (folder / "rowwise.py").write_text((HERE / "rowwise.py").read_text())
    monkeypatch.syspath_prepend(folder)
    _forget()
    yield
    sys.modules.pop("rowwise", None)
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    for kept in (registry.languages, registry.readings, rules.all_rules):
        kept.cache_clear()


def graded(code: str, tmp_path: Path) -> Review:
    text = f"Here is the kernel.\n\n```python\n{code}```\n"
    sample = Sample(id="s", origin="s", format="transcript", text=text, task_hint="relu")
    options = Options(device="sim", cache=tmp_path, repair=False)
    return review(pipeline.open_context(options, Store(tmp_path), 7), sample)


def test_a_plug_in_is_a_language_and_what_is_none_is_left_out(installed: None) -> None:
    assert set(languages.languages()) == {"cuda", "rowwise", "triton"}
    assert "kernel_grader.languages rowwise:LANGUAGE 1" in plugins.installed_plugins()


def test_its_wrong_kernel_is_graded_with_a_finding_at_the_kernels_line(
    installed: None, tmp_path: Path
) -> None:
    found = graded(WRONG, tmp_path)
    assert found.verdict.status == "incorrect"
    (finding,) = (one for one in found.findings if one.rule == "ROW001")
    assert finding.place is not None
    assert (finding.place.excerpt, finding.place.language) == ("return row", "python")
    assert found.text.splitlines()[finding.place.sample_line - 1].strip() == "return row"
    assert not any(one.rule == "EXT002" for one in found.findings)  # it has a kernel of its own


def test_what_its_compiler_refuses_is_a_failed_build_at_the_kernels_line(
    installed: None, tmp_path: Path
) -> None:
    found = graded(PROGRAM.replace("relu_of_row(row)", "relu_of_row(row, other)"), tmp_path)
    assert found.verdict.status == "build_failed"
    build = found.evaluation.build
    assert build is not None
    (refused,) = build.errors
    assert (refused.kind, refused.text) == ("compiler", "rowwise: a kernel takes one row.")
    assert refused.place is not None


def test_guests_are_told_of_its_programs_and_kernels_are_built_by_a_call(installed: None) -> None:
    source = parse(PROGRAM)
    assert languages.guest_options(source) == {"rowwise": True}
    assert languages.compiles_when_launched(source)
    assert not languages.guest_options(parse(CUDA))
    assert not languages.compiles_when_launched(parse(CUDA))


def test_its_right_kernel_has_no_finding_of_its_rules(installed: None, tmp_path: Path) -> None:
    found = graded(PROGRAM, tmp_path)
    assert all(one.equal for one in found.evaluation.comparisons)
    assert not any(one.rule in {"ROW001", "EXT002"} for one in found.findings)


def test_rules_take_part_by_the_languages_that_a_program_has(installed: None) -> None:
    every = rules.all_rules().values()
    asked = {
        name: {rule.code for rule in taking_part(every, languages.names_in(parse(code)))}
        for name, code in {"rowwise": PROGRAM, "cuda": CUDA, "both": PROGRAM + CUDA}.items()
    }
    assert "ROW001" in asked["rowwise"] - asked["cuda"]
    assert "BLD004" in asked["cuda"] - asked["rowwise"]
    of_these = {rule.code for rule in every if rule.languages != ("triton",)}
    assert asked["both"] == asked["rowwise"] | asked["cuda"] == of_these
    assert "EXT003" in asked["rowwise"] & asked["cuda"]  # Python's own


def test_each_language_reads_its_own_part_of_a_mixed_answer(installed: None) -> None:
    readings = languages.readings(parse(PROGRAM + CUDA))
    kernels = {name: [one.name for one in found.kernels] for name, found in readings.items()}
    assert kernels == {"cuda": ["k"], "rowwise": ["relu_of_row"]}
    (launch,) = readings["rowwise"].launches
    assert launch.place.excerpt == "relu_of_row(x)"


def test_a_compiled_line_is_placed_by_the_language_that_knows_its_file(installed: None) -> None:
    source = parse(PROGRAM + CUDA)
    python = languages.place_compiled_line(source, "/tmp/kg/submission.py", 15)
    cuda = languages.place_compiled_line(source, "/build/e/cuda.cu", 4)
    assert python is not None
    assert python.excerpt == "return numpy.maximum(row, 0)"
    assert cuda is not None
    assert cuda.language == "cuda"
    assert languages.place_compiled_line(source, "/usr/include/math.h", 4) is None


def test_an_answer_without_its_class_is_called_by_its_languages_name(installed: None) -> None:
    code = PROGRAM.partition("class ModelNew")[0]
    sample = Sample(id="s", origin="s", format="transcript", text=f"```python\n{code}```\n")
    assert extract(sample).found == "Rowwise code, but no Python class ModelNew"

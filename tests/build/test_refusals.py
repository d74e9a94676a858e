"""What the compilers refuse stays refused, whatever the submission makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import build as building
from grader.build.driver import refusals
from grader.build.prepare import Prepared
from grader.guest import artifact
from grader.records import Build, JsonValue, Submission
from grader.sandbox import Limits, strongest

from .programs import BUILT, FAILED, Program
from .test_build import options, prepared

__all__ = ["options", "prepared"]


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    (folder / "extensions").mkdir(parents=True)
    monkeypatch.setenv(refusals.VARIABLE, str(folder))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cuda.cu").write_text("a text")
    return folder


def test_only_a_later_guest_is_told(scratch: Path) -> None:
    call = ("nvcc fast", ["-c", "cuda.cu"], ["cuda.cu"])
    refusals.Refusal(*call).note("what nvcc said")
    assert refusals.Refusal(*call).text() is None, "the same guest may have fixed what it includes"
    artifact.set_aside(scratch)
    assert refusals.Refusal(*call).text() == "what nvcc said"
    assert not list((scratch / "extensions").iterdir()), "it is handed on no further"


@pytest.mark.parametrize(
    "other",
    [
        ("nvcc draft", ["-c", "cuda.cu"], ["cuda.cu"]),
        ("nvcc fast", ["-c", "cuda.cu", "-O3"], ["cuda.cu"]),
    ],
)
def test_another_call_is_another_question(
    scratch: Path, other: tuple[str, list[str], list[str]]
) -> None:
    refusals.Refusal("nvcc fast", ["-c", "cuda.cu"], ["cuda.cu"]).note("no")
    artifact.set_aside(scratch)
    assert refusals.Refusal(*other).text() is None
    Path("cuda.cu").write_text("another text")
    assert refusals.Refusal("nvcc fast", ["-c", "cuda.cu"], ["cuda.cu"]).text() is None


def test_a_call_that_goes_well_in_the_end_is_no_refusal(scratch: Path) -> None:
    refusal = refusals.Refusal("nvcc fast", ["-c", "cuda.cu"], ["cuda.cu"])
    refusal.note("no")
    refusal.forget()
    artifact.set_aside(scratch)
    assert refusal.text() is None


def _tried(*programs: Program) -> str:
    """A submission that tries one build after the other, and goes on without any."""
    tries = "".join(
        f"""
if module is None:
    try:
        module = load_inline(name='try{number}', cpp_sources=r'''{program.cpp}''', functions=['run'],
                             cuda_sources=r'''{program.cuda}''')
    except Exception as error:
        print(error)
"""
        for number, program in enumerate(programs)
    )
    return (
        "import torch\nfrom torch.utils.cpp_extension import load_inline\nmodule = None\n" + tries
        + "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
        "        return module.run(x) if module else x * 2\n"
    )  # fmt: skip


def _build(code: str, prepared: Prepared, options: dict[str, JsonValue], folder: Path) -> Build:
    return building.build(
        Submission(sample="test", code=code, line_map=(), how="test"),
        device="sim",
        form=strongest(),
        limits=Limits(wall=600),
        prepared=prepared,
        artifact_dir=folder,
        init=(),
        options=options,
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_handler_hides_no_failed_build(
    prepared: Prepared, options: dict[str, JsonValue], tmp_path: Path
) -> None:
    code = _tried(FAILED["shared_too_large"])
    made = _build(code, prepared, options, tmp_path)
    assert made.status == "failed", made.log[-3000:]
    assert "shared data" in made.errors[0].text
    assert made.errors[0].text == made.reason
    assert not made.lazy


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_second_try_that_builds_is_a_build(
    prepared: Prepared, options: dict[str, JsonValue], tmp_path: Path
) -> None:
    code = _tried(FAILED["shared_too_large"], BUILT["plain"])
    made = _build(code, prepared, options, tmp_path)
    assert made.status == "built", made.log[-3000:]
    assert made.errors == ()
    kept = [path.name for path in building.artifact(tmp_path, made).rglob("*.so")]
    assert kept == ["try1.so"]

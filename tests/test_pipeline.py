"""What the pipeline makes of a task that can't be used."""

from __future__ import annotations

from types import SimpleNamespace

from grader import judge, pipeline
from grader.records import Extraction, KernelBenchId, Sample, Submission

CODE = "import torch\nclass ModelNew(torch.nn.Module): pass\n"
PROBLEM = "class Model: pass\ndef get_inputs():\n    return []\n"


def test_the_reason_says_that_a_problem_file_was_not_used(tmp_path, monkeypatch):
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1" / "94_MSELoss.py").write_text(PROBLEM)
    monkeypatch.setattr(
        judge, "describe", lambda task, *_: task.model_copy(update={"notes": ("it is too large",)})
    )
    workshop = SimpleNamespace(
        options=SimpleNamespace(task=None, tasks=tmp_path), form=None, limits=None
    )
    sample = Sample(
        id="s",
        origin="s",
        format="python",
        text=CODE,
        kernelbench=KernelBenchId(level=1, problem=94, sample=0),
    )
    submission = Submission(sample="s", code=CODE, line_map=(), how="")
    choice = pipeline.choose_task(workshop, sample, Extraction(submission=submission))
    assert choice.task is not None
    assert choice.task.name == "mse-loss"
    assert "94_MSELoss could not be used: it is too large" in choice.reason

"""One way through: what a stage has seen of a program, no later one looks at again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from grader import pipeline
from grader.config import Options
from grader.pipeline.review import review
from grader.records import Sample
from grader.rules import engine
from grader.store import Store

WRONG = '''```python
import torch
from torch.utils.cpp_extension import load_inline
source = """
#include <torch/extension.h>
__global__ void relu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 0.0f ? x[i] : 0.0f
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::zeros_like(x);
    int n = x.numel();
    relu<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
extension = load_inline(
    name="relu", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"]
)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.run(x.contiguous())
```
'''


def seen(source: Any, context: Any) -> tuple[object, ...]:
    """Return all that an inspection reads: the text, the task, the evidence."""
    outcome = context.outcome
    task = context.task.key if context.task else ""
    return source.code, task, outcome.build, outcome.runs, outcome.comparisons, context.evidence


def test_each_program_is_inspected_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inspected: Counter[str] = Counter()
    inspect = engine.detect

    def counted(source: Any, context: Any, *chosen: Any) -> engine.Inspection:
        inspected[repr(seen(source, context))] += 1
        return inspect(source, context, *chosen)

    monkeypatch.setattr(engine, "detect", counted)
    grading = pipeline.open_context(Options(device="sim", cache=tmp_path), Store(tmp_path), 7)
    sample = Sample(id="s", origin="s", format="transcript", text=WRONG, task_hint="relu")
    made = review(grading, sample)
    assert made.verdict.status == "build_failed"
    assert {repair.kind for repair in made.repairs} == {"fix", "reference"}
    assert len(inspected) >= 3  # the answer, its repair, the reference-fixed kernel
    assert set(inspected.values()) == {1}

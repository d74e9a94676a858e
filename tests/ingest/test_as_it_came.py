"""What KernelBench would run of a sample, told from the sample as it came."""

from __future__ import annotations

import pytest

from grader.ingest import as_it_came, extract
from grader.records import Sample

CODE = """import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x
"""
ASKED = CODE.replace("ModelNew", "Model")
OTHER = CODE.replace("return x", "return x + 1")


def sample(text: str, kind: str) -> Sample:
    return Sample(id="s", origin="s", format=kind, text=text)


@pytest.mark.parametrize(
    ("text", "kind", "runs", "is_ours"),
    [
        (CODE, "kernelbench", True, True),
        (CODE, "python", True, True),
        (f"Here is the kernel:\n\n```python\n{CODE}```\n", "kernelbench", False, False),
        (f"```python\n{CODE}```\n", "python", False, False),
        (f"{CODE}\nThis kernel is fast.\n", "kernelbench", False, False),
        (CODE.replace("ModelNew", "Model"), "kernelbench", False, False),
        (f"{CODE.replace('ModelNew', 'Fast')}ModelNew = Fast\n", "kernelbench", True, False),
        (f"So:\n```python\n{CODE}```\nDone.", "transcript", True, True),
        (f"So:\n```\n{CODE}```\nDone.", "jsonl", True, True),
        (f"First:\n```python\n{OTHER}```\nBetter:\n```python\n{CODE}```\n", "transcript", True, False),
        (f"A plan:\n```\nload, add, store\n```\n```python\n{CODE}```\n", "transcript", False, False),
        (f"<|user|>\n```python\n{OTHER}```\n<|assistant|>\n```python\n{CODE}```", "jsonl", True, True),
        (f"Make it fast:\n```python\n{ASKED}```\nSo:\n```python\n{CODE}```", "transcript", True, True),
        (f"### Answer\n```python\n{ASKED}```\nSo:\n```python\n{CODE}```", "transcript", False, False),
        (CODE, "jsonl", True, True),
        (f"The answer:\n\n{CODE}", "jsonl", False, False),
        ("No code today.", "transcript", False, False),
        ("", "kernelbench", False, False),
    ],
)  # fmt: skip
def test_a_sample_as_it_came(text: str, kind: str, *, runs: bool, is_ours: bool) -> None:
    one = sample(text, kind)
    found = as_it_came(one, extract(one))
    assert (found.runs, found.is_ours) == (runs, is_ours)
    assert bool(found.why) is not runs


def test_what_was_put_in_is_not_the_samples() -> None:
    one = sample(CODE, "kernelbench")
    extraction = extract(one)
    assert extraction.submission is not None
    lent = extraction.submission.model_copy(
        update={
            "code": f"batch_size = 16\n{extraction.submission.code}",
            "line_map": (0, *extraction.submission.line_map),
        }
    )
    assert as_it_came(one, extraction.model_copy(update={"submission": lent})).is_ours


def test_lines_that_try_the_model_out_make_no_other_program() -> None:
    one = sample(f"{CODE}print(ModelNew()(*get_inputs()))\n", "kernelbench")
    shorter = extract(sample(CODE, "kernelbench"))
    assert as_it_came(one, shorter).is_ours
    assert not as_it_came(sample(CODE + OTHER, "kernelbench"), shorter).is_ours

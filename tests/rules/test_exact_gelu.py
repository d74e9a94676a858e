"""GELU's tanh form gives way to the exact one, however the model spelled it."""

from __future__ import annotations

import pytest

from grader.records import Context, Task

from .fixed import PLAIN, fixes, program

REFERENCE = "class Model(nn.Module):\n    def forward(self, x):\n        return F.gelu(x)\n"
GELU = Context(task=Task(name="t", title="t", source="file", reference=REFERENCE, workloads=()))


def gelu(*lines: str) -> str:
    body = "\n    ".join(("if (i >= n) return;", *lines))
    return program(PLAIN.replace("if (i < n) y[i] = x[i] * 0.5f;", body))


@pytest.mark.parametrize(
    ("lines", "fixed"),
    [
        (
            ("float v = x[i];", "y[i] = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));"),
            "y[i] = 0.5f * v * (1.0f + erff(v * 0.70710678f));",
        ),
        (
            ("y[i] = 0.5 * x[i] * (1.0 + tanh(sqrt(2.0 / M_PI) * (x[i] + 0.044715 * pow(x[i], 3))));",),
            "y[i] = 0.5 * x[i] * (1.0 + erff(x[i] * 0.70710678f));",
        ),
        (
            (
                "const float beta = 0.044715f;",
                "float v = x[i], cube = v * v * v;",
                "float inner = 0.79788456f * (v + beta * cube);",
                "float t = tanhf(inner);",
                "y[i] = 0.5f * v * (1.0f + t);",
            ),
            "float t = erff(v * 0.70710678f);",
        ),
        (
            ("float v = x[i];", "y[i] = 0.5f * v * (1.0f + tanhf(0.79788456f * v * (1.0f + 0.044715f * v * v)));"),
            "y[i] = 0.5f * v * (1.0f + erff(v * 0.70710678f));",
        ),
    ],
)  # fmt: skip
def test_the_tanh_form_becomes_the_exact_one(lines: tuple[str, ...], fixed: str) -> None:
    (after,) = fixes("NUM008", gelu(*lines), GELU)
    assert fixed in after


def test_another_tanh_is_left_alone() -> None:
    lines = (
        "float v = tanhf(x[i]);",
        "y[i] = v * tanhf(0.79788456f * (v + 0.044715f * v * v * v));",
    )
    (after,) = fixes("NUM008", gelu(*lines), GELU)
    assert {lines[0], "y[i] = v * erff(v * 0.70710678f);"} <= after


@pytest.mark.parametrize(
    ("reference", "count"),
    [
        ("F.gelu(F.hardtanh(torch.tanh(x)))", 1),
        ("F.gelu(x, approximate='tanh')", 0),
        ("gelu(0.5 * x * (1 + torch.tanh(0.79788 * (x + 0.044715 * x**3))))", 0),
    ],
)
def test_a_reference_of_the_tanh_form_is_no_other_tanh(reference: str, count: int) -> None:
    asked = REFERENCE.replace("F.gelu(x)", reference)
    task = Task(name="t", title="t", source="file", reference=asked, workloads=())
    line = "y[i] = x[i] * tanhf(0.79788456f * (x[i] + 0.044715f * x[i] * x[i] * x[i]));"
    assert len(fixes("NUM008", gelu(line), Context(task=task))) == count

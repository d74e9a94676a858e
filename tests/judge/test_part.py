"""The first rows of a full-size workload: taken where rows don't depend on each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grader.execution import full_size_part as module
from grader.execution.full_size_part import Asking, FullSizePart, full_size_part, saturation
from grader.records import Task, TensorSpec, Workload
from grader.sandbox import Limits, strongest
from grader.store import Store


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    return Asking(1, strongest(), Limits(wall=60.0), Store(tmp_path), "key")


def a_task(forward: str, *shapes: tuple[int, ...]) -> Task:
    text = f"import torch\nclass Model(torch.nn.Module):\n    def forward(self, *g):\n        return {forward}\n"
    inputs = tuple(TensorSpec(shape=shape) for shape in shapes)
    full = Workload(name="all of it", role="full", inputs=inputs)
    return Task(name="t", title="t", source="file", reference=text, workloads=(full,))


@pytest.mark.parametrize(
    ("forward", "shapes", "cut"),
    [
        ("g[0].relu()", [(4096, 393216)], {0}),
        ("g[0].softmax(dim=1)", [(1000, 7)], {0}),
        ("g[0] * g[1]", [(64, 100), (64, 100)], {0, 1}),
        ("g[0] @ g[1]", [(512, 512), (512, 512)], {0}),
    ],
)
def test_rows_that_stand_alone(forward, shapes, cut, asking: Asking) -> None:
    part = full_size_part(a_task(forward, *shapes), asking)
    assert part is not None
    assert part.cut == cut
    assert part.anywhere
    assert part.workload.name == "all of it"
    given = part.references.inputs["all of it"]
    assert all(len(given[i]) == part.rows for i in cut)
    expected = part.references.expected["all of it"].native[0]
    assert expected.shape[0] == part.rows
    if len(shapes) == 1 and "relu" in forward:
        np.testing.assert_array_equal(expected, np.maximum(given[0], 0))


@pytest.mark.parametrize("forward", ["g[0].cumsum(0)", "g[0].tril()"])
def test_rows_that_mean_something_where_they_stand_alone(forward: str, asking: Asking) -> None:
    part = full_size_part(a_task(forward, (1000, 100)), asking)
    assert part is not None
    assert not part.anywhere


@pytest.mark.parametrize(
    ("forward", "shapes"),
    [
        ("g[0].softmax(dim=0)", [(1000, 7)]),
        ("g[0].sum()", [(1000, 7)]),
        ("g[0].flip(0)", [(1000, 7)]),
        ("g[0].relu()", [(2, 1 << 23)]),
        ("1 / 0", [(1000, 7)]),
    ],
)
def test_what_has_no_rows_of_its_own_has_no_part(forward, shapes, asking: Asking) -> None:
    assert full_size_part(a_task(forward, *shapes), asking) is None


@pytest.mark.parametrize(("weights", "found"), [(1 << 20, True), (3 << 28, False)])
def test_weights_beyond_its_memory_are_not_made_and_none_leaves_its_guest(
    weights: int, found: bool, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "import torch\nclass Model(torch.nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n        self.w = torch.nn.Parameter(torch.ones({weights}))\n"
        "    def forward(self, x):\n        return x * self.w[0]\n"
    )
    task = a_task("x", (1000, 7)).model_copy(update={"reference": text})
    part = full_size_part(task, asking)
    assert (part is not None) == found
    assert part is None or not part.references.states["all of it"]
    monkeypatch.delattr(module, "reference")  # neither is asked twice
    assert (full_size_part(task, asking) is not None) == found


@pytest.mark.parametrize(
    ("forward", "flat"), [("(100 + g[0]).tanh()", True), ("g[0].tanh()", False)]
)
def test_a_full_size_that_shows_nothing_is_said_to(
    forward: str, flat: bool, asking: Asking
) -> None:
    task = a_task(forward, (4096, 512))
    part = full_size_part(task, asking)
    assert part is not None
    assert bool(saturation(task, part)) is flat


@pytest.mark.parametrize("seed", range(1, 5))
def test_a_row_that_is_small_by_chance_stands_alone_all_the_same(seed: int, asking: Asking) -> None:
    task = a_task("g[0] @ g[1]", (64, 1 << 20), (1 << 20, 1))
    assert full_size_part(task, replace(asking, seed=seed)) is not None


def test_a_part_is_asked_for_once(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    task, none = (a_task(f"g[0].softmax(dim={dim})", (1000, 7)) for dim in (1, 0))
    first = full_size_part(task, asking)
    other = replace(asking, key="other")
    assert full_size_part(none, other) is None
    monkeypatch.delattr(module, "reference")
    assert full_size_part(none, other) is None
    again = full_size_part(task, asking)
    assert first is not None
    assert again is not None
    for one in ("expected", "inputs"):
        np.testing.assert_equal(*(_arrays(part, one) for part in (first, again)))


def _arrays(part: FullSizePart, kind: str) -> list[object]:
    if kind == "inputs":
        return [*part.references.inputs.items()]
    expected = part.references.expected.items()
    return [(name, one.native, one.exact) for name, one in expected]

"""What of torch's own declarations the stub takes over."""

from __future__ import annotations

import pytest

from grader.build.driver.stub import _named


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # The stub has the template itself: a second one without its head is an error.
        (["T item() const;", "at::Scalar item() const;"], "at::Scalar item() const;\n"),
        (
            ["at::Tensor item(at::Dimname name) const;"],
            "at::Tensor item(at::Dimname name) const;\n",
        ),
        (["at::Tensor item(c10::impl::Odd of) const;"], "\n"),
    ],
)
def test_a_declaration_that_stands_alone(rows: list[str], expected: str) -> None:
    assert _named({"item": rows, "other": ["int other();"]}, {"item"}) == expected

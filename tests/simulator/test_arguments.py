"""What a kernel's arguments are called in the simulator's sentences."""

from __future__ import annotations

import pytest

from grader.simulator.arguments import with_parameter_names
from grader.source import parse

CODE = 'source = """\ntemplate <typename T> __global__ void scale(const T* x, T* y, int n) { y[0] = x[n]; }\n"""\n'


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("void ns::scale<float>(float const*, float*, int)", "past the end of `y`"),
        ("scale(float const*, float*, int)", "past the end of `y`"),
        ("other", "past the end of `argument 2`"),
    ],
)
def test_an_argument_is_called_what_the_kernel_calls_it(kernel: str, said: str) -> None:
    assert with_parameter_names("past the end of `argument 2`", kernel, parse(CODE)) == said


def test_a_number_beyond_the_parameters_stays() -> None:
    assert with_parameter_names("`argument 9`", "scale", parse(CODE)) == "`argument 9`"

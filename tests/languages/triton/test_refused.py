"""What Triton's compiler refuses is a failed build, with its cause and its line."""

from __future__ import annotations

import time

import pytest

from grader.languages import CompilerException, diagnose
from grader.records import Evidence
from grader.source import parse
from tests.languages.triton.conftest import Graded
from tests.languages.triton.programs import CLASS, KERNEL, RELU

HELPER = """
@triton.jit
def positive(x):
    return tl.maximum(x, zero)

"""


def refused(graded: Graded, code: str) -> Evidence:
    found = graded(code)
    assert found.verdict.status == "build_failed"
    assert found.evaluation.build is not None
    (error,) = found.evaluation.build.errors
    return error


@pytest.mark.parametrize(
    ("old", "new", "code", "said", "excerpt"),
    [
        ("tl.maximum(x, 0.0)", "tl.relu(x)", "undefined-name", "has no attribute", "tl.relu(x)"),
        ("BLOCK=1024", "BLOCK=1000", "power-of-two", "power of 2", "tl.arange(0, BLOCK)"),
        ("BLOCK: tl.constexpr", "BLOCK", "not-constexpr", "constexpr", "tl.arange(0, BLOCK)"),
        ("mask = offsets < n", "mask = offsets", "mask-type", "boolean", "tl.store(y_ptr + offsets, tl.maximum(x, 0.0), mask=mask)"),
        ("tl.maximum(x, 0.0)", "x if x > 0 else 0.0", "choice-by-block", "dynamic condition", "x if x > 0 else 0.0"),
        ("tl.maximum(x, 0.0)", "x[0]", "index-of-block", "unsupported tensor index", "x[0]"),
        ("tl.maximum(x, 0.0)", "torch.relu(x)", "foreign-function", "no function `relu`", "torch.relu"),
        ("tl.maximum(x, 0.0)", "tl.maximum(x, 0.0, dim=0)", "other-parameters", "'dim'", "tl.maximum(x, 0.0, dim=0)"),
        ("tl.maximum(x, 0.0)", "tl.extra.hip.libdevice.tanh(x)", "foreign-library", "__ocml_tanh_f32", "tl.extra.hip.libdevice.tanh"),
        ("tl.maximum(x, 0.0)", "x + tl.arange(0, 32)", "incompatible-shapes", "32", "x + tl.arange(0, 32)"),
    ],
)  # fmt: skip
def test_each_cause_has_a_name_and_a_line(
    graded: Graded, old: str, new: str, code: str, said: str, excerpt: str
) -> None:
    error = refused(graded, RELU.replace(old, new))
    assert (error.kind, error.code) == ("compiler", code)
    assert said in error.text
    assert error.place is not None
    assert error.place.excerpt == excerpt


def test_what_fails_in_a_function_that_a_kernel_calls_is_placed_there(graded: Graded) -> None:
    kernel = KERNEL.replace("tl.maximum(x, 0.0)", "positive(x)")
    error = refused(graded, kernel + HELPER + CLASS)
    assert error.code == "undefined-name"
    assert error.text == "Triton: zero is not defined."
    assert error.place is not None
    assert error.place.excerpt == "zero"


def test_other_exceptions_are_none_of_the_compilers() -> None:
    source = parse(RELU)
    for reason in ("TypeError: at 3:5 it failed", "RuntimeError: error", "ValueError: at home"):
        assert diagnose(source, CompilerException(reason)) is None


def test_a_handler_does_not_hide_what_was_refused(graded: Graded) -> None:
    hidden = CLASS.replace("def forward(self, x):", "def compute(self, x):").replace("1024", "1000")
    hidden += """
    def forward(self, x):
        try:
            return self.compute(x)
        except Exception:
            return torch.relu(x)
"""
    found = graded(KERNEL + hidden)
    assert found.verdict.status == "rejected"
    assert found.evaluation.build is not None
    assert [one.code for one in found.evaluation.build.errors] == ["power-of-two"]
    assert any(one.rule == "CHT001" and one.rejects for one in found.findings)


def test_a_kernel_that_forward_never_calls_is_no_answer(graded: Graded) -> None:
    found = graded(KERNEL + CLASS.partition("        y =")[0] + "        return torch.relu(x)\n")
    assert found.verdict.status == "rejected"


def test_an_exception_is_known_by_its_whole_name() -> None:
    said = "triton.compiler.errors.CompileTimeAssertionFailure: at 1:0:\nx\n^\n"
    found = diagnose(parse(RELU), CompilerException(said, said, None, ""))
    assert found is not None
    assert found.code == "static-assertion"


def test_long_words_cost_linear_time() -> None:
    began = time.process_time()
    said = "A" * 20_000
    assert diagnose(parse(RELU), CompilerException(f"E: at {said}", said, None, "")) is None
    assert time.process_time() - began < 1

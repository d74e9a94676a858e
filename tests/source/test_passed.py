"""Which line of the host code a wrong argument of a launch is of."""

from __future__ import annotations

from grader.records.changes import GRID
from grader.source import parse
from grader.source.analysis.passed import blame, plain

CUDA = '''
from torch.utils.cpp_extension import load_inline
source = """
__global__ void norm(const float* x, const float* mean, const float* var, float* y, int hw, float factor) {}
torch::Tensor run(torch::Tensor x, torch::Tensor mean, torch::Tensor var, double scale) {
    auto y = torch::empty_like(x);
    const int hw = x.size(2);
    const float factor = 1.0f / (float)scale;
    norm<<<x.size(0), 256>>>(x.data_ptr<float>(), mean.data_ptr<float>(), var.data_ptr<float>(),
                             y.data_ptr<float>(), hw, factor);
    return y;
}
"""
ext = load_inline("norm", "torch::Tensor run(torch::Tensor x);", source, functions=["run"])
class ModelNew:
    def forward(self, x):
        return ext.run(x, self.running_var, self.running_mean, self.scale)
'''
TRITON = """
import triton
import triton.language as tl
@triton.jit
def copy(x_ptr, y_ptr, stride_m, stride_n, BLOCK: tl.constexpr):
    pass
class ModelNew:
    def forward(self, x):
        flat = x.t().contiguous()
        copy[(4, 8)](
            flat, y,
            x.stride(1), x.stride(0),
            BLOCK=32,
        )
"""


def blamed(code: str, kernel: str, parameters: list[int], *, made: bool) -> tuple[str, bool]:
    found = blame(parse(code), kernel, 0, parameters, made)
    assert found is not None
    assert found.step.text in code.splitlines()[found.step.place.line - 1]
    return found.step.text, found.sure


def test_the_expression_that_makes_a_number_is_named_behind_the_names_that_pass_it() -> None:
    assert blamed(CUDA, "_Z4normPKfS0_S0_Pfif", [5], made=True) == ("1.0f / (float)scale", True)
    assert blamed(CUDA, "norm", [4], made=True) == ("x.size(2)", True)


def test_exchanged_arguments_are_named_where_the_names_first_disagree() -> None:
    assert blamed(CUDA, "norm", [1, 2], made=False) == ("self.running_var", True)
    assert blamed(TRITON, "copy", [2, 3], made=False) == ("x.stride(1)", True)


def test_what_is_passed_by_its_own_name_from_end_to_end_leaves_the_kernel_open() -> None:
    assert blamed(CUDA, "norm", [1, 3], made=False)[1] is False


def test_a_tensor_of_another_layout_is_named_where_torch_makes_it() -> None:
    assert blamed(TRITON, "copy", [0], made=True) == ("x.t().contiguous()", True)
    assert blamed(TRITON, "copy", [GRID], made=False) == ("(4, 8)", True)


def test_casts_and_pointers_leave_the_name() -> None:
    assert plain("static_cast<float>(eps)") == plain("(float) eps") == "eps"
    assert plain("x.contiguous().data_ptr<float>()") == "x"

"""Triton programs from a transcript to a verdict, on the simulator."""

from __future__ import annotations

from tests.languages.triton.conftest import Graded
from tests.languages.triton.programs import CLASS, KERNEL, RELU


def test_a_right_kernel_is_correct_and_its_launches_are_told(graded: Graded) -> None:
    found = graded(RELU)
    assert found.verdict.status == "correct"
    launches = [one for run in found.evaluation.runs for one in run.launches]
    assert {one.kernel for one in launches} == {"relu_kernel"}
    assert {one.block for one in launches} == {(128, 1, 1)}
    assert not any(finding.severity == "error" for finding in found.findings)
    assert any("sm_89" in note for note in found.notes)


AUTOTUNE = """@triton.autotune(
    configs=[triton.Config({"BLOCK": 1024}, num_warps=warps) for warps in (64, 8, 4)], key=["n"]
)
@triton.jit
"""


def test_autotuning_takes_the_first_configuration_that_can_be_launched_and_says_so(
    graded: Graded,
) -> None:
    code = RELU.replace("@triton.jit\n", AUTOTUNE).replace(", BLOCK=1024", "")
    found = graded(code)
    assert found.verdict.status == "correct"
    (said,) = (one for one in found.verdict.reasons if "autotuned" in one)
    assert "of the 3 configurations" in said
    assert "BLOCK: 1024, num_warps: 8" in said


CUDA_BESIDE_IT = '''
from torch.utils.cpp_extension import load_inline
halve = load_inline(name="halve", cpp_sources="torch::Tensor halve(torch::Tensor x);", functions=["halve"],
    cuda_sources="""
__global__ void halve_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i];
}
torch::Tensor halve(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    halve_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
""")
'''


def test_an_answer_in_two_languages_runs_both(graded: Graded) -> None:
    found = graded(KERNEL + CUDA_BESIDE_IT + CLASS.replace("return y", "return halve.halve(y + y)"))
    assert found.verdict.status == "correct"
    launched = {one.kernel for run in found.evaluation.runs for one in run.launches}
    assert launched == {"relu_kernel", "halve_kernel"}
    assert found.evaluation.build is not None
    assert {one.kernel for one in found.evaluation.build.resources} >= {"relu_kernel"}


def test_wrong_values_are_incorrect(graded: Graded) -> None:
    assert graded(RELU.replace("(x, 0.0)", "(x, 0.5)")).verdict.status == "incorrect"


def test_a_store_without_mask_is_found_at_its_line(graded: Graded) -> None:
    found = graded(RELU.replace(", 0.0), mask=mask)", ", 0.0))"))
    (outside,) = (one for one in found.findings if one.rule == "MEM011")
    assert outside.place is not None
    assert outside.place.excerpt == "tl.store(y_ptr + offsets, tl.maximum(x, 0.0))"
    said = [evidence.text for evidence in outside.evidence]
    assert any(text.startswith("program ") and "of `argument y_ptr`" in text for text in said)


def test_a_plain_function_is_graded_as_the_program_around_it(graded: Graded) -> None:
    function = CLASS[CLASS.index("        y = ") :].replace("        ", "    ")
    found = graded(f"{KERNEL}\ndef relu(x):\n{function}")
    assert found.verdict.status == "correct"
    assert any("the function `relu`" in note for note in found.notes)


def test_views_of_inputs_in_inference_mode_are_what_they_are_elsewhere(graded: Graded) -> None:
    views = "y = torch.empty_like(x.view(-1).unsqueeze(0)).squeeze(dim=0).view(x.shape)"
    forward = CLASS.replace("y = torch.empty_like(x)", views)
    code = KERNEL + forward.replace(
        "    def forward", "    @torch.inference_mode()\n    def forward"
    )
    assert graded(code).verdict.status == "correct"


def test_what_torchs_compiler_calls_is_there(graded: Graded) -> None:
    guards = "torch._C._dynamo.guards"
    memory = f"{guards}._empty_strided_cuda(tuple(x.shape), tuple(x.stride()), x.dtype)"
    forward = CLASS.replace("torch.empty_like(x)", memory)
    forward = forward.replace(
        "return y", f"return {guards}._reinterpret_tensor(y, tuple(x.shape), tuple(x.stride()), 0)"
    )
    assert graded(KERNEL + forward).verdict.status == "correct"


def test_the_gpus_generator_has_a_seed_and_an_offset_to_move_on(graded: Graded) -> None:
    drawn = CLASS.replace(
        "        n = x.numel()\n",
        """        n = x.numel()
        generator = torch.cuda.default_generators[torch.cuda.current_device()]
        state = generator.get_state()
        state.view(torch.int64)[1] += 4
        generator.set_state(state)
        assert generator.get_state().view(torch.int64)[1] % 4 == 0
""",
    )
    assert graded(KERNEL + drawn).verdict.status == "correct"

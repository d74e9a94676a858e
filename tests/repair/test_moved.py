"""The dimension that a kernel works along, brought to the end and back."""

from __future__ import annotations

from grader.diagnose import Program
from grader.records import Evaluation, Submission, Verdict
from grader.repair.variants.candidates import candidates
from grader.rules.examples import as_submission
from grader.source import edits, parse

SCALED = as_submission("""
__global__ void scaled_rows(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = 0; i < cols; ++i) sum += x[row * cols + i];
    for (int i = 0; i < cols; ++i) y[row * cols + i] = x[row * cols + i] / sum;
}
torch::Tensor run(torch::Tensor x) {
    int cols = x.size(1);
    int rows = x.numel() / cols;
    auto y = torch::empty_like(x);
    scaled_rows<<<(rows + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
    return y;
}
""")


def changed(code: str = SCALED) -> list[str]:
    submission = Submission(sample="s", code=code, line_map=(), how="")
    verdict = Verdict(status="incorrect", sentence="wrong")
    evaluation = Evaluation(
        submission=submission.key, device="sim", sandbox="none", verdict=verdict
    )
    found = candidates(parse(code), Program(submission, evaluation, ()))
    return [edits.apply(code, fix.edits) for one in found if (fix := one.fix())]


def test_a_result_that_is_made_like_the_tensor_gets_its_dimension_back() -> None:
    texts = [text for text in changed() if "x = x.movedim(1, -1).contiguous();" in text]
    ends = {text.split("return y")[1].split(";")[0] for text in texts}
    assert ends == {"", ".view(x.sizes()).movedim(-1, 1)"}


def test_a_weight_is_turned_before_all_else() -> None:
    head = "torch::Tensor run(torch::Tensor x) {\n"
    code = SCALED.replace(head, head.replace("x)", "x, torch::Tensor weight)"))
    line = "    weight = weight.transpose(0, 1).contiguous();\n    int cols"
    assert any(line in text for text in changed(code))
    fixed = code.replace("torch::Tensor weight)", "const torch::Tensor& weight)")
    assert not any("weight.transpose" in text for text in changed(fixed))

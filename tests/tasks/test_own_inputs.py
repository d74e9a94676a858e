"""Inputs that an answer to an unknown task brings itself."""

from __future__ import annotations

import pytest

from grader.ingest import extract
from grader.records import Sample, Submission
from grader.tasks import choose
from grader.tasks.own_inputs import own_inputs, own_reference

CLASS = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x, y=None):\n        return x\n"
REFERENCE = "class Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
TRIAL = "rows, cols = 64, 100\nmodel = ModelNew({init}){after}\nx = torch.randn(rows, cols, device='cuda')\n{call}\n"


def _brought(code: str, around: str = "") -> str:
    sample = Sample(id="s", origin="s", format="transcript", text=around or code)
    found = own_inputs(sample, Submission(sample="s", code=code, line_map=(), how=""))
    return found.task.reference if found else ""


def _values(text: str) -> dict[str, object]:
    space: dict[str, object] = {}
    exec(text.replace(", device='cuda'", ""), space)
    return space


@pytest.mark.parametrize("after", ["", ".cuda()", ".to('cuda').eval()"])
@pytest.mark.parametrize(
    "call", ["y = model(x)", "with torch.no_grad():\n    print(model(x).sum())"]
)
def test_what_a_model_is_tried_out_with_becomes_its_inputs(after, call):
    space = _values(_brought(CLASS + TRIAL.format(init="cols, 3", after=after, call=call)))
    assert [tuple(one.shape) for one in space["get_inputs"]()] == [(64, 100)]
    assert space["get_init_inputs"]() == [100, 3]


def test_a_main_block_a_function_and_a_block_beside_the_answer_try_it_out_too():
    trial = TRIAL.format(init="", after="", call="model(x, None)")
    indented = "".join(f"    {line}\n" for line in trial.splitlines())
    main = _brought(f"{CLASS}if __name__ == '__main__':\n{indented}")
    function = _brought(f"{CLASS}def test():\n{indented}")
    beside = _brought(CLASS, f"```python\n{CLASS}```\nUse it so:\n```python\n{trial}```\n")
    for text in (main, function, beside):
        assert len(_values(text)["get_inputs"]()) == 2


def test_an_answer_that_brings_none_is_given_none():
    assert not _brought(CLASS)
    assert not _brought(f"{CLASS}model = ModelNew()\n")


def test_a_reference_beside_the_answer_is_the_task():
    makers = "def get_inputs():\n    return [torch.rand(2)]\n"
    found = own_reference(
        Submission(sample="s", code=CLASS + REFERENCE + makers, line_map=(), how="")
    )
    assert found is not None
    assert "ModelNew" not in found.reference
    assert found.expects
    sample = Sample(id="s", origin="s", format="python", text=CLASS + REFERENCE + makers)
    for prompt, how in ((None, "embedded"), ("Write a fast kernel.", "none")):
        asked = sample.model_copy(update={"prompt": prompt})
        assert choose(asked, extract(asked), task=None, tasks_dir=None).how == how
    derived = CLASS + "class Model(ModelNew): pass\n" + makers
    assert own_reference(Submission(sample="s", code=derived, line_map=(), how="")) is None


HOST = "torch::Tensor run(torch::Tensor x) { CHECK k<<<1, 32>>>(x.data_ptr<TYPE>(), x.size(0), x.size(1)); return x; }"
EXTENSION = "from torch.utils.cpp_extension import load_inline\nmodule = load_inline(name='m', cpp_sources='', cuda_sources=r'''\n__global__ void k(const TYPE* x, int n, int m) {}\nHOST\n''', functions=['run'])\n"


@pytest.mark.parametrize(
    ("check", "kind", "forward", "shape"),
    [
        ("", "float", "x", (64, 256)),
        ("TORCH_CHECK(x.dim() == 4);", "float", "x", (2, 16, 32, 32)),
        ("", "at::Half", "x", None),
        ("", "float", "x, y", None),
    ],
)
def test_one_tensor_is_made_where_the_code_says_what_it_takes(check, kind, forward, shape):
    host = EXTENSION.replace("HOST", HOST.replace("CHECK", check)).replace("TYPE", kind)
    code = f"import torch\n{host}class ModelNew(torch.nn.Module):\n    def forward(self, {forward}):\n        return module.run(x)\n"
    text = _brought(code)
    made = _values(text)["get_inputs"]()[0].shape if text else None
    assert made == shape

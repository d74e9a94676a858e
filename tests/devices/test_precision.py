"""Fewer digits that a program switches on: seen on the simulator, whose values are then a GPU's."""

from __future__ import annotations

import numpy as np
import pytest

from grader import execution, judge, sandbox
from grader.devices import Device, RunResult
from grader.devices.guests import GuestDevice
from grader.judge.sentences import precision
from grader.records import Build, Comparison, Submission, Task, TensorSpec, Workload

MATMUL, CONV = "torch.backends.cuda.matmul.allow_tf32", "torch.backends.cudnn.allow_tf32"
CODE = """
import torch
import torch.nn.functional as F
{head}
class {name}(torch.nn.Module):
    def forward(self, x, y):
        {before}
        return {result}
"""
PRODUCT = "x @ y"
CONVOLUTION = "F.conv2d(x.reshape(1, 1, 64, 64), y[:3, :3].reshape(1, 1, 3, 3))"


def run(
    device: Device, result: str, *, head: str = "", before: str = "pass", reference: str = ""
) -> tuple[RunResult, Comparison, list[np.ndarray]]:
    """What becomes of a product in which something is switched on."""
    assert isinstance(device, GuestDevice)
    spec = TensorSpec(shape=(64, 64), distribution="normal")
    workload = Workload(name="w", role="nominal", inputs=(spec, spec))
    wanted = CODE.format(name="Model", head="", before="pass", result=reference or result)
    task = Task(name="t", title="t", source="file", reference=wanted, workloads=(workload,))
    known = execution.reference(task, task.workloads, 1, device.form, sandbox.Limits(wall=60))
    code = CODE.format(name="ModelNew", head=head, before=before, result=result)
    program = Submission(sample="s", code=code, line_map=(), how="test")
    (found,) = device.run(program, Build(status="built", device="sim"), task, known)
    assert found.run.status == "ran", found.run.reason
    return found, judge.compare(task, workload, known, found), list(known.inputs["w"])


def tf32(array: np.ndarray) -> np.ndarray:
    """To 10 bits of mantissa, by arithmetic in float64."""
    mantissa, exponent = np.frexp(array.astype(np.float64))
    return np.ldexp(np.sign(mantissa) * np.floor(np.abs(mantissa) * 2**11 + 0.5), exponent - 11)


@pytest.mark.parametrize(
    "head",
    [
        f"{MATMUL} = True",
        'torch.set_float32_matmul_precision("high")',
        'torch.backends.cuda.matmul.fp32_precision = "tf32"',
    ],
)
def test_a_product_in_tf32_has_the_values_of_a_gpu(device: Device, head: str) -> None:
    found, comparison, (x, y) = run(device, PRODUCT, head=head)
    np.testing.assert_allclose(found.outputs[0].array, tf32(x) @ tf32(y), rtol=1e-4, atol=1e-4)
    assert not comparison.equal
    assert comparison.half_precision
    assert found.run.switches == (MATMUL,)
    assert [(n.precision, n.operator, n.count) for n in found.run.narrowed] == [
        ("tf32", "aten::mm", 1)
    ]
    (said,) = precision([found.run])
    assert MATMUL in said
    assert "10 bits of mantissa" in said


def test_a_convolution_in_tf32(device: Device) -> None:
    found, comparison, _ = run(device, CONVOLUTION, head=f"{CONV} = True")
    assert comparison.half_precision
    assert found.run.switches == (CONV,)
    assert {n.precision for n in found.run.narrowed} == {"tf32"}


@pytest.mark.parametrize(
    ("result", "head"),
    [
        (PRODUCT, ""),
        (CONVOLUTION, ""),
        (PRODUCT, f"{MATMUL} = True\n{MATMUL} = False"),
        (PRODUCT, f"{CONV} = True"),
        (CONVOLUTION, f"{MATMUL} = True"),
        ("x + y", f"{MATMUL} = True"),
    ],
)
def test_what_is_not_switched_on_for_an_operator_keeps_its_digits(
    device: Device, result: str, head: str
) -> None:
    found, comparison, _ = run(device, result, head=head)
    assert comparison.equal
    assert found.run.narrowed == ()


@pytest.mark.parametrize(
    ("result", "before", "how"),
    [
        ("(x.half() @ y.half()).float()", "pass", "float16"),
        ("(x.to(torch.bfloat16) @ y.bfloat16()).float()", "pass", "bfloat16"),
        ("torch.autocast('cuda')(torch.matmul)(x, y).float()", "pass", "float16"),
    ],
)
def test_half_precision_by_torch(device: Device, result: str, before: str, how: str) -> None:
    found, comparison, _ = run(device, result, before=before, reference=PRODUCT)
    assert not comparison.equal
    assert {n.precision for n in found.run.narrowed} == {how}
    assert how in precision([found.run])[0]

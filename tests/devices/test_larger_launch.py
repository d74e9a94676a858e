"""A launch that is too small is shown by a larger one; a loop that ends early is not."""

from __future__ import annotations

import pytest

from grader.devices import Device
from grader.devices.larger_launch import enlarge_launches
from grader.execution.reference import reference
from grader.records import Comparison, Evidence, LaunchEnlarged, Mismatch, Submission

from .conftest import a_submission
from .test_provenance import CODE, TASK, WORKLOAD

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
WHOLE = CODE.replace("n - 1", "n").replace("+ s[2]", "+ s[2] + s[3]")
LAUNCH = "row_sums<<<x.size(0), 128>>>"


def enlarged(device: Device, code: str) -> tuple[Evidence, ...]:
    submission: Submission = a_submission(code)
    known = reference(TASK, TASK.workloads, 7, device.form, device.limits(120))  # type: ignore[attr-defined]
    build = device.build(submission, ())
    runs = [one.run for one in device.run(submission, build, TASK, known)]
    wrong = Mismatch(kind="values", text="", fraction=0.5)
    compared = Comparison(workload=WORKLOAD.name, role="nominal", equal=False, mismatch=wrong)
    return enlarge_launches(device, submission, build, TASK, known, [compared], runs)


@pytest.mark.parametrize(
    ("launch", "of"),
    [
        ("row_sums<<<x.size(0) - 1, 128>>>", LaunchEnlarged(axis="x", of="grid", wrong=1, left=0)),
        ("row_sums<<<x.size(0) - 2, 128>>>", LaunchEnlarged(axis="x", of="grid", wrong=2, left=1)),
    ],
)
def test_names_the_launch_that_lacks_blocks(
    device: Device, launch: str, of: LaunchEnlarged
) -> None:
    code = WHOLE.replace(LAUNCH, launch)
    (found,) = enlarged(device, code)
    assert found.details == of
    assert found.kernel == "row_sums"
    assert found.place is not None
    assert launch in code.splitlines()[found.place.line - 1]


def test_names_the_launch_that_lacks_threads(device: Device) -> None:
    code = WHOLE.replace("scaled<<<1, 32>>>", "scaled<<<1, 2>>>")
    (found,) = enlarged(device, code)
    assert found.details == LaunchEnlarged(axis="x", of="block", wrong=1, left=0)


def test_a_loop_that_ends_early_is_no_matter_of_the_launch(device: Device) -> None:
    assert enlarged(device, CODE) == ()


ROUNDED = """__global__ void row_sums(const float* x, float* parts, int n) {
    __shared__ float s[128];
    float v = 0.0f;
    const int turns = n / 128;
    for (int k = 0; k < turns; ++k) v += x[blockIdx.x * n + k * 128 + threadIdx.x];
    s[threadIdx.x] = v;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int k = 1; k < 128; ++k) v += s[k];
    parts[blockIdx.x] = v;
}
"""


def test_a_block_whose_own_memory_is_too_small_for_more_threads_is_none_that_lacks_them(
    device: Device,
) -> None:
    """With twice the threads `s` is written outside of its bounds: the run ends, and shows nothing that came right."""
    begin, end = CODE.index("__global__ void row_sums"), CODE.index("__global__ void scaled")
    assert enlarged(device, CODE[:begin] + ROUNDED + CODE[end:]) == ()

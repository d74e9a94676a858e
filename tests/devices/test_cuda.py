"""A real GPU as a device: the same submission as on the simulator, and what only a GPU can show."""

from __future__ import annotations

import pytest

from grader import judge, sandbox
from grader.config import Options
from grader.devices import RunResult
from grader.devices.cuda.device import CudaDevice, open_cuda
from grader.devices.cuda.gpu import installed_gpus
from grader.execution.reference import reference
from grader.records import Build, Comparison
from grader.store import Store

from .conftest import CODE, a_submission, a_task

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(1200)]
Outcome = tuple[RunResult, Comparison | None]


@pytest.fixture(scope="module", params=["fast", "stock"])
def built(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[CudaDevice, Build]:
    found = installed_gpus()
    if not found:
        pytest.skip("nvidia-smi finds no GPU")
    options = Options(device="cuda", run_seconds=60, build=request.param)
    store = Store(tmp_path_factory.mktemp("store"))
    gpu = open_cuda(options, sandbox.strongest(), store, found, lambda _what: None)
    return gpu, gpu.build(a_submission(CODE), ())


def run(built: tuple[CudaDevice, Build], *ways: int) -> list[Outcome]:
    gpu, build = built
    assert build.status == "built", build.log[-3000:]
    task = a_task(ways)
    known = reference(task, task.workloads, 1, gpu.form, sandbox.Limits(wall=60))
    results = gpu.run(a_submission(CODE), build, task, known)
    return [
        (item, judge.compare(task, w, known, item) if item.run.status == "ran" else None)
        for w, item in zip(task.workloads, results, strict=True)
    ]


def test_what_is_right_is_right(built: tuple[CudaDevice, Build]) -> None:
    if built[0].options.build == "fast":  # stock is torch's own call, which asks ptxas for nothing
        assert any("doubled" in item.kernel for item in built[1].resources)
    for result, comparison in run(built, 0, 7, 10, 12, 20, 22):
        assert result.run.status == "ran", result.run.reason
        assert comparison is not None
        assert comparison.equal, (result.run.workload, comparison.mismatch)


def test_what_is_wrong_is_wrong(built: tuple[CudaDevice, Build]) -> None:
    for result, comparison in run(built, 1, 6, 9, 21):
        if result.run.status == "ran":
            assert comparison is not None
            assert not comparison.equal, result.run.workload
        else:
            assert "CUDA error" in result.run.reason


def test_errors_have_names_and_leave_the_next_alone(built: tuple[CudaDevice, Build]) -> None:
    (host, _), (right, comparison) = run(built, 11, 0)
    assert host.run.status == "raised"
    assert "illegal memory access" in host.run.reason
    assert host.run.evidence[0].code == "an-illegal-memory-access-was-encountered"
    assert right.run.status == "ran"
    assert comparison is not None
    assert comparison.equal


def test_a_process_that_dies_is_crashed(built: tuple[CudaDevice, Build]) -> None:
    (crashed, _), (right, _) = run(built, 16, 0)
    assert crashed.run.status == "crashed"
    assert right.run.status == "ran"


def test_a_kernel_that_never_ends_is_hung_and_the_gpu_goes_on(
    built: tuple[CudaDevice, Build],
) -> None:
    gpu, build = built
    code = CODE.replace(
        "while (__shfl_sync(0xffffffffu, 1, 0)) y[0] = x[0];", "while (true) y[0] = x[0];"
    )
    endless = gpu.build(a_submission(code), ())
    task = a_task((4, 0))
    endless_one, right_one = task.workloads
    others = right_one.model_copy(update={"weights": "drawn"})
    task = task.model_copy(update={"workloads": (endless_one, others)})
    known = reference(task, task.workloads, 1, gpu.form, sandbox.Limits(wall=60))
    result, other = gpu.run(a_submission(code), endless, task, known)
    assert result.run.status == "hung", result.run.reason
    assert other.run.status == "not_run"
    assert "never ended" in other.run.reason
    ((right, _),) = run((gpu, build), 0)
    assert right.run.status == "ran"

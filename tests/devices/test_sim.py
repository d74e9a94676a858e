"""The simulator as a device: it builds by the submission's own load_inline, runs, and reports."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader.devices import Device, RunResult
from grader.judge import computing_operators
from grader.judge.honesty import AFTER
from grader.records import Build, Comparison, Evidence, UnwrittenOutput

from .conftest import CODE

Way = Callable[[int], tuple[RunResult, Comparison | None]]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # the first one prepares the machine


def line_of(text: str) -> int:
    return next(i for i, line in enumerate(CODE.splitlines(), 1) if text in line)


def missing(result: RunResult) -> int:
    """Return how many bytes of the result were never written."""
    details = evidence(result, "unwritten-output").details
    assert isinstance(details, UnwrittenOutput)
    return details.missing


def evidence(result: RunResult, code: str) -> Evidence:
    found = [item for item in result.run.evidence if item.code == code]
    assert found, f"no {code} among {[item.code for item in result.run.evidence]}"
    return found[0]


def test_it_is_ready(device: Device) -> None:
    assert device.ready().ok
    assert device.name == "sim"
    assert "no time is measured" in device.facts["device"]


def test_it_builds_and_knows_the_resources(build: Build) -> None:
    assert build.status == "built", build.log
    assert any("doubled" in item.kernel for item in build.resources)


@pytest.mark.parametrize("number", [0, 7, 10, 12, 20, 22])
def test_what_is_right_is_right_and_nothing_is_found(way: Way, number: int) -> None:
    result, comparison = way(number)
    assert result.run.status == "ran", result.run.reason
    assert comparison is not None
    assert comparison.equal, comparison.mismatch
    assert result.run.evidence == ()


@pytest.mark.parametrize(
    ("number", "told"), [(35, False), (36, True), (37, False), (38, True), (39, True)]
)
def test_unwritten_memory_counts_unless_what_came_of_it_is_stored_over_or_freed_unread(
    way: Way, number: int, told: bool
) -> None:
    """As in a warm-up on empty memory: before a graph is captured, or into buffers that go at once."""
    result, _ = way(number)
    assert ("uninit-global-read" in {item.code for item in result.run.evidence}) is told


def test_launches_are_reported(way: Way) -> None:
    result, _ = way(0)
    (launch,) = result.run.launches
    assert (launch.kernel, launch.grid, launch.block) == ("doubled", (4, 1, 1), (256, 1, 1))
    assert launch.limits["occupancy"] == 1.0
    assert launch.limits["registers"] > 0


def test_lines_are_counted(way: Way) -> None:
    result, _ = way(0)
    (line,) = [c for c in result.run.counts if c.line == line_of("if (i < n) y[i] = 2.0f * x[i];")]
    assert line.accesses == 2000
    assert line.sectors == line.ideal_sectors


def test_the_operators_of_forward_are_logged(way: Way) -> None:
    result, _ = way(20)
    assert result.run.operators.get("aten::mul") == 1
    assert "aten::mul" not in way(0)[0].run.operators


@pytest.mark.parametrize("number", [1, 9])
def test_a_launch_that_fails_unseen(way: Way, number: int) -> None:
    result, comparison = way(number)
    assert result.run.status == "ran"
    assert comparison is not None
    assert not comparison.equal
    assert "never queries" in evidence(result, "launch-error-unseen").text
    assert missing(result) == 4000


def test_a_launch_that_fails_and_is_checked(way: Way) -> None:
    result, _ = way(14)
    assert result.run.status == "raised"
    assert "invalid configuration argument" in result.run.reason


def test_torch_meets_the_error_of_an_earlier_launch(way: Way) -> None:
    result, _ = way(26)
    assert result.run.status == "raised"
    assert "invalid configuration argument" in result.run.reason


def test_accesses_past_the_end_are_found_at_their_line(way: Way) -> None:
    result, comparison = way(2)
    assert result.run.status == "ran"
    assert comparison is not None
    place = evidence(result, "out-of-bounds").place
    assert place is not None
    assert place.line == line_of("if (i <= n)")


def test_torchs_compiler_finds_what_a_cuda_build_has(way: Way) -> None:
    result, comparison = way(33)
    assert result.run.status == "ran", result.run.reason
    assert comparison is not None
    assert comparison.equal


def test_what_computes_while_results_are_taken_is_logged(way: Way) -> None:
    result, _ = way(34)
    assert result.run.status == "ran", result.run.reason
    assert set(result.run.operators) == {"aten::empty_like", f"{AFTER}aten::clamp_"}
    assert computing_operators([result.run]) == ("clamp_",)


def test_races_are_found(way: Way) -> None:
    place = evidence(way(3)[0], "race").place
    assert place is not None
    assert place.line in {line_of("part[threadIdx.x ^ 32]"), line_of("part[threadIdx.x] = i < n")}


def test_a_deadlock_is_hung(way: Way) -> None:
    result, _ = way(4)
    assert result.run.status == "hung"
    assert result.run.reason
    assert evidence(result, "deadlock").place is not None


def test_shared_memory_that_nobody_wrote(way: Way) -> None:
    place = evidence(way(5)[0], "uninit-shared-read").place
    assert place is not None
    assert place.line == line_of("part[threadIdx.x % 32]")


def test_results_that_were_half_written(way: Way) -> None:
    result, comparison = way(6)
    assert comparison is not None
    assert not comparison.equal
    assert missing(result) == 2000


def test_a_check_that_fails_is_an_exception(way: Way) -> None:
    result, _ = way(8)
    assert (result.run.status, "mode 8 is refused" in result.run.reason) == ("raised", True)


def test_memory_of_the_host_is_none_of_the_kernel(way: Way) -> None:
    result, _ = way(11)
    assert result.run.status == "raised"
    assert "illegal memory access" in result.run.reason
    assert "argument 2" in evidence(result, "host-memory").text


def test_a_vector_at_a_crooked_address_takes_the_context(way: Way) -> None:
    result, _ = way(17)
    assert result.run.status == "raised"
    assert "misaligned address" in result.run.reason
    place = evidence(result, "misaligned").place
    assert place is not None
    assert place.line == line_of("(x + 1)[i];")


@pytest.mark.parametrize(
    ("number", "feature"), [(19, "cudaGraphCreate"), (31, "make_graphed_callables")]
)
def test_what_is_not_supported_is_not_run(way: Way, number: int, feature: str) -> None:
    result, _ = way(number)
    assert result.run.status == "not_run"
    assert feature in result.run.reason


@pytest.mark.parametrize("number", [13, 24, 32])
def test_a_graph_does_when_it_is_launched_what_was_captured(way: Way, number: int) -> None:
    result, comparison = way(number)
    assert result.run.status == "ran", result.run.reason
    assert comparison is not None
    assert comparison.equal, comparison.mismatch
    assert result.run.evidence == ()


def test_what_an_early_graph_does_counts_when_it_is_launched(way: Way) -> None:
    result, _ = way(32)
    assert [launch.kernel for launch in result.run.launches] == ["doubled"]
    assert result.run.operators.get("aten::mul") == 1


def test_a_launch_into_the_default_stream_is_not_in_the_graph(way: Way) -> None:
    result, _ = way(28)
    assert result.run.status == "raised"
    assert "AssertionError" in result.run.reason


def test_a_capture_that_needs_a_value_fails_as_on_a_gpu(way: Way) -> None:
    result, _ = way(29)
    assert result.run.status == "raised"
    assert "operation failed due to a previous error during capture" in result.run.reason


def test_a_captured_kernel_has_not_run(way: Way) -> None:
    result, _ = way(30)
    assert result.run.launches == ()
    assert missing(result) == 4000


def test_a_write_to_the_input_is_seen(way: Way) -> None:
    result, comparison = way(15)
    assert comparison is not None
    assert comparison.equal
    assert result.result.mutated_inputs == (0,)
    assert "input 1" in evidence(result, "input-written").text


def test_a_crash_of_the_process(way: Way) -> None:
    assert way(16)[0].run.status == "crashed"


def test_a_result_on_the_cpu_is_seen(way: Way) -> None:
    _, comparison = way(21)
    assert comparison is not None
    assert comparison.mismatch is not None
    assert comparison.mismatch.kind == "device"


def test_tensors_of_the_cpu_are_no_cuda_tensors(way: Way) -> None:
    assert "must be a CUDA tensor" in way(23)[0].run.reason
    assert "same device" in way(25)[0].run.reason


def test_device_printf_is_shown(way: Way) -> None:
    assert way(12)[0].run.status == "ran"


def test_a_tensor_spelled_out_in_an_error_is_short(way: Way) -> None:
    """Number by number the text takes thousands of operations, of milliseconds each here."""
    reason = way(27)[0].run.reason
    assert "this one: tensor(" in reason
    assert "..." in reason
    assert len(reason) < 300

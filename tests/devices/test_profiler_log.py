"""Nsight Compute's table read by kernel; the figures are those that the table of this file holds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader.devices.cuda.profiler import own_kernels
from grader.devices.cuda.profiler_log import METRICS, read

UNITS = dict.fromkeys(METRICS, "") | {
    "gpu__time_duration.sum": "us",
    "dram__bytes_read.sum": "Mbyte",
    "dram__bytes_write.sum": "Kbyte",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "%",
}


def table(*rows: tuple[str, dict[str, str]]) -> str:
    head = ["ID", "Kernel Name", *METRICS]
    lines = [head, ["", "", *UNITS.values()]]
    for number, (kernel, values) in enumerate(rows):
        lines.append([str(number), kernel, *(values.get(metric, "0") for metric in METRICS)])
    written = "\n".join(",".join(f'"{cell}"' for cell in line) for line in lines)
    return f"==PROF== Connected to process 7\nprinted by the program\n{written}\n==PROF== Done\n"


def test_launches_of_one_kernel_are_added_up() -> None:
    one = {
        "gpu__time_duration.sum": "1,500",
        "dram__bytes_read.sum": "2.5",
        "dram__bytes_write.sum": "500",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "64",
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "16",
        "sm__sass_thread_inst_executed_op_ffma_pred_on.sum": "10",
        "sm__sass_thread_inst_executed_op_fadd_pred_on.sum": "3",
        "sm__warps_active.avg.pct_of_peak_sustained_active": "50",
    }
    other = {"gpu__time_duration.sum": "1"}
    (slow, fast) = read(table(("quick", other), ("rows", one), ("rows", one)))
    assert (slow.kernel, slow.launches, fast.kernel) == ("rows", 2, "quick")
    assert slow.milliseconds == 3.0
    assert slow.dram_bytes == 2 * 3_000_000
    assert (slow.sectors, slow.requests, slow.operations) == (128, 32, 46)
    assert slow.occupancy == 0.5


def test_a_log_without_a_table() -> None:
    assert read("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n") == ()
    assert read('"ID","Kernel Name"') == ()


@given(st.text(max_size=300), st.text(max_size=40))
def test_whatever_a_program_prints_is_no_error(said: str, name: str) -> None:
    read(said)
    read(table((name.replace('"', ""), {"gpu__time_duration.sum": said[:20].replace('"', "")})))


def test_the_filter_takes_names_without_arguments() -> None:
    names = ["void rows<float, 4>(float const*, int)", "(anonymous)", "ns::sum(int)", "relu_kernel"]
    assert own_kernels(names) == "regex:^(relu_kernel|rows|sum)$"

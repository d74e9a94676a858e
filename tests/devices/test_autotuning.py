"""What Triton prints of its autotuning, as on a GPU."""

from __future__ import annotations

from grader.devices.cuda.autotuning import read_autotuned

LOG = """Autotuning kernel add with config BLOCK: 128, num_warps: 4, maxnreg: None
Autotuning kernel add with config BLOCK: 256, num_warps: 4, maxnreg: None
Triton autotuning for function add,
with key as (1024, 'torch.float32'),
finished after 0.42s,
best config selected: BLOCK: 256, num_warps: 4, maxnreg: None;
"""


def test_kernel_configuration_and_time_are_read() -> None:
    (found,) = read_autotuned(f"hello\n{LOG}bye\n")
    assert (found.kernel, found.of, found.seconds) == ("add", 2, 0.42)
    assert found.config == "BLOCK: 256, num_warps: 4"


def test_other_output_is_none_of_it() -> None:
    assert not read_autotuned("Triton autotuning for function add")

"""When main.cpp and cuda.cu are compiled together."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.build.driver import shared_pass
from grader.build.driver.command import Command, parse

CUDA = "#include <torch/extension.h>\ntorch::Tensor run(torch::Tensor x) { return x; }\n"
CPP = """#include <torch/extension.h>
torch::Tensor run(torch::Tensor x);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
m.def("run", torch::wrap_pybind_function(run), "run");
}
"""


def calls(folder: Path, cuda: str = CUDA, cpp: str = CPP, *more: str) -> tuple[Command, Command]:
    """Return the calls for both files, which lie in the folder."""
    (folder / "cuda.cu").write_text(cuda)
    (folder / "main.cpp").write_text(cpp)
    first = ["-DTORCH_EXTENSION_NAME=e", *more, "-c", f"{folder}/main.cpp", "-o", f"{folder}/main.o"]  # fmt: skip
    return parse(first), parse(["-c", f"{folder}/cuda.cu", "-o", f"{folder}/cuda.cuda.o"])


def test_a_binding_goes_behind_what_it_binds(tmp_path: Path) -> None:
    first, second = calls(tmp_path)
    assert shared_pass.leave_out(first, CPP)
    assert f'#line 1 "{tmp_path}/main.cpp"' in shared_pass.binding_of(second, CUDA)
    (tmp_path / "cuda.cuda.o").write_bytes(b"compiled".ljust(64, b"\0"))
    linked = parse([f"{tmp_path}/main.o", f"{tmp_path}/cuda.cuda.o", "-o", "e.so"])
    assert shared_pass.linked_once(linked) == [f"{tmp_path}/cuda.cuda.o", "-o", "e.so"]
    left = shared_pass.left_over(linked)  # as there is no object that has it
    assert left is not None
    assert left.sources == [f"{tmp_path}/main.cpp"]
    assert shared_pass.left_over(linked) is None


@pytest.mark.parametrize(
    ("cuda", "cpp"),
    [
        ("#define run other\n" + CUDA, CPP),
        (CUDA + "PYBIND11_MODULE(e, m) {}", CPP),
        (CUDA, CPP.replace("function(run)", "function(runs)")),
        (CUDA, CPP.replace("x);", "x) { return x; }")),
        (CUDA, CPP.partition("PYBIND11")[0]),
    ],
)
def test_what_could_mean_something_else_together_stays_apart(
    cuda: str, cpp: str, tmp_path: Path
) -> None:
    first, second = calls(tmp_path, cuda, cpp)
    assert not shared_pass.leave_out(first, cpp)
    assert not shared_pass.binding_of(second, cuda)


def test_a_name_that_the_call_alone_defines_leaves_it_alone(tmp_path: Path) -> None:
    first, _ = calls(tmp_path, CUDA, CPP, "-Drun=other")
    assert not shared_pass.leave_out(first, CPP)

"""Seeds that any submission takes: build, contract and launch defects, made from its own text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .corpus import Edit

LAUNCH = re.compile(r"^ *[\w<> ,]+<<<.*?>>>\(.*?\);\n", re.MULTILINE | re.DOTALL)
DECLARED = re.compile(r"(?:torch|at)::Tensor (\w+)\(([^()]*)\);")
BOUND = re.compile(r"functions=\[(['\"])(\w+)\1\]")
POINTER = re.compile(r"\b(\w+)\.data_ptr<float>\(\)")
HEADER = re.compile(r"#include <(?:ATen/cuda/CUDAContext|c10/cuda/CUDAException)\.h>\n")


def edits(code: str, turn: int) -> Iterator[Edit]:
    """Yield a third of the seeds that fit a submission, another third each turn."""
    for make in MAKERS[turn % 3 :: 3]:
        yield from make(code)


def drop_launch(code: str) -> Iterator[Edit]:
    launches = list(LAUNCH.finditer(code))
    if len(launches) == 1:
        near = tuple(
            line.strip()
            for line in code.split("\n")
            if re.search(r"= (torch|at)::(empty|zeros)", line) or "__global__ void" in line
        )
        yield Edit("drop-launch", launches[0].group(), "", near=near)


def missing_declaration(code: str) -> Iterator[Edit]:
    found = DECLARED.search(code)
    if found:
        near = [f" {found.group(1)}(", "functions=[", "load_inline("]
        near += ["cpp_sources="] * ("cpp_sources=" in code)  # which lacks it
        yield Edit("missing-declaration", found.group(), "", near=tuple(near))


def other_declaration(code: str) -> Iterator[Edit]:
    found = DECLARED.search(code)
    if found:
        new = found.group().replace(");", ", bool verbose);")
        yield Edit("other-declaration", found.group(), new, near=(f" {found.group(1)}(",))


def wrong_functions(code: str) -> Iterator[Edit]:
    found = BOUND.search(code)
    if found:
        new = f"functions=[{found.group(1)}{found.group(2)}_kernel{found.group(1)}]"
        yield Edit("wrong-functions", found.group(), new)


def wrong_attribute(code: str) -> Iterator[Edit]:
    line, name, _ = _call(code)
    yield Edit("wrong-attribute", line, line.replace(f".{name}(", f".run_{name}("))


def missing_argument(code: str) -> Iterator[Edit]:
    line, name, arguments = _call(code)
    fewer = ", ".join(arguments.split(", ")[:-1])
    new = line.replace(f".{name}({arguments})", f".{name}({fewer})")
    yield Edit("missing-argument", line, new)


def undefined_name(code: str) -> Iterator[Edit]:
    line, _, arguments = _call(code)
    new = line.replace(f"({arguments})", f"({arguments}.to(device))")
    if arguments.isidentifier():
        yield Edit("undefined-name", line, new)


def result_on_cpu(code: str) -> Iterator[Edit]:
    line, _, _ = _call(code)
    yield Edit("result-on-cpu", line, line + ".cpu()")


def missing_header(code: str) -> Iterator[Edit]:
    found = HEADER.search(code)
    if found:
        users = ("getCurrentCUDAStream", "C10_CUDA_KERNEL_LAUNCH_CHECK")
        near = tuple(word for word in users if word in code)
        yield Edit("missing-header", found.group(), "", near=near)


def wrong_pointer(code: str) -> Iterator[Edit]:
    launch = next(LAUNCH.finditer(code), None)
    found = POINTER.search(launch.group()) if launch else None
    if launch and found:
        new = launch.group().replace(found.group(), f"{found.group(1)}.data_ptr<double>()", 1)
        yield Edit("wrong-pointer", launch.group(), new)


def missing_kernel_argument(code: str) -> Iterator[Edit]:
    launch = next(LAUNCH.finditer(code), None)
    if launch:
        new = re.sub(r",\s*[^,]*\);\n\Z", ");\n", launch.group())
        yield Edit("missing-kernel-argument", launch.group(), new)


def missing_semicolon(code: str) -> Iterator[Edit]:
    line = next(
        line for line in code.split("\n") if re.search(r"= (torch|at)::(empty|zeros)", line)
    )
    after = code.partition(line + "\n")[2].split("\n")[0].strip()
    yield Edit("missing-semicolon", line, line.replace(";", ""), near=(after,))


def second_binding(code: str) -> Iterator[Edit]:
    found = BOUND.search(code)
    host = re.search(r"^    return \w+;\n\}\n", code, re.MULTILINE)
    if found and host and code.count(host.group()) == 1:
        name = found.group(2)
        text = f'\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{\n    m.def("{name}", &{name});\n}}\n'
        yield Edit("second-binding", host.group(), host.group() + text, near=("functions=[",))


def _call(code: str) -> tuple[str, str, str]:
    """Return the line of `forward` that calls the extension, the function's name, the arguments."""
    forward = code.rpartition("def forward(")[2]
    found = re.search(
        r"^ *return [\w.]*\.(\w+)\(([^()]*)\)(?:\.\w+\(.*\))?$", forward, re.MULTILINE
    )
    if found is None:
        raise ValueError(code)
    return found.group(), found.group(1), found.group(2)


MAKERS: tuple[Callable[[str], Iterator[Edit]], ...] = (
    drop_launch,
    missing_declaration,
    other_declaration,
    wrong_functions,
    wrong_attribute,
    missing_argument,
    undefined_name,
    result_on_cpu,
    missing_header,
    wrong_pointer,
    missing_kernel_argument,
    missing_semicolon,
    second_binding,
)

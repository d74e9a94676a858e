"""The machine check: which tools and devices are present, and what each missing one costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from grader import sandbox
from grader.build import Toolchain, discover
from grader.config import Options
from grader.devices import cuda_gpus, trouble
from grader.errors import GraderError


@dataclass(frozen=True)
class Item:
    """One tool, device or library that a machine may have."""

    what: str
    ok: bool
    found: str
    advice: str = ""


def examine(options: Options) -> Iterator[Item]:
    """Yield the items looked for, in the order in which a grading needs them."""
    toolchain = discover()
    yield from _tools(toolchain)
    for gap in toolchain.missing:
        yield Item(gap.what, ok=False, found="", advice=f"{gap.costs} {gap.hint}".strip())
    yield _gpu()
    yield _sandbox(options)


def _tools(toolchain: Toolchain) -> Iterator[Item]:
    built_for = f", for CUDA {toolchain.torch_cuda}" if toolchain.torch_cuda else ", CPU only"
    found = (
        ("python", str(toolchain.python)),
        ("torch", toolchain.torch and f"{toolchain.torch_version}{built_for}, {toolchain.torch}"),
        ("nvcc", toolchain.nvcc and f"{toolchain.nvcc_version}, {toolchain.nvcc}"),
        ("g++", toolchain.gxx and f"{toolchain.gxx_version}, {toolchain.gxx}"),
        ("clang (zig)", toolchain.zig and f"{toolchain.zig_version}, {toolchain.zig}"),
        ("ninja", toolchain.ninja and str(toolchain.ninja)),
    )
    for what, text in found:
        if text:
            yield Item(what, ok=True, found=text)
    if toolchain.stands_in:
        yield Item("headers of CUDA's libraries", ok=False, found="", advice=_STANDS_IN)


_STANDS_IN = (
    "Programs that call cuSPARSE, cuSOLVER or cuBLAS's rarer routines themselves can't be judged. "
    "Install a CUDA build of torch, or pip's nvidia-cublas, nvidia-cusparse and nvidia-cusolver."
)


def _gpu() -> Item:
    gpus = cuda_gpus()
    if gpus:
        return Item("GPU", ok=True, found=", ".join(gpus))
    advice = "Kernels run on the CPU simulator; no times are measured."
    return Item("GPU", ok=False, found=trouble(), advice=advice)


def _sandbox(options: Options) -> Item:
    try:
        best = sandbox.strongest(unsafe=options.unsafe_no_sandbox)
    except GraderError as error:
        return Item("sandbox", ok=False, found="", advice=str(error))
    lacks = f"not covered: {'; '.join(best.lacks)}" if best.lacks else ""
    return Item("sandbox", ok=True, found=best.name, advice=lacks)

"""BLD001: a helper of PyTorch or CUDA is used, and its header is not included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from grader.records import Context, Evidence, Finding, Place
from grader.rules.rule import Rule
from grader.source import Extension, Source, Unit
from grader.source.analysis.diagnostics import confirming, failures
from grader.source.analysis.library_headers import declared_in
from grader.source.code_edits import add_include, fix
from grader.source.cuda_code import around, cuda_code, text, units

EVERYTHING = ("ATen/native/cuda/", "ATen/cuda/detail/", "ATen/cuda/cub")
"""Folders of internal headers that bring in most others; where one is included, be silent."""
SPARSE = (
    "ATen/cuda/CUDASparse.h",
    "ATen/cuda/CUDASparseBlas.h",
    "ATen/cuda/CUDASparseDescriptors.h",
)
CONTEXT = (
    "ATen/cuda/CUDAContext.h", "ATen/cuda/CUDABlas.h", "ATen/cuda/CUDAEvent.h",
    "ATen/cuda/CUDAGraphsUtils.cuh", "ATen/cuda/CUDAApplyUtils.cuh", "ATen/cuda/ApplyGridUtils.cuh",
    "ATen/cuda/CUDAUtils.h", *SPARSE,
)  # fmt: skip
GUARD = (
    "c10/cuda/CUDAGuard.h", "ATen/cuda/CUDAEvent.h", "c10/cuda/CUDAEvent.h",
    "ATen/cuda/CUDAGraph.h", "ATen/cuda/CUDAGraphsUtils.cuh",
)  # fmt: skip
STREAM = (
    *CONTEXT, *GUARD, "c10/cuda/CUDAStream.h", "c10/cuda/CUDACachingAllocator.h",
    "c10/cuda/CUDAGraphsC10Utils.h", "ATen/cuda/CachingHostAllocator.h",
    "ATen/cuda/PinnedMemoryAllocator.h", "ATen/cuda/ThrustAllocator.h", "ATen/cuda/MemPool.h",
)  # fmt: skip
CHECKS = (
    *STREAM, "c10/cuda/CUDAException.h", "c10/cuda/CUDAFunctions.h", "ATen/cuda/Exceptions.h",
    "ATen/cuda/CUDAContextLight.h", "ATen/cuda/CUDADevice.h", "c10/cuda/CUDADeviceAssertion.h",
)  # fmt: skip


@dataclass(frozen=True)
class Header:
    """A header to include, the headers that do as well, and what it declares."""

    name: str
    enough: tuple[str, ...]
    declares: tuple[str, ...]


HEADERS = (
    Header(
        "ATen/cuda/CUDAContext.h",
        STREAM,
        ("getCurrentCUDAStream", "getStreamFromPool", "getDefaultCUDAStream", "CUDAStream",
         "setCurrentCUDAStream"),
    ),
    Header(
        "c10/cuda/CUDAException.h",
        CHECKS,
        ("C10_CUDA_CHECK", "C10_CUDA_KERNEL_LAUNCH_CHECK", "C10_CUDA_CHECK_WARN"),
    ),
    Header("ATen/cuda/Exceptions.h", (*CONTEXT, "ATen/cuda/CUDADevice.h"), ("AT_CUDA_CHECK",)),
    Header(
        "c10/cuda/CUDAGuard.h",
        GUARD,
        ("CUDAGuard", "OptionalCUDAGuard", "CUDAStreamGuard", "OptionalCUDAStreamGuard"),
    ),
    Header(
        "ATen/cuda/CUDAContext.h",
        (*CONTEXT, "ATen/cuda/CUDAContextLight.h"),
        ("getCurrentDeviceProperties", "getDeviceProperties", "getCurrentCUDABlasHandle",
         "getCurrentCUDASparseHandle"),
    ),
    Header(
        "ATen/cuda/CUDAGeneratorImpl.h",
        ("ATen/cuda/CUDAGraphsUtils.cuh",),
        ("CUDAGeneratorImpl", "PhiloxCudaState"),
    ),
    Header(
        "ATen/cuda/Atomic.cuh", ("THC/THCAtomics.cuh",), ("gpuAtomicAdd", "gpuAtomicAddNoReturn")
    ),
    Header("ATen/cuda/detail/KernelUtils.h", (), ("CUDA_KERNEL_LOOP",)),
    Header("cooperative_groups.h", ("cooperative_groups/reduce.h",), ("cooperative_groups",)),
    Header("mma.h", (), ("nvcuda", "wmma")),
    Header(
        "curand_kernel.h",
        ("curand.h",),
        ("curand_init", "curand_uniform", "curandStatePhilox4_32_10_t", "curandState"),
    ),
)  # fmt: skip
KINDS = ("no-member", "undefined-identifier", "type-not-allowed", "syntax")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the names that each file uses with the headers that it includes."""
    for extension in source.extensions:
        for texts in (extension.cuda, extension.cpp):
            for unit in texts:
                yield from _unit(unit, extension, texts, context)
    yield from _of_libraries(source, context)


def _of_libraries(source: Source, context: Context) -> Iterator[Finding]:
    """Name what the compiler misses of libraries, at the first line that needs each header."""
    placed = [(item, item.place) for item in failures(context, "compiler") if item.place]
    missed: dict[tuple[Unit, str], list[tuple[str, Place]]] = {}
    for item, place in placed:
        name, header = declared_in(item, source.lines[place.line - 1])
        unit = next((one for one in units(source) if _holds(one, place.line)), None)
        if header and unit and unit.resolved and header not in unit.includes:
            missed.setdefault((unit, header), []).append((name, place))
    for (unit, header), found in missed.items():
        lines = {place.line for _, place in found}
        evidence = tuple(item for item, place in placed if place.line in lines)
        names = tuple(dict.fromkeys(name for name, _ in found))
        yield _missing(unit, header, names, [place for _, place in found], evidence)


def _holds(unit: Unit, line: int) -> bool:
    end = len(unit.data)
    return unit.place_span(0, 0).line <= line <= unit.place_span(end, end).line


def _unit(
    unit: Unit, extension: Extension, texts: tuple[Unit, ...], context: Context
) -> Iterator[Finding]:
    included = {header for each in texts for header in each.includes}
    unresolved = not unit.resolved or any(header.startswith(EVERYTHING) for header in included)
    if unresolved or not extension.complete:
        return
    own = {name for each in texts for name in _defined(each)}
    for header in HEADERS:
        if header.name in included or included.intersection(header.enough):
            continue
        uses = [node for name in header.declares if name not in own for node in _uses(unit, name)]
        if uses:
            yield _finding(unit, header, sorted(uses, key=lambda node: node.start_byte), context)


def _finding(unit: Unit, header: Header, uses: list[Node], context: Context) -> Finding:
    names = tuple(dict.fromkeys(text(node) for node in uses))
    evidence = confirming(context, KINDS, names)
    return _missing(unit, header.name, names, [unit.place(node) for node in uses], evidence)


def _missing(
    unit: Unit,
    header: str,
    names: tuple[str, ...],
    places: list[Place],
    evidence: tuple[Evidence, ...],
) -> Finding:
    verb = "is" if len(names) == 1 else "are"
    return RULE.finding(
        places[0],
        f"{' and '.join(names[:3])} {verb} declared in {header}, which is not included, "
        f"so the build stops here; {_brought_by(header)} does not bring it in",
        evidence=evidence,
        fixes=fix(f"include {header}", [add_include(unit, header)], certain=True),
        names=list(names),
    )


def _brought_by(header: str) -> str:
    return "torch/extension.h" if header.startswith(("ATen", "c10")) else "CUDA"


def _uses(unit: Unit, name: str) -> Iterator[Node]:
    for node in cuda_code(unit).names.get(name, ()):
        if not any("preproc_if" in outer.type for outer in around(node)):
            yield node


def _defined(unit: Unit) -> set[str]:
    code = cuda_code(unit)
    return {
        text(node.child_by_field_name("name"))
        for node in code.of(
            "preproc_def",
            "preproc_function_def",
            "class_specifier",
            "struct_specifier",
            "alias_declaration",
        )
    } | {function.name for function in (*unit.functions, *unit.declarations)}


_BAD = """
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void k(float* p) { p[threadIdx.x] = 1.0f; }
torch::Tensor f(torch::Tensor x) {
    k<<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>());
    return x;
}
"""
RULE = Rule(
    code="BLD001",
    name="missing-torch-cuda-header",
    severity="error",
    summary="A helper of PyTorch or of a CUDA library is used but the header that declares it is not included, so nvcc stops.",
    why="torch/extension.h brings in tensors and pybind11, but neither streams nor CUDA's error checks. One include line puts it right; "
    "it is the most frequent single cause of failed builds.",
    bad=_BAD,
    good=_BAD.replace("cuda_runtime", "ATen/cuda/CUDAContext").replace(
        "    return", "    C10_CUDA_KERNEL_LAUNCH_CHECK();\n    return"
    ),
    detects=("text", "build"),
    languages=("cuda",),
    guards="Headers that bring in the needed one count, also those of another string of the same extension; so do own definitions of the "
    "name. Comments and `#if` blocks are left alone, and so are texts with parts that are only known at run time. Headers of "
    "Thrust, CUB, cuBLAS and the like are missed only where the compiler says so.",
    fix="Includes the header after the last include.",
    check=check,
)

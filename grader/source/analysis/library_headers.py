"""Which header declares a name of a library that neither torch's headers nor CUDA's runtime bring in."""

import re
from collections.abc import Iterable, Iterator, Mapping

from grader.records import Evidence
from grader.source.analysis.diagnostics import diagnostic_text, explain

SPACES = {
    "thrust": {
        "thrust/device_ptr.h": ("device_ptr", "device_pointer_cast", "raw_pointer_cast"),
        "thrust/device_vector.h": ("device_vector",),
        "thrust/host_vector.h": ("host_vector",),
        "thrust/execution_policy.h": ("device", "host", "seq"),
        "thrust/system/cuda/execution_policy.h": ("cuda",),
        "thrust/functional.h": ("plus", "multiplies", "maximum", "minimum", "greater", "less", "identity"),
        "thrust/extrema.h": ("max_element", "min_element", "minmax_element"),
        "thrust/distance.h": ("distance",),
        "thrust/reduce.h": ("reduce", "reduce_by_key"),
        "thrust/transform.h": ("transform",),
        "thrust/transform_reduce.h": ("transform_reduce",),
        "thrust/inner_product.h": ("inner_product",),
        "thrust/scan.h": ("inclusive_scan", "exclusive_scan", "inclusive_scan_by_key", "exclusive_scan_by_key"),
        "thrust/sort.h": ("sort", "sort_by_key", "stable_sort", "stable_sort_by_key"),
        "thrust/for_each.h": ("for_each", "for_each_n"),
        "thrust/fill.h": ("fill", "fill_n"),
        "thrust/copy.h": ("copy", "copy_n", "copy_if"),
        "thrust/sequence.h": ("sequence",),
        "thrust/iterator/counting_iterator.h": ("counting_iterator", "make_counting_iterator"),
        "thrust/iterator/transform_iterator.h": ("transform_iterator", "make_transform_iterator"),
        "thrust/iterator/zip_iterator.h": ("zip_iterator", "make_zip_iterator"),
    },
    "cooperative_groups": {
        "cooperative_groups/reduce.h": ("reduce", "reduce_update_async", "plus", "greater", "less"),
        "cooperative_groups/scan.h": ("inclusive_scan", "exclusive_scan"),
        "cooperative_groups/memcpy_async.h": ("memcpy_async", "wait", "wait_prior"),
    },
    "cuda": {
        "cuda/atomic": ("atomic", "atomic_ref", "thread_scope_device", "thread_scope_block"),
        "cuda/barrier": ("barrier", "memcpy_async", "aligned_size_t"),
        "cuda/pipeline": ("pipeline", "make_pipeline", "pipeline_shared_state"),
    },
    "std": {
        "limits": ("numeric_limits",),
        "algorithm": ("sort", "max_element", "min_element", "fill", "copy"),
        "numeric": ("accumulate", "iota", "inner_product"),
        "unordered_map": ("unordered_map",),
        "map": ("map",),
        "mutex": ("mutex", "lock_guard", "once_flag", "call_once"),
        "iostream": ("cout", "cerr", "endl"),
        "random": ("mt19937", "uniform_real_distribution", "normal_distribution"),
    },
}  # fmt: skip
"""Of each namespace: what each header declares."""
HELPERS: Mapping[str, tuple[str, ...]] = {
    "ATen/cuda/CUDAContext.h": (
        "getCurrentCUDAStream", "getStreamFromPool", "getDefaultCUDAStream", "setCurrentCUDAStream", "CUDAStream",
        "getCurrentDeviceProperties", "getDeviceProperties", "getCurrentCUDABlasHandle", "getCurrentCUDASparseHandle",
    ),
    "c10/cuda/CUDAException.h": ("C10_CUDA_CHECK", "C10_CUDA_KERNEL_LAUNCH_CHECK", "C10_CUDA_CHECK_WARN"),
    "ATen/cuda/Exceptions.h": ("AT_CUDA_CHECK",),
    "c10/cuda/CUDAGuard.h": ("CUDAGuard", "OptionalCUDAGuard", "CUDAStreamGuard", "OptionalCUDAStreamGuard"),
    "ATen/cuda/CUDAGeneratorImpl.h": ("CUDAGeneratorImpl", "PhiloxCudaState"),
    "ATen/cuda/Atomic.cuh": ("gpuAtomicAdd", "gpuAtomicAddNoReturn"),
    "ATen/cuda/detail/KernelUtils.h": ("CUDA_KERNEL_LOOP",),
    "cooperative_groups.h": ("cooperative_groups",),
    "mma.h": ("nvcuda", "wmma"),
    "curand_kernel.h": ("curand_init", "curand_uniform", "curandStatePhilox4_32_10_t", "curandState"),
}  # fmt: skip
"""Helpers that answers use most, by the header that declares them: what the text alone foretells."""
_FAMILIES = (
    ("ATen/cuda", "c10/cuda", "ATen/native/cuda", "THC/"),
    ("cooperative_groups",),
    ("mma",),
    ("curand",),
)
"""How the headers of one library begin: where one of them is included, it may bring in the others."""
WHOLE = {"cub": "cub/cub.cuh", "torch": "torch/extension.h", "at": "torch/extension.h"}
"""Libraries with one header for all."""
PLAIN = (
    (re.compile(r"(?:FLT|DBL)_(?:MAX|MIN|EPSILON)"), "cfloat"),
    (re.compile(r"U?INT_MAX|INT_MIN"), "climits"),
    (re.compile(r"printf"), "cstdio"),
    (re.compile(r"assert"), "cassert"),
    (re.compile(r"(?:cublas|CUBLAS_)\w+"), "cublas_v2.h"),
    (re.compile(r"(?:cudnn|CUDNN_)\w+"), "cudnn.h"),
    (re.compile(r"(?:cusparse|CUSPARSE_)\w+"), "cusparse.h"),
    (re.compile(r"(?:cufft|CUFFT_)\w+"), "cufft.h"),
    (re.compile(r"curand(?:Generator|Create|Generate|Set|Destroy)\w*|CURAND_RNG_\w+"), "curand.h"),
    (re.compile(r"nvtx[A-Z]\w+"), "nvtx3/nvToolsExt.h"),
    (re.compile(r"__pipeline_\w+"), "cuda_pipeline.h"),
    (re.compile(r"CUDART_\w+"), "math_constants.h"),
)
"""Names in no namespace."""
_SCOPE = re.compile(r"\b(\w+)\s*::\s*\w+")


def missing_helpers(included: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the helpers that no included header can declare, each with the header that does."""
    near = tuple(start for family in _FAMILIES for start in family
                 if any(header.startswith(family) for header in included))  # fmt: skip
    for header, names in HELPERS.items():
        if not (near and header.startswith(near)):
            yield from ((name, header) for name in names)


def declared_in(item: Evidence, line: str) -> tuple[str, str]:
    """Return the name that a compiler misses on this line of code, and the header that declares it; "" for none."""
    meaning = explain(diagnostic_text(item))
    if meaning is not None and meaning.kind == "no-member":
        return _member(meaning.names)
    if meaning is not None and meaning.kind == "undefined-identifier":
        return meaning.names[0], _plain(meaning.names[0])
    if '"::"' not in diagnostic_text(item) and "qualified name" not in diagnostic_text(item):
        return "", ""
    space = next((found for found in _SCOPE.findall(line) if found in WHOLE), "")
    return space, WHOLE.get(space, "")


def _member(names: tuple[str, ...]) -> tuple[str, str]:
    for space, name in (names, reversed(names)):
        if space in WHOLE:
            return f"{space}::{name}", WHOLE[space]
        for header, declares in SPACES.get(space, {}).items():
            if name in declares:
                return f"{space}::{name}", header
    for name in reversed(names):
        if _helper(name):
            return name, _helper(name)
    return "", ""


def _plain(name: str) -> str:
    matches = (header for pattern, header in PLAIN if pattern.fullmatch(name))
    return _helper(name) or WHOLE.get(name, "") or next(matches, "")


def _helper(name: str) -> str:
    return next((header for header, names in HELPERS.items() if name in names), "")

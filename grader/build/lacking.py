"""Headers and libraries of every CUDA toolkit that are missing here: the machine's fault, not the sample's.

A log may contain anything that the submission printed, so it proves nothing alone: a header that it reports missing
must be missing here, and included by the submission's text or by an installed header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from grader.build.installed import STAND_INS
from grader.build.toolchain import Toolchain

_HEADERS = {
    "nvidia-cublas": r"cublas(?:_v2|_api|Lt|Xt)?|nvblas",
    "nvidia-cusparse": r"cusparse(?:_v2)?",
    "nvidia-cusolver": r"cusolver(?:Dn|Sp|Rf|Mg|_common|Sp_LOWLEVEL_PREVIEW)",
    "nvidia-curand": r"curand(?:_(?:kernel|globals|uniform|normal|normal_static|lognormal|poisson|precalc|discrete2?"
    r"|mrg32k3a|philox4x32_x|mtgp32(?:_host|_kernel|dc_p_11213)?))?",
    "nvidia-cufft": r"cufft(?:Xt|w)?|cudalibxt",
    "nvidia-cuda-nvrtc": r"nvrtc",
    "nvidia-nvtx": r"(?:nvtx3/)?nvToolsExt(?:Cuda(?:Rt)?|OpenCL|Sync|Meta|Mem|MemCudaRt|Payload|Counters)?|nvtx3/nvtx3",
    "nvidia-cuda-cupti": r"cupti(?:_(?:activity|callbacks|checkpoint|common|events|metrics|result|version|target"
    r"|profiler_target|range_profiler|pcsampling|(?:driver|runtime|nvtx)_cbid))?",
    "nvidia-npp": r"npp(?:core|defs|i|s)?|npp[is]_(?:(?:filtering|statistics|support|conversion)_functions"
    r"|(?:arithmetic_and_logical|morphological|threshold_and_compare)_operations|(?:geometry|linear)_transforms"
    r"|color_conversion|data_exchange_and_initialization|initialization)",
    "nvidia-nvjpeg": r"nvjpeg",
    "nvidia-cudnn-cu13": r"cudnn(?:_(?:version|graph|ops|cnn|adv|backend))?(?:_v9)?|cudnn_(?:ops|cnn|adv)_(?:infer|train)",
}
"""The headers of CUDA's libraries, by pip's package of each: names that models invent are not among them."""
_LIBRARIES = {
    "cublas": "nvidia-cublas",
    "cusparse": "nvidia-cusparse",
    "cusolver": "nvidia-cusolver",
}
"""Prefixes of the names that our stand-ins declare in part."""
_NOT_FOUND = re.compile(
    r"fatal error: (\S+?): No such file|cannot open source file \"(\S+?)\"|'(\S+?)' file not found"
)
_UNDEFINED = re.compile(r"undefined symbol: \w*?(?:3c104cuda|2at4cuda)")
_OF_TORCH = re.compile(r"\bc10\b|\bat::|ATen/|\b(?:AT|C10|TORCH)_CUDA")
_INCLUDED = re.compile(r"#\s*include\s*[<\"]([^>\"\s]+)[>\"]")
_STOOD_IN = re.compile(r"\b(?:cu(?:blas|sparse|solver)\w+|CU(?:BLAS|SPARSE|SOLVER)_\w+)")

_ROUTINES = (
    "amax amin asum axpy copy dot dotu dotc nrm2 rot rotg rotm rotmg scal swap gbmv gemv ger geru gerc sbmv spmv spr "
    "spr2 symv syr syr2 tbmv tbsv tpmv tpsv trmv trsv hemv hbmv hpmv her her2 hpr hpr2 gemm gemm3m hemm herk her2k "
    "herkx symm syrk syr2k syrkx trmm trsm geam dgmm tpttr trttp getrf getrs getri matinv geqrf gels"
).replace(" ", "|")
_CUBLAS = re.compile(
    rf"cublas(?:I?[SDCZH]{{0,3}}(?i:{_ROUTINES})(?:Strided|Grouped|Batched|Ex|3m|_v2|_64)*"
    r"|(?:Create|Destroy|Init|Shutdown|Alloc|Free|Xerbla)(?:_v2)?|(?:Get|Set|Logger)\w+|(?:Lt|Xt)[A-Z]\w+"
    r"|\w+_t|Context)"
)
"""How cuBLAS names things (cuBLAS library documentation, chapters 2 to 5): names that models make up are not among them."""


def say_what_lacks(log: str, code: str, toolchain: Toolchain) -> str:
    """Return a sentence on the header or library that a failed build lacked on this machine; empty if none.

    `log` is what the compilers printed, `code` the submission. Every CUDA toolkit, or the cuDNN that
    torch asks for beside it, has these headers, but pip's compiler comes without, so that the failure
    says nothing about the submission.
    """
    if not toolchain.torch_cuda and _UNDEFINED.search(log) and _OF_TORCH.search(code):
        return "This machine's torch is a CPU build without CUDA's part: install a CUDA build."
    folders = (*toolchain.cuda_includes, *toolchain.library_includes)
    for name in _not_found(log, code, toolchain):
        if any((folder / name).is_file() for folder in folders if folder != STAND_INS):
            continue
        if package := _package_of_header(name):
            return f"This machine lacks CUDA's header {name}: install {package} with pip."
    for name in _not_stood_in(log, code) if toolchain.stands_in else ():
        return f"This machine has no {name} to build with: install {_package_of(name)} with pip."
    return ""


def _package_of_header(name: str) -> str:
    stem, dot, kind = name.rpartition(".")
    found = (package for package, stems in _HEADERS.items() if re.fullmatch(stems, stem))
    return next(found, "") if dot and kind in {"h", "hpp"} else ""


def _package_of(name: str) -> str:
    return next((p for start, p in _LIBRARIES.items() if name.lower().startswith(start)), "")


def _not_found(log: str, code: str, toolchain: Toolchain) -> Iterator[str]:
    """Yield the headers that were not found and that something there includes indeed."""
    asked = set(_INCLUDED.findall(code))
    for line in log.splitlines():
        for groups in _NOT_FOUND.findall(line):
            name = "".join(groups)
            if name in asked or name in _asked_by_header(line, toolchain):
                yield name


def _asked_by_header(line: str, toolchain: Toolchain) -> set[str]:
    """Return what the header includes that a compiler's message is about; of installed ones only."""
    path = Path(re.split(r"[:(]", line, maxsplit=1)[0])
    folders = (*toolchain.torch_includes, *toolchain.cuda_includes)
    if not any(path.is_relative_to(folder) for folder in folders) or ".." in path.parts:
        return set()
    return set(_INCLUDED.findall(path.read_text("utf-8", "replace"))) if path.is_file() else set()


def _not_stood_in(log: str, code: str) -> Iterator[str]:
    """Yield the names of libraries that the code uses, a tool stumbled on, and our stand-ins lack."""
    used = set(_STOOD_IN.findall(code))
    for line in log.splitlines():
        if "error" in line or "undefined" in line:
            found = (n for n in _STOOD_IN.findall(line) if n in used - _stood_in())
            yield from (n for n in found if not n.startswith("cublas") or _CUBLAS.fullmatch(n))


@cache
def _stood_in() -> frozenset[str]:
    headers = (path.read_text("utf-8") for path in STAND_INS.glob("*.h"))
    return frozenset(name for text in headers for name in _STOOD_IN.findall(text))

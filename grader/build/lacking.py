"""Headers of CUDA's toolkit that a build asked for in vain: the machine's gap, not the sample's."""

from __future__ import annotations

import re

from grader.build.toolchain import STAND_INS, Toolchain

_PACKAGES = {
    "cublas": "nvidia-cublas",
    "cusparse": "nvidia-cusparse",
    "cusolver": "nvidia-cusolver",
    "curand": "nvidia-curand",
    "cufft": "nvidia-cufft",
    "nvrtc": "nvidia-cuda-nvrtc",
    "nvToolsExt": "nvidia-nvtx",
    "nvtx3/": "nvidia-nvtx",
    "cupti": "nvidia-cuda-cupti",
    "npp": "nvidia-npp",
    "nvjpeg": "nvidia-nvjpeg",
}
"""What the names of the toolkit's library headers start with, and the pip package of each."""
_NOT_FOUND = re.compile(
    r"fatal error: (\S+?): No such file|cannot open source file \"(\S+?)\"|'(\S+?)' file not found"
)
_UNDEFINED = re.compile(r"undefined symbol: \w*?(?:3c104cuda|2at4cuda)")
_INCLUDED = re.compile(r"#\s*include\s*[<\"]([^>\"\s]+)[>\"]")
_STOOD_IN = ("cublas", "cusparse", "cusolver")


def lacking(log: str, code: str, toolchain: Toolchain) -> str:
    """Return a sentence on what a failed build lacked on this machine; empty if nothing.

    `log` is what the compilers printed, `code` the submission. Every CUDA toolkit has these headers,
    but pip's compiler comes without, so that the failure says nothing about the submission.
    """
    if not toolchain.torch_cuda and _UNDEFINED.search(log):
        return "This machine's torch is a CPU build without CUDA's part: install a CUDA build."
    missed = ["".join(groups) for groups in _NOT_FOUND.findall(log)]
    if toolchain.stands_in:
        missed += [name for name in _INCLUDED.findall(code) if name.startswith(_STOOD_IN)]
    folders = (*toolchain.cuda_includes, *toolchain.library_includes)
    for name in missed:
        if any((folder / name).is_file() for folder in folders if folder != STAND_INS):
            continue
        package = next((p for start, p in _PACKAGES.items() if name.startswith(start)), None)
        if package is not None:
            return f"This machine lacks CUDA's header {name}: install {package} with pip."
    return ""

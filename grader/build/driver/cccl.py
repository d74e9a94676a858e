"""CCCL in host code: thrust, and cub's algorithms over a whole device, which launch kernels of their own.

Most programs use cub only in their kernels, which are blank in the host pass. For the others the host pass includes
CCCL itself with its device functions, and clang reports one only where host code would call it.
"""

from __future__ import annotations

import re
from pathlib import Path

from grader.build.driver.config import Config

_USED_BY_HOST = re.compile(
    r"^\s*#\s*include\s*[<\"](?:thrust|cub/(?:device|iterator))/|\bcub::(?:Device|\w+Iterator\b|DoubleBuffer\b)",
    re.MULTILINE,
)
_INCLUDED = re.compile(r"^\s*#\s*include\s*[<\"]cub/", re.MULTILINE)


def ways(text: str) -> tuple[bool, ...]:
    """Return the settings to try in turn, until clang accepts one: whether the host pass includes CCCL itself."""
    if _USED_BY_HOST.search(text):
        return (True,)
    return (False, True) if _INCLUDED.search(text) else (False,)


def flags(config: Config, arch: str) -> list[str]:
    """Return clang's flags for CCCL, whose namespaces contain nvcc's target architecture."""
    roots = (
        path
        for path in [*config.cuda_includes, *config.library_includes]
        if Path(path, "cub", "cub.cuh").is_file()
    )
    digits = "".join(filter(str.isdigit, arch))
    return [
        "-fgpu-defer-diag",
        f"-D__CUDA_ARCH_LIST__={digits}0",
        "-include",
        f"{config.stubs}/cccl/device_names.h",
        *("-isystem", f"{config.stubs}/cccl"),
        *(part for root in list(roots)[:1] for part in ("-isystem", root)),
    ]

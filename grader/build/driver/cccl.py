"""CCCL in host code: thrust, and cub's algorithms over a whole device, which launch kernels of their own.

Most programs use cub in their kernels alone, and the host pass, in which these are blank, needs nothing of it. The others read
CCCL itself, whose device functions stay in it: clang is to complain of one only where host code would call it.
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
    """Return whether the host pass reads CCCL itself: each way in turn until clang agrees."""
    if _USED_BY_HOST.search(text):
        return (True,)
    return (False, True) if _INCLUDED.search(text) else (False,)


def flags(config: Config, arch: str) -> list[str]:
    """Return what clang is told where it reads CCCL, whose namespaces name the architecture that nvcc compiles for."""
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

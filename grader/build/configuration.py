"""The compiler drivers' configuration for this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from grader.build.driver.config import Config
from grader.build.programs import programs
from grader.build.toolchain import Toolchain

STUBS = Path(__file__).resolve().parent / "stubs"


def configuration(
    toolchain: Toolchain,
    folder: Path,
    device: str,
    mode: str,
    *,
    precompiled: Iterable[str] = (),
    libraries: Iterable[Path | None] = (),
) -> Config:
    """Return the drivers' configuration for this device and mode.

    `folder` is the prepared one; `libraries` are the simulator's; None for a missing one.
    """
    includes = toolchain.torch_includes
    dispatch = includes[0] / "ATen" / "Dispatch.h"
    python_folders = [Path(sys.base_prefix), Path(sys.prefix), toolchain.python_include]
    home = toolchain.cuda_home or Path("/usr/local/cuda")
    return Config(
        device=device,
        mode=mode,
        prepared=str(folder),
        programs=str(programs(folder, toolchain)),
        stubs=str(STUBS),
        nvcc=str(toolchain.nvcc),
        ptxas=str(toolchain.ptxas),
        fatbinary=str(toolchain.fatbinary),
        gxx=str(toolchain.gxx),
        zig=str(toolchain.zig) if toolchain.zig else None,
        cuda_includes=[str(p) for p in toolchain.cuda_includes],
        library_includes=[str(p) for p in toolchain.library_includes],
        torch_includes=[str(p) for p in includes],
        system_includes=[str(p) for p in toolchain.system_includes],
        python_include=str(toolchain.python_include),
        libraries=[str(path) for path in libraries if path is not None],
        cudart=str(toolchain.cudart) if toolchain.cudart else None,
        precompiled=list(precompiled),
        dispatch_takes_type="DeprecatedTypeProperties"
        in dispatch.read_text("utf-8", "replace").split("#define", 1)[0],
        standard=toolchain.cpp_standard,
        triton_tools=str(toolchain.triton_tools) if toolchain.triton_tools else None,
        allowed=[str(p) for p in (toolchain.torch, home, home.resolve(), *python_folders) if p],
    )

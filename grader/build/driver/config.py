"""The drivers' configuration, written by `prepare`."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VARIABLE = "KERNEL_GRADER_BUILD"
"""Environment variable with the path of the configuration."""


@dataclass(frozen=True)
class Config:
    """Tools and prepared files, for one device and mode."""

    device: str
    """`sim` or `cuda`."""
    mode: str
    """`fast`; `draft`: the quick compilers alone decide; `exact`: a draft whose math functions keep their names;
    `literal`: a draft without optimisation; `stock`: the plain compilers and headers."""
    prepared: str
    """Folder of precompiled headers, copies and extracted declarations."""
    programs: str
    """Folder of the compiler drivers and of the linker."""
    stubs: str
    nvcc: str
    ptxas: str
    fatbinary: str
    gxx: str
    zig: str | None
    cuda_includes: list[str]
    library_includes: list[str]
    torch_includes: list[str]
    system_includes: list[str]
    python_include: str
    libraries: list[str]
    """Libraries that extensions link on the simulator in place of CUDA's and torch's CUDA libraries."""
    cudart: str | None
    precompiled: list[str]
    """Names of the precompiled headers that are ready: types, extension, main."""
    dispatch_takes_type: bool
    """Whether this torch's AT_DISPATCH still takes `x.type()`."""
    allowed: list[str]
    """Folders that a build may read from."""
    triton_tools: str | None = None
    """Folder of the assemblers that come with Triton."""

    standard: str = "c++20"
    """The C++ standard that the headers are precompiled in: torch's own."""

    def path(self, *parts: str) -> str:
        """Return a path inside the prepared folder."""
        return str(Path(self.prepared, *parts))

    def read_json(self, name: str) -> Any:
        """Return a prepared JSON file."""
        return json.loads(Path(self.path(name)).read_text("utf-8"))


def load() -> Config:
    """Read the configuration file named in the environment."""
    return Config(**json.loads(Path(os.environ[VARIABLE]).read_text("utf-8")))

"""The machine's compilers and libraries, found without importing torch."""

from __future__ import annotations

import re
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.build import installed
from grader.build.tool_queries import output, search


@dataclass(frozen=True)
class Missing:
    """A missing tool: the consequence, and how to install it."""

    what: str
    costs: str
    hint: str


@dataclass(frozen=True)
class Toolchain:
    """Compilers, headers and libraries of one machine; None for a missing one."""

    python: Path
    """The interpreter that has torch; guests run with it."""
    python_include: Path
    torch: Path | None
    """torch's package folder."""
    torch_version: str
    torch_cuda: str | None
    """The CUDA version that torch was built for; None for a CPU-only wheel."""
    nvcc: Path | None
    nvcc_version: str
    cuda_home: Path | None
    cuda_includes: tuple[Path, ...]
    """Header folders of nvcc's own toolkit, in order."""
    library_includes: tuple[Path, ...]
    """Folders with headers of cuBLAS, cuSPARSE, cuSOLVER and the like, if not in the toolkit."""
    cudart: Path | None
    gxx: Path | None
    gxx_version: str
    system_includes: tuple[Path, ...]
    """g++'s own search path, its compiler-private folder left out."""
    zig: Path | None
    zig_version: str
    ninja: Path | None
    missing: tuple[Missing, ...]
    triton_version: str = ""
    """Triton's version; empty without Triton."""
    triton_tools: Path | None = None
    """Folder of the assemblers that Triton brings along."""

    @property
    def triton(self) -> dict[str, str]:
        """Return the review's environment entry for Triton; empty without it."""
        return {"triton": self.triton_version} if self.triton_version else {}

    @property
    def ptxas(self) -> Path | None:
        """NVIDIA's assembler beside nvcc."""
        return self._beside("ptxas")

    @property
    def fatbinary(self) -> Path | None:
        """NVIDIA's packer beside nvcc."""
        return self._beside("fatbinary")

    def _beside(self, name: str) -> Path | None:
        path = self.cuda_home / "bin" / name if self.cuda_home else None
        return path if path and path.is_file() else None

    @property
    def torch_includes(self) -> tuple[Path, ...]:
        """Torch's two include folders."""
        if self.torch is None:
            return ()
        include = self.torch / "include"
        return include, include / "torch" / "csrc" / "api" / "include"

    @property
    def cpp_standard(self) -> str:
        """The C++ standard that this torch builds extensions in, e.g. `c++20`."""
        return _cpp_standard(self.torch)

    @property
    def stands_in(self) -> bool:
        """Whether our own headers replace those of cuBLAS, cuSPARSE and cuSOLVER."""
        return installed.STAND_INS in self.library_includes

    @property
    def builds(self) -> bool:
        """Whether submissions with kernels can be compiled at all."""
        return bool(self.torch and self.nvcc and self.gxx and self.ninja)


@cache
def _cpp_standard(torch: Path | None) -> str:
    path = torch / "utils" / "cpp_extension.py" if torch else None
    text = path.read_text("utf-8", "replace") if path and path.is_file() else ""
    named = re.findall(r"'-std=(c\+\+\d+)'", text)
    return max(set(named), key=named.count) if named else "c++20"


@cache
def discover() -> Toolchain:
    """Search for everything once in a process; never raises, `.missing` lists what is absent."""
    torch, torch_version, torch_cuda = installed.torch()
    nvcc = installed.nvcc()
    home = nvcc.parent.parent if nvcc else None
    triton_version, triton_tools = installed.triton()
    gxx = installed.path("g++")
    zig = installed.zig()
    # This environment's own first: another one would make another toolchain, and prepare it anew.
    ninja = installed.inside("ninja", "data/bin/ninja", "../../../../bin/ninja")
    ninja = ninja or installed.path("ninja")
    found = {"torch": torch, "nvcc": nvcc, "g++": gxx, "ninja": ninja, "zig": zig}
    return Toolchain(
        python=Path(sys.executable),
        python_include=Path(sysconfig.get_path("include")),
        torch=torch,
        torch_version=torch_version,
        torch_cuda=torch_cuda,
        nvcc=nvcc,
        nvcc_version=search(r"release [\d.]+, V([\d.]+)", output(nvcc, "--version")),
        cuda_home=home,
        cuda_includes=installed.cuda_includes(home),
        library_includes=installed.library_includes(home),
        cudart=installed.cudart(home),
        gxx=gxx,
        gxx_version=output(gxx, "-dumpfullversion").strip(),
        system_includes=installed.system_includes(gxx),
        zig=zig,
        zig_version=search(r"clang version ([\d.]+)", output(zig, "clang", "--version")),
        ninja=ninja,
        missing=tuple(_MISSING[name] for name, path in found.items() if path is None),
        triton_version=triton_version,
        triton_tools=triton_tools,
    )


_MISSING = {
    "torch": Missing("torch", "nothing can be built or run", "Install PyTorch: pip install torch."),
    "nvcc": Missing(
        "nvcc",
        "no submission with kernels can be compiled",
        "Install it from pip: pip install nvidia-cuda-nvcc nvidia-cuda-crt nvidia-cuda-cccl "
        "nvidia-cuda-runtime nvidia-nvvm.",
    ),
    "g++": Missing(
        "g++",
        "no extension can be compiled or linked",
        "Install a C++ compiler, e.g. apt install g++.",
    ),
    "ninja": Missing("ninja", "torch refuses to build extensions", "Run pip install ninja."),
    "zig": Missing(
        "clang of the ziglang package",
        "each build takes about a minute instead of two seconds",
        "Run pip install ziglang.",
    ),
}

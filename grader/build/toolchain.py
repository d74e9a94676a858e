"""What this machine has to compile with: found by looking, without importing torch."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Missing:
    """A tool that isn't there: what its absence costs, and what would help."""

    what: str
    costs: str
    hint: str


@dataclass(frozen=True)
class Toolchain:
    """Compilers, headers and libraries of one machine; None where there is none."""

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
    """Of nvcc's own toolkit, in order."""
    library_includes: tuple[Path, ...]
    """Where headers of cuBLAS, cuSPARSE, cuSOLVER and the like are, if not in the toolkit."""
    cudart: Path | None
    gxx: Path | None
    gxx_version: str
    system_includes: tuple[Path, ...]
    """g++'s own search path, its compiler-private folder left out."""
    zig: Path | None
    zig_version: str
    ninja: Path | None
    missing: tuple[Missing, ...]

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
        """Whether headers of ours stand in for those of cuBLAS, cuSPARSE and cuSOLVER."""
        return STAND_INS in self.library_includes

    @property
    def builds(self) -> bool:
        """Whether submissions with kernels can be compiled at all."""
        return bool(self.torch and self.nvcc and self.gxx and self.ninja)


STAND_INS = Path(__file__).resolve().parent / "stubs" / "libraries"


@cache
def _cpp_standard(torch: Path | None) -> str:
    path = torch / "utils" / "cpp_extension.py" if torch else None
    text = path.read_text("utf-8", "replace") if path and path.is_file() else ""
    named = re.findall(r"'-std=(c\+\+\d+)'", text)
    return max(set(named), key=named.count) if named else "c++20"


@cache
def discover() -> Toolchain:
    """Look for everything once a process; never raises, `.missing` says what isn't there."""
    torch, torch_version, torch_cuda = _torch()
    nvcc = _nvcc()
    home = nvcc.parent.parent if nvcc else None
    gxx = _path("g++")
    zig = _zig()
    ninja = _path("ninja") or _inside("ninja", "data/bin/ninja", "../../../../bin/ninja")
    found = {"torch": torch, "nvcc": nvcc, "g++": gxx, "ninja": ninja, "zig": zig}
    return Toolchain(
        python=Path(sys.executable),
        python_include=Path(sysconfig.get_path("include")),
        torch=torch,
        torch_version=torch_version,
        torch_cuda=torch_cuda,
        nvcc=nvcc,
        nvcc_version=_search(r"release [\d.]+, V([\d.]+)", output(nvcc, "--version")),
        cuda_home=home,
        cuda_includes=_cuda_includes(home),
        library_includes=_library_includes(home),
        cudart=_cudart(home),
        gxx=gxx,
        gxx_version=output(gxx, "-dumpfullversion").strip(),
        system_includes=_system_includes(gxx),
        zig=zig,
        zig_version=_search(r"clang version ([\d.]+)", output(zig, "clang", "--version")),
        ninja=ninja,
        missing=tuple(_MISSING[name] for name, path in found.items() if path is None),
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


_FOR_COMPILERS = frozenset({
    "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "LANGUAGE",
})  # fmt: skip


def environment_of_tools() -> dict[str, str]:
    """Return this process's variables as compilers get them here, and as in guests: none is for them.

    What is looked for in their words is English.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _FOR_COMPILERS}
    return {**kept, "LC_ALL": "C"}


def output(tool: Path | None, *arguments: str) -> str:
    """Return what the tool prints on both streams; empty where it can't be run."""
    if tool is None:
        return ""
    try:
        done = subprocess.run(
            [tool, *arguments],
            capture_output=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
            env=environment_of_tools(),
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def _search(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match.group(1) if match else ""


def _path(name: str) -> Path | None:
    beside = Path(sys.executable).parent / name
    found = shutil.which(name) or (str(beside) if os.access(beside, os.X_OK) else None)
    return Path(found) if found else None


def _inside(package: str, *relative: str) -> Path | None:
    """Return a file inside an installed package's folder."""
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for name in relative:
            path = (Path(folder) / name).resolve()
            if path.is_file():
                return path
    return None


def _torch() -> tuple[Path | None, str, str | None]:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None, "", None
    folder = Path(spec.origin).parent
    version = folder / "version.py"
    text = version.read_text("utf-8") if version.is_file() else ""
    cuda = _search(r"(?m)^cuda\b[^=]*= *'([\d.]+)'", text)
    return folder, _search(r"(?m)^__version__ *= *'([^']+)'", text), cuda or None


def _site_folders() -> list[Path]:
    """Return the folders that hold installed packages, of pip's `nvidia` namespace above all."""
    return [Path(p) for p in dict.fromkeys(sys.path) if p and (Path(p) / "nvidia").is_dir()]


def _nvcc() -> Path | None:
    """Return the real nvcc: from CUDA_HOME, the PATH, the usual place, or pip's package."""
    candidates = [
        Path(home) / "bin" / "nvcc"
        for name in ("CUDA_HOME", "CUDA_PATH")
        if (home := os.environ.get(name))
    ]
    if on_path := shutil.which("nvcc"):
        candidates.append(Path(on_path))
    candidates.append(Path("/usr/local/cuda/bin/nvcc"))
    for site in _site_folders():
        candidates += sorted(site.glob("nvidia/cu*/bin/nvcc"), reverse=True)
        candidates += sorted(site.glob("nvidia/cuda_nvcc/bin/nvcc"))
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return _behind_wrapper(candidate)
    return None


def _behind_wrapper(nvcc: Path) -> Path:
    """Follow links and wrapper scripts to the nvcc that has its toolkit beside it."""
    here = _search(r"_HERE_=(\S+)", output(nvcc, "--dryrun", "-E", "-x", "cu", "/dev/null"))
    real = Path(here) / "nvcc" if here else nvcc
    return real.resolve() if real.is_file() else nvcc.resolve()


def _cuda_includes(home: Path | None) -> tuple[Path, ...]:
    if home is None:
        return ()
    targets = sorted(home.glob("targets/*-linux/include"))
    roots = [home / "include", *targets]
    found = [r for root in roots for r in (root, root / "cccl") if r.is_dir()]
    return tuple({path.resolve(): path for path in reversed(found)}.values())[::-1]


def _library_includes(home: Path | None) -> tuple[Path, ...]:
    """Return pip's folders with cuBLAS, cuDNN and the like, where the toolkit has no such headers.

    Torch's own CUDA headers name the types of some of them: where nothing has these, stand-ins do.
    """
    toolkit = home / "include" if home else None
    folders: list[Path] = []
    if toolkit is None or not (toolkit / "cusparse.h").is_file():
        folders = _pip_includes("cusparse.h", "cublas_v2.h", "cusolverDn.h")
        found = any((folder / "cusparse.h").is_file() for folder in folders)
        folders += [] if found else [STAND_INS]
    if toolkit is None or not (toolkit / "cudnn.h").is_file():
        folders += _pip_includes("cudnn.h")
    return tuple(dict.fromkeys(folders))


def _pip_includes(*names: str) -> list[Path]:
    return [
        header.parent
        for site in _site_folders()
        for name in names
        for header in sorted(site.glob(f"nvidia/*/include/{name}"))
    ]


def _cudart(home: Path | None) -> Path | None:
    folders = [home / "lib64", home / "lib"] if home else []
    for site in _site_folders():
        folders += sorted(site.glob("nvidia/*/lib"))
    for folder in folders:
        for name in sorted(folder.glob("libcudart.so*")):
            return name
    return None


def _system_includes(gxx: Path | None) -> tuple[Path, ...]:
    text = output(gxx, "-E", "-v", "-x", "c++", "/dev/null")
    block = _search(
        r"(?s)search starts here:\n(?:#include <...> search starts here:\n)?(.*?)End of", text
    )
    paths = [Path(line.strip()) for line in block.splitlines() if line.startswith(" /")]
    own = re.compile(r"/lib/gcc[^/]*/.*/include(-fixed)?$")
    return tuple(p.resolve() for p in paths if not own.search(str(p)))


def _zig() -> Path | None:
    return _inside("ziglang", "zig") or _path("zig")

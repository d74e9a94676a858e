"""A building guest's environment: variables that torch reads, and paths that are visible."""

from __future__ import annotations

import json
import os
import re
import threading
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from grader.build.configuration import configuration
from grader.build.driver import config
from grader.build.prepare import Prepared
from grader.build.programs import assemblers, programs
from grader.build.readable import open_to_guests
from grader.build.tool_queries import output
from grader.build.toolchain import Toolchain
from grader.records import digest
from grader.sandbox.interpreter import SYSTEM

DeviceKind = str
"""A device's name; all but `cuda` get code for the simulator."""
Mode = Literal["fast", "draft", "exact", "literal", "stock"]
"""`draft` is `fast` without the stock compilers' check of failures; `exact` is a draft whose math functions keep their
names; `literal` is a draft whose device code is not optimised, so that each operation of the text is an instruction."""
_PLAIN = re.compile(r"[\w./+@%,=-]+")
DEFAULT_ARCH = "9.0"
"""Compute capability to build for where there is no GPU: Hopper's."""


@dataclass(frozen=True)
class Environment:
    """Variables and read-only paths of a building (and later running) guest."""

    variables: dict[str, str]
    read_only: tuple[Path, ...]


def environment(
    prepared: Prepared,
    device: DeviceKind,
    mode: Mode = "fast",
    arch: str | None = None,
    jobs: int = 2,
) -> Environment:
    """Return the environment of a guest for this device and mode.

    `arch` is a compute capability such as `9.0`; `jobs` bounds the compilers that run at once.
    """
    toolchain = prepared.toolchain
    variables = {
        "TORCH_CUDA_ARCH_LIST": arch or DEFAULT_ARCH,
        "MAX_JOBS": str(jobs),
        "TORCH_NO_COMPILER_WRAPPER": "1",
        "CUDA_HOME": str(toolchain.cuda_home),
        "PATH": _search_path(prepared),
    }
    if device == "cuda":
        variables["TRITON_PRINT_AUTOTUNING"] = "1"
    if device == "cuda" and mode == "stock":
        variables |= _stock_variables(prepared)
    else:
        drivers = programs(prepared.folder, toolchain)
        settings = _write_configuration(prepared, device, mode)
        variables |= {
            "PYTORCH_NVCC": str(drivers / "kg-nvcc"),
            "CXX": str(drivers / "kg-g++"),
            config.VARIABLE: str(settings),
            **_assemblers(drivers, toolchain),
        }
        if not _PLAIN.fullmatch(str(drivers)):
            # Torch writes these words into a ninja file unescaped.
            path = os.pathsep.join((str(drivers), variables["PATH"]))
            variables |= {"PYTORCH_NVCC": "kg-nvcc", "CXX": "kg-g++", "PATH": path}
    return Environment(variables, read_only(prepared))


def _assemblers(drivers: Path, toolchain: Toolchain) -> dict[str, str]:
    """Return the variables that make Triton call our drivers in place of its assemblers."""
    return {
        f"TRITON_{tool.name.upper().replace('-', '_')}_PATH": str(drivers / f"kg-{tool.name}")
        for tool in assemblers(toolchain)
    }


def read_only(prepared: Prepared) -> tuple[Path, ...]:
    """Return every folder that the compilers read, and the libraries that extensions load."""
    toolchain = prepared.toolchain
    package = Path(__file__).resolve().parents[1]
    paths = [
        prepared.folder,
        package / "__init__.py",
        package / "build",
        package / "simulator",
        toolchain.cuda_home,
        *toolchain.cuda_includes,
        *toolchain.library_includes,
        *toolchain.system_includes,
        toolchain.python_include,
        toolchain.torch,
        toolchain.zig.parent if toolchain.zig else None,
        toolchain.ninja,
        prepared.library.parent if prepared.library else None,
        prepared.torch_library.parent if prepared.torch_library else None,
        prepared.guard_zones.parent if prepared.guard_zones else None,
        toolchain.cudart.parent if toolchain.cudart else None,
        *(gxx_folders(toolchain.gxx) if toolchain.gxx else ()),
    ]
    return tuple(dict.fromkeys(path for path in paths if path is not None and path.exists()))


@cache
def gxx_folders(gxx: Path) -> tuple[Path, ...]:
    """Return the folders outside the system's that g++, its programs and its libraries are in."""
    programs = [output(gxx, f"-print-prog-name={name}") for name in ("cc1plus", "as", "ld")]
    libraries = [
        output(gxx, f"-print-file-name={name}") for name in ("crtbeginS.o", "libstdc++.so")
    ]
    named = [Path(text.strip()) for text in (*programs, *libraries)]
    files = [gxx, gxx.resolve(), *(path for path in named if path.is_absolute())]
    folders = dict.fromkeys(path.parent.resolve() for path in files if path.is_file())
    return tuple(f for f in folders if not any(f.is_relative_to(one) for one in SYSTEM))


def _search_path(prepared: Prepared) -> str:
    toolchain = prepared.toolchain
    tools = (toolchain.python, toolchain.ninja, toolchain.gxx)
    folders = [str(tool.parent) for tool in tools if tool is not None]
    return os.pathsep.join(dict.fromkeys([*folders, "/usr/local/bin", "/usr/bin", "/bin"]))


def _stock_variables(prepared: Prepared) -> dict[str, str]:
    """Return the variables that make the plain compilers find headers and libraries that the toolkit lacks."""
    toolchain = prepared.toolchain
    includes = [str(path) for path in toolchain.library_includes]
    # Line information for compute-sanitizer; the code stays the same.
    appended = ["-lineinfo", *(f"-isystem {path}" for path in includes)]
    variables = {"NVCC_APPEND_FLAGS": " ".join(appended)}
    if includes:
        variables["CPLUS_INCLUDE_PATH"] = os.pathsep.join(includes)
    if toolchain.cudart is not None:
        variables["LIBRARY_PATH"] = str(toolchain.cudart.parent)
    return variables


def _write_configuration(prepared: Prepared, device: DeviceKind, mode: Mode) -> Path:
    """Write the drivers' configuration beside the prepared files, under a name of its content."""
    told = configuration(
        prepared.toolchain,
        prepared.folder,
        device,
        mode,
        precompiled=prepared.precompiled,
        libraries=prepared.libraries,
    )
    text = json.dumps(asdict(told), sort_keys=True, indent=1)
    path = prepared.folder / f"{device}-{mode}-{digest(text)[:12]}.json"
    if not path.is_file() or path.read_text("utf-8") != text:
        draft = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        draft.write_text(text, "utf-8")
        open_to_guests(draft)
        draft.replace(path)
    return path

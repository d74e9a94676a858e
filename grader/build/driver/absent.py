"""Stand-ins for functions of CUDA's libraries that an extension calls and the simulator lacks.

Torch ships the real libraries, which fail without a GPU in ways that say nothing about the program. A stand-in inside
the extension takes precedence, and raises with the function's name when called.
"""

from __future__ import annotations

import re
from pathlib import Path

from grader.build.driver.config import Config
from grader.build.driver.tools import run

_NAMES = re.compile(
    rb"\0((?:cublas|cudnn|cufft|curand|cusolver|cusparse|nvrtc|nccl)[A-Z]\w+)(?=\0)"
)


def stand_ins(config: Config, objects: list[str], folder: Path) -> list[str]:
    """Write an object with stand-ins for absent functions to `folder`, if there are any; return its path."""
    called = {name for path in objects if path.endswith(".o") for name in _names(path)}
    absent = sorted(called - {name for path in config.libraries for name in _names(path)})
    if not absent:
        return []
    source, made = folder / "absent.cpp", folder / "absent.o"
    source.write_text("#include <stdexcept>\n" + "".join(map(_function, absent)), "utf-8")
    done = run([config.gxx, "-fPIC", "-O0", "-c", str(source), "-o", str(made)])
    return [str(made)] if done.ok else []


def _names(path: str) -> set[str]:
    return {name.decode() for name in _NAMES.findall(Path(path).read_bytes())}


def _function(name: str) -> str:
    """Return a weak definition, which the program's own overrides."""
    return (
        f'extern "C" __attribute__((weak, visibility("hidden"))) int {name}(...) '
        f'{{ throw std::runtime_error("undefined symbol: {name}"); }}\n'
    )

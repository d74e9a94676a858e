"""Functions of CUDA's libraries that an extension calls and the simulator does not have.

Torch brings the real libraries along, which fail without a GPU: what a program makes of that says nothing of it. A
function in the extension itself comes before theirs, and says what is absent once it is called.
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
    """Return the object that says what is absent, if anything is; written to `folder`."""
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
    """Return a definition that gives way to the program's own."""
    return (
        f'extern "C" __attribute__((weak, visibility("hidden"))) int {name}(...) '
        f'{{ throw std::runtime_error("undefined symbol: {name}"); }}\n'
    )

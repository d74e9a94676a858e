"""Compiling the simulator's native library, once for each machine and version of its sources."""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from grader.errors import GraderError
from grader.machine import cores

SOURCES = Path(__file__).parent / "native"
NAME = "libkgsim.so"
_FLAGS = (
    "-std=c++20", "-O3", "-fPIC", "-fvisibility-inlines-hidden", "-ffp-contract=off",
    "-fno-math-errno", "-fno-trapping-math", "-fno-semantic-interposition", "-pthread",
    "-Wall", "-Wextra",
)  # fmt: skip
_LINK = ("-Wl,-Bsymbolic", f"-Wl,-soname,{NAME}", f"-Wl,--version-script={SOURCES / 'cudart.map'}")
_ROUNDING = ("ops_directed.cpp",)
_ONCE_A_CALL = re.compile(r"(?:cudart_\w+|report|link|blob|alloc)\.cpp")
"""Units without a kernel's inner loops: half of the time of -O3 is spent on them for nothing."""
_COMMON = ("core.hpp", "runtime.hpp")
"""What most units include, the one or the other; most of the time of a small one."""
_STANDARD = ("algorithm", "cstdlib", "functional", "map", "memory", "set", "stdexcept")
"""What several units include beside it."""
_FEW = 6
"""Units for which that is not precompiled."""
_OF_TORCH = ("device_*.cpp",)
"""Compiled against torch's headers, into a library of their own."""
_SANITIZER = (
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=undefined",
    "-fno-omit-frame-pointer",
    "-g1",
    "-O1",
)


def sources() -> list[Path]:
    """Return the translation units, the largest first."""
    kept = (p for p in SOURCES.glob("*.cpp") if not any(p.match(pattern) for pattern in _OF_TORCH))
    return sorted(kept, key=lambda path: (-path.stat().st_size, path.name))


def build(
    cache_dir: Path,
    cxx: str | Path | Sequence[str] = "g++",
    *,
    cuda_includes: Sequence[Path] = (),
    sanitize: bool = False,
    jobs: int | None = None,
    begin: Callable[[], None] = lambda: None,
) -> Path:
    """Return the path of the built library under `cache_dir`, compiling it where it isn't there.

    `cxx` is a C++20 compiler (or its command line, such as `("zig", "c++")`). `cuda_includes` has
    the toolkit's headers, whose structs the CUDA runtime look-alike fills. For tests: `sanitize`
    adds the address and undefined-behaviour sanitizers. `begin` is called before anything is compiled.

    Raises GraderError where the compiler is missing or fails.
    """
    command = (str(cxx),) if isinstance(cxx, (str, Path)) else tuple(cxx)
    if shutil.which(command[0]) is None:
        raise GraderError(f"no C++ compiler {command[0]!r}", "install g++ 11 or newer")
    flags = [*_FLAGS, *_machine_flags(command), *(_SANITIZER if sanitize else ())]
    flags += [part for path in cuda_includes for part in ("-isystem", str(path))]
    units = sources()
    target = cache_dir / f"kgsim-{_key(command, flags, units)}" / NAME
    if target.exists():
        return target
    begin()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        objects = _compile(command, flags, units, cache_dir / "objects", jobs)
        output = Path(scratch) / NAME
        _run([*command, "-shared", *flags, *map(str, objects), *_LINK, "-o", str(output)])
        output.replace(target)
    return target


def _compile(
    command: tuple[str, ...], flags: list[str], units: list[Path], folder: Path, jobs: int | None
) -> list[Path]:
    """Compile the units in parallel; objects are kept, so that a change costs what it touches."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = {unit: _key(command, [*flags, *_own_flags(unit)], [unit]) for unit in units}
    objects = {unit: folder / f"{unit.stem}-{key}.o" for unit, key in keys.items()}
    missing = [unit for unit in units if not objects[unit].exists()]
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        many = len(missing) > _FEW and b"Free Software Foundation" in _version(command)

        def common(name: str) -> list[str]:
            return _precompiled(command, flags, name, Path(scratch))

        def one(unit: Path) -> None:
            made = Path(scratch) / objects[unit].name
            included = _included([unit])
            shared = next((name for name in first if SOURCES / name in included), "")
            own = [*_own_flags(unit), *first.get(shared, ())]
            _run([*command, *flags, *own, "-c", str(unit), "-o", str(made)])
            if _key(command, [*flags, *_own_flags(unit)], [unit]) != keys[unit]:
                raise GraderError("the simulator's sources changed while they were compiled")
            made.replace(objects[unit])

        with ThreadPoolExecutor(jobs or cores()) as pool:
            first = dict(zip(_COMMON, pool.map(common, _COMMON), strict=True)) if many else {}
            list(pool.map(one, missing))
    return [objects[unit] for unit in units]


def _own_flags(unit: Path) -> list[str]:
    if _ONCE_A_CALL.fullmatch(unit.name):
        return ["-O1"]
    return ["-frounding-math"] if unit.name in _ROUNDING else []


def _precompiled(command: tuple[str, ...], flags: list[str], name: str, folder: Path) -> list[str]:
    """Return the flags that bring a common header in precompiled, which saves half of the time.

    It changes nothing of what is compiled; only g++ finds it by itself.
    """
    header = folder / f"common-{name}"
    lines = [f"#include <{standard}>\n" for standard in _STANDARD]
    header.write_text("".join((*lines, f'#include "{name}"\n')), "utf-8")
    quoted = ["-iquote", str(SOURCES)]
    _run([*command, *flags, *quoted, "-x", "c++-header", str(header), "-o", f"{header}.gch"])
    return [*quoted, "-include", str(header)]


def _machine_flags(command: tuple[str, ...]) -> list[str]:
    """Prefer this machine's own instructions; without a fused multiply-add all is still right."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return []
    probe = subprocess.run(
        [*command, "-march=native", "-E", "-x", "c++", "-"],
        input=b"",
        capture_output=True,
        check=False,
    )
    return ["-march=native"] if probe.returncode == 0 else ["-march=x86-64-v2"]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise GraderError(
            f"the simulator does not compile: {done.stderr[-2000:]}", "check the C++ compiler"
        )


def _key(command: tuple[str, ...], flags: list[str], units: list[Path]) -> str:
    """Content of the sources, the compiler and the processor: what the bytes depend on."""
    hasher = hashlib.sha256(repr((command, flags)).encode() + _version(command) + _processor())
    for path in sorted({*units, *_included(units), *SOURCES.glob("*.map")}):
        if path.is_file():
            hasher.update(path.name.encode() + b"\0" + path.read_bytes())
    return hasher.hexdigest()[:16]


@cache
def _version(command: tuple[str, ...]) -> bytes:
    return subprocess.run([*command, "--version"], capture_output=True, check=False).stdout


def _included(units: Sequence[Path]) -> set[Path]:
    """Return the headers of ours that the units include, directly or not."""
    found: set[Path] = set()
    rest = list(units)
    while rest:
        text = rest.pop().read_text("utf-8")
        headers = {SOURCES / name for name in re.findall(r'#include "([\w.]+)"', text)}
        rest += [path for path in headers - found if path.is_file()]
        found |= headers
    return found


def _processor() -> bytes:
    try:
        lines = Path("/proc/cpuinfo").read_bytes().splitlines()
    except OSError:
        return platform.processor().encode()
    return b"".join(line for line in lines if line.startswith((b"flags", b"Features")))[:4096]

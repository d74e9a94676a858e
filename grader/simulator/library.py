"""Compiling the simulator's native library, once for each machine and version of its sources."""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from grader.errors import GraderError
from grader.machine import cores

SOURCES = Path(__file__).parent / "native"
NAME = "libkgsim.so"
INSTALLED = Path(__file__).parent / "installed"
"""The library compiled by `setup.py`, if it could, so that the first grading doesn't wait for it."""
_FLAGS = (
    "-std=c++20", "-fPIC", "-fvisibility-inlines-hidden", "-ffp-contract=off",
    "-fno-math-errno", "-fno-trapping-math", "-fno-semantic-interposition", "-pthread", "-w",
)  # fmt: skip
_LINK = ("-Wl,-Bsymbolic", f"-Wl,-soname,{NAME}", f"-Wl,--version-script={SOURCES / 'cudart.map'}")


@dataclass(frozen=True)
class Part:
    """Sources compiled as one unit, since most of a small one's cost is its includes."""

    name: str
    patterns: tuple[str, ...]
    flags: tuple[str, ...] = ("-O3",)


_ONCE_A_CALL = ("-O1",)
"""Flags for sources without a kernel's inner loops, where -O3 takes twice the time without benefit."""
PARTS = (
    Part("directed", ("ops_directed",), ("-O3", "-frounding-math")),
    Part("integers", ("ops_integer", "ops_bit")),
    Part("floats", ("ops_float", "ops_convert", "ops_packed", "ops_math", "elements")),
    Part("halves", ("ops_half", "atomic", "matrix*")),
    Part("cublas", ("cublas*",)),
    Part("missing", ("cudart_missing",), _ONCE_A_CALL),  # declares NVIDIA's functions its own way
    Part("runtime", ("cudart_*", "alloc"), _ONCE_A_CALL),
    Part("programs", ("link*", "opcode", "unset*", "blob*", "report"), ("-O2",)),
    Part("accesses", ("access", "checks", "calls", "warp_ops")),
    Part("exact", ("exact*",)),
    Part("races", ("races",)),
    Part("regions", ("global_races", "region*", "residents", "footprint", "bind*")),
    Part("interpreter", ("*",)),
)
"""About ten parts of a few seconds each, enough for several cores. A source belongs to the first part that names it."""
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
    """Return the translation units, in order."""
    kept = (p for p in SOURCES.glob("*.cpp") if not any(p.match(pattern) for pattern in _OF_TORCH))
    return sorted(kept)


def parts() -> list[tuple[Part, list[Path]]]:
    """Return each part with its sources, the largest first."""
    found: dict[Part, list[Path]] = defaultdict(list)
    for source in sources():
        found[next(part for part in PARTS if _names(part, source))].append(source)
    size = {part: sum(source.stat().st_size for source in own) for part, own in found.items()}
    return sorted(found.items(), key=lambda one: -size[one[0]])


def _names(part: Part, source: Path) -> bool:
    return any(fnmatchcase(source.stem, pattern) for pattern in part.patterns)


def build(
    cache_dir: Path,
    cxx: str | Path | Sequence[str] = "g++",
    *,
    cuda_includes: Sequence[Path] = (),
    sanitize: bool = False,
    jobs: int | None = None,
    begin: Callable[[], None] = lambda: None,
) -> Path:
    """Return the path of the built library under `cache_dir`, compiling it first if missing.

    `cxx` is a C++20 compiler (or its command line, such as `("zig", "c++")`). `cuda_includes` has
    the toolkit's headers, whose structs the CUDA runtime look-alike fills. For tests: `sanitize`
    adds the address and undefined-behaviour sanitizers. `begin` is called before anything is compiled.

    Raises GraderError where the compiler is missing or fails.
    """
    command = (str(cxx),) if isinstance(cxx, (str, Path)) else tuple(cxx)
    if shutil.which(command[0]) is None:
        raise GraderError(f"no C++ compiler {command[0]!r}", "install g++ 11 or newer")
    flags = [*_FLAGS, *_machine_flags(command), *(_SANITIZER if sanitize else ())]
    # Independent of the path of the toolkit's headers, whose declarations change only with the major version.
    stamp = [*flags, repr(PARTS), _cuda_major(cuda_includes)]
    target = cache_dir / f"kgsim-{_key(command, stamp, sources())}" / NAME
    if target.exists() or _copy_installed(INSTALLED / target.parent.name / NAME, target):
        return target
    flags += [part for path in cuda_includes for part in ("-isystem", str(path))]
    begin()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        objects = _compile(command, flags, cache_dir / "objects", jobs)
        output = Path(scratch) / NAME
        _run_command([*command, "-shared", *flags, *map(str, objects), *_LINK, "-o", str(output)])
        output.replace(target)
    return target


def _copy_installed(installed: Path, target: Path) -> bool:
    """Copy the library compiled at this package's installation, if it is of this version.

    Guests read it in the cache folder, since the package's folder may be inaccessible to them.
    """
    if not installed.is_file():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        shutil.copyfile(installed, Path(scratch) / NAME).replace(target)
    return True


def _cuda_major(includes: Sequence[Path]) -> str:
    headers = (path / "cuda_runtime_api.h" for path in includes)
    texts = (path.read_text("utf-8", "replace") for path in headers if path.is_file())
    found = re.search(r"#define\s+CUDART_VERSION\s+(\d+)", next(texts, ""))
    return f"CUDA {int(found[1]) // 1000}" if found else "no CUDA"


def _compile(
    command: tuple[str, ...], flags: list[str], folder: Path, jobs: int | None
) -> list[Path]:
    """Compile the parts in parallel; objects are kept, so that a change recompiles only the affected parts."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=folder) as scratch,
        ThreadPoolExecutor(jobs or cores()) as pool,
    ):

        def write_part(part: Part, own: list[Path]) -> Path:
            # An optimisation among the common flags, such as a sanitizer's, counts: it comes later.
            wanted = [*part.flags, *flags]
            key = _key(command, wanted, own)
            built = folder / f"{part.name}-{key}.o"
            if not built.exists():
                made = Path(scratch) / built.name
                _compile_part(command, wanted, own, made)
                if _key(command, wanted, own) != key:
                    raise GraderError("the simulator's sources changed while they were compiled")
                made.replace(built)
            return built

        return list(pool.map(lambda both: write_part(*both), parts()))


def _compile_part(command: tuple[str, ...], flags: list[str], own: list[Path], made: Path) -> None:
    unit = made.with_suffix(".cpp")
    unit.write_text("".join(f'#include "{source}"\n' for source in own), "utf-8")
    _run_command([*command, *flags, "-c", str(unit), "-o", str(made)])


def _machine_flags(command: tuple[str, ...]) -> list[str]:
    """Prefer this machine's own instructions; results are right without a fused multiply-add too."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return []
    probe = subprocess.run(
        [*command, "-march=native", "-E", "-x", "c++", "-"],
        input=b"",
        capture_output=True,
        check=False,
    )
    return ["-march=native"] if probe.returncode == 0 else ["-march=x86-64-v2"]


def _run_command(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise GraderError(
            f"the simulator does not compile: {done.stderr[-2000:]}", "check the C++ compiler"
        )


def _key(command: tuple[str, ...], flags: list[str], units: list[Path]) -> str:
    """Return the content address of sources, compiler and processor, which the library depends on."""
    hasher = hashlib.sha256(repr((command, flags)).encode() + _version(command) + _processor())
    for path in sorted({*units, *_included_headers(units), *SOURCES.glob("*.map")}):
        if path.is_file():
            hasher.update(path.name.encode() + b"\0" + path.read_bytes())
    return hasher.hexdigest()[:16]


@cache
def _version(command: tuple[str, ...]) -> bytes:
    return subprocess.run([*command, "--version"], capture_output=True, check=False).stdout


def _included_headers(units: Sequence[Path]) -> set[Path]:
    """Return our own headers that the units include, directly or not."""
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

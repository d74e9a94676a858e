"""What is made once for a machine: precompiled headers and what is read out of torch's headers.

Cached under the user's cache folder by content (versions of torch, compilers, and this package's
own sources), made under a lock, complete or not there at all. What few builds need is made when the
first of them comes (`on_demand`).
"""

from __future__ import annotations

import json
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path

from filelock import FileLock

from grader.build import gather, guard_zones, lean
from grader.build.cache import cache_folder
from grader.build.configuration import STUBS, configuration
from grader.build.driver import halves, host_pass
from grader.build.precompile import HeaderPrecompiler, Progress
from grader.build.programs import write
from grader.build.readable import let_read, open_to_guests
from grader.build.toolchain import Toolchain
from grader.errors import GraderError
from grader.records import digest
from grader.simulator import library, torch_library

_HERE = Path(__file__).resolve().parent
_SHAPING = ("header_extraction.py", "lean.py", "gather.py", "precompile.py")
_SHAPING_DRIVER = ("blank.py", "host_pass.py", "halves.py")
"""Sources of ours that what is prepared depends on, beside the stubs in it."""


@dataclass(frozen=True)
class Prepared:
    """Where the prepared files are, and what could be prepared."""

    folder: Path
    toolchain: Toolchain
    precompiled: tuple[str, ...]
    """Names of the precompiled headers; empty where there is no clang."""
    library: Path | None
    """The simulator's runtime library."""
    torch_library: Path | None
    """The simulator's part of libc10_cuda and libtorch_cuda."""
    seconds: float
    """What preparing took now; 0 when everything was there."""
    guard_zones: Path | None = None
    """The allocator of guests on a GPU; None where there is no torch for one, or it doesn't compile."""
    unguarded: str = ""
    """Why not, in the latter case."""

    @cached_property
    def address(self) -> str:
        """Return the content address of all that builds and runs read besides the submission."""
        sources = (*_files(_HERE / "driver", "*.py"), *_files(STUBS))
        libraries = (str(self.library), str(self.torch_library), self.toolchain.triton_version)
        return digest(self.folder.name, *libraries, *(path.read_bytes() for path in sources))[:24]

    @property
    def libraries(self) -> tuple[Path | None, Path | None]:
        """Return the simulator's libraries, for what links against them."""
        return self.library, self.torch_library


def key(toolchain: Toolchain) -> str:
    """Return the content address of what would be prepared for this toolchain.

    Checkouts with the same sources share it: nothing in there knows where this package lies.
    """
    own = [_HERE / name for name in _SHAPING]
    own += [_HERE / "driver" / name for name in _SHAPING_DRIVER]
    stamp = [
        f"{path}:{path.stat().st_mtime_ns}"
        for path in (toolchain.torch / "version.py" if toolchain.torch else None, toolchain.nvcc)
        if path is not None and path.exists()
    ]
    # However it is called: `python` and `python3` are one interpreter, with the same headers.
    # Nothing of Triton's is read for it.
    apart = {"python", "triton_version", "triton_tools"}
    tools = [repr(value) for name, value in asdict(toolchain).items() if name not in apart]
    contents = (path.read_bytes() for path in (*own, *gather.precompiled_stubs()))
    return digest(*tools, *stamp, *contents)[:24]


def _files(folder: Path, pattern: str = "*") -> list[Path]:
    return [path for path in sorted(folder.rglob(pattern)) if path.is_file()]


def prepare(toolchain: Toolchain, progress: Progress | None = None) -> Prepared:
    """Make what a machine's builds share, or find it made; safe under many processes.

    Raises:
        GraderError: a compiler is missing or can't compile torch's own headers, or the cache folder
            can't be written.

    """
    try:
        return _prepare(toolchain, progress or (lambda _: None))
    except OSError as error:
        raise GraderError(
            f"this machine can't be prepared in {cache_folder()}: {error}",
            "free some space, or set XDG_CACHE_HOME to a folder that you may write to",
        ) from error


def _prepare(toolchain: Toolchain, progress: Progress) -> Prepared:
    if not toolchain.builds:
        missing = toolchain.missing[0]
        raise GraderError(f"{missing.what} is missing: {missing.costs}", missing.hint)
    started = time.monotonic()
    folder = cache_folder() / "prepared" / key(toolchain)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(1) as pool:
        # Beside the headers, which wait for each other: no core is idle meanwhile.
        runtime = pool.submit(_runtime, toolchain, progress)
        made = _make_once(toolchain, folder, progress)
        write(folder, toolchain)
        precompiled = tuple(json.loads((folder / "ready.json").read_text("utf-8"))["precompiled"])
        torch_part = _torch_part(toolchain, folder, precompiled, progress)
        zones, unguarded = _guard_zones(toolchain)
        return Prepared(
            folder=folder,
            toolchain=toolchain,
            precompiled=precompiled,
            library=runtime.result(),
            torch_library=torch_part,
            seconds=time.monotonic() - started if made else 0.0,
            guard_zones=zones,
            unguarded=unguarded,
        )


def _make_once(toolchain: Toolchain, folder: Path, progress: Progress) -> bool:
    """Fill the folder unless it is there; return whether it was filled now."""
    if (folder / "ready.json").is_file():
        return False
    with FileLock(str(folder) + ".lock"):
        if (folder / "ready.json").is_file():
            return False
        _make(toolchain, folder, progress)
        return True


def _make(toolchain: Toolchain, folder: Path, progress: Progress) -> None:
    """Fill the folder; what marks it as complete comes last.

    A precompiled header knows its own path: it is made where it will stay.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    folder.chmod(0o755)  # guests of another user read it
    progress("reading torch's headers")
    gather.copies(toolchain, folder)
    config = configuration(toolchain, folder, "cuda", "fast")
    bench = HeaderPrecompiler(config, progress) if toolchain.zig else None
    if bench:
        bench.types()
    closure = lean.closure(toolchain)
    names = lean.include_names(toolchain, closure.headers)
    if bench:
        bench.rest(lean.headers(names))
    (folder / "headers.txt").write_text("\n".join(sorted(names)), "utf-8")
    gather.declarations(toolchain, folder)
    gather.vocabulary(toolchain, folder, closure)
    gather.write_exported_symbols(toolchain, folder)
    usable = bench.finish() if bench else []
    (folder / "ready.part").write_text(json.dumps({"precompiled": usable}), "utf-8")
    let_read(folder.parent)
    open_to_guests(folder)
    (folder / "ready.part").rename(folder / "ready.json")


def _runtime(toolchain: Toolchain, progress: Progress) -> Path | None:
    """Build the simulator's runtime library, or find it built."""
    if toolchain.gxx is None or toolchain.torch is None:
        return None
    begin = partial(progress, "compiling the simulator")
    return _readable(
        library.build(
            _simulators(), toolchain.gxx, cuda_includes=toolchain.cuda_includes, begin=begin
        )
    )


def _torch_part(
    toolchain: Toolchain, prepared: Path, precompiled: tuple[str, ...], progress: Progress
) -> Path | None:
    """Build the simulator's torch device, or find it built."""
    if toolchain.gxx is None or toolchain.torch is None:
        return None
    headers = torch_library.TorchHeaders(toolchain.torch, toolchain.torch_version)
    quick = _quick(toolchain, prepared, precompiled) if "extension" in precompiled else None
    begin = partial(progress, "compiling the simulator's torch device")
    return _readable(torch_library.build(_simulators(), toolchain.gxx, headers, quick, begin))


def _guard_zones(toolchain: Toolchain) -> tuple[Path | None, str]:
    """Build the allocator with guard zones, or find it built; runs on a GPU can do without it."""
    if toolchain.gxx is None or not toolchain.torch_cuda:
        return None, ""
    try:
        return _readable(guard_zones.build(_simulators(), toolchain.gxx)), ""
    except (GraderError, OSError) as error:
        return None, str(error)


def _simulators() -> Path:
    return cache_folder() / "simulator"


def _readable(built: Path) -> Path:
    """Return the library, which guests of another user may read now."""
    for path in (_simulators(), built.parent, built):
        let_read(path)
    return built


def _quick(
    toolchain: Toolchain, prepared: Path, precompiled: tuple[str, ...]
) -> torch_library.Quick:
    """Return how the simulator's torch device is compiled over the precompiled headers."""
    config = configuration(toolchain, prepared, "cuda", "fast", precompiled=precompiled)
    return torch_library.Quick(
        compile=(*host_pass.over(config, "extension"), *host_pass.headers(config, cuda=False)),
        link=tuple(halves.linked(config)),
    )

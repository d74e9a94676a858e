"""What is made once for a machine: precompiled headers and what is read out of torch's headers.

Cached under the user's cache folder by content (versions of torch, compilers, and this package's
own sources), made under a lock, complete or not there at all. What few builds need is made when the
first of them comes (`on_demand`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path

from filelock import FileLock

from grader.build import gather, guard_zones, lean
from grader.build.cache import cache_folder
from grader.build.configuration import STUBS, configuration
from grader.build.driver import host_pass
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
    library: Path | None
    """The simulator's runtime library."""
    torch_part: Future[Path] | None
    """The simulator's part of libc10_cuda and libtorch_cuda, which may still be in the making."""
    torch_place: Path | None
    """Where that is, or will be."""
    guard_zones: Path | None = None
    """The allocator of guests on a GPU; None where there is no torch for one, or it doesn't compile."""
    unguarded: str = ""
    """Why not, in the latter case."""
    on_demand: tuple[str, ...] = ()
    """Precompiled headers that few programs need."""
    progress: Progress = field(default=lambda _: None, compare=False)
    """Is told what is made when a program first needs it; an empty text is the end of that."""

    @property
    def precompiled(self) -> tuple[str, ...]:
        """Return the names of the precompiled headers that there are."""
        return (*(headers_ready(self.folder) or ()), *self.on_demand)

    @property
    def torch_library(self) -> Path | None:
        """Wait for the simulator's torch part.

        Raises GraderError where it can't be compiled.
        """
        return self.torch_part.result() if self.torch_part else None

    @cached_property
    def address(self) -> str:
        """Return the content address of all that builds and runs read besides the submission."""
        sources = (*_files(_HERE / "driver", "*.py"), *_files(STUBS))
        libraries = (str(self.library), str(self.torch_place), self.toolchain.triton_version)
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
    with _told_where_cache_is_full():
        return _prepare(toolchain, progress or (lambda _: None))


@contextmanager
def _told_where_cache_is_full() -> Iterator[None]:
    """Say what to do where the cache folder takes nothing."""
    try:
        yield
    except OSError as error:
        raise GraderError(
            f"this machine can't be prepared in {cache_folder()}: {error}",
            "free some space, or set XDG_CACHE_HOME to a folder that you may write to",
        ) from error


def _prepare(toolchain: Toolchain, progress: Progress) -> Prepared:
    if not toolchain.builds:
        missing = toolchain.missing[0]
        raise GraderError(f"{missing.what} is missing: {missing.costs}", missing.hint)
    folder = cache_folder() / "prepared" / key(toolchain)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)  # guests of another user read it
    write(folder, toolchain)
    torch_place, torch_part = _begin_torch_part(toolchain, folder, progress)
    zones, unguarded = _guard_zones(toolchain)
    return Prepared(
        folder=folder,
        toolchain=toolchain,
        library=_runtime(toolchain, progress),
        torch_part=torch_part,
        torch_place=torch_place,
        guard_zones=zones,
        unguarded=unguarded,
        progress=progress,
    )


def headers_ready(folder: Path) -> tuple[str, ...] | None:
    """Return which headers are precompiled; None where that has not been tried."""
    try:
        return tuple(json.loads((folder / "ready.json").read_text("utf-8"))["precompiled"])
    except FileNotFoundError:
        return None


def make_headers(prepared: Prepared) -> None:
    """Precompile torch's headers and read what the drivers must know of them, unless that has been done.

    Raises GraderError where g++ can't read them, or the cache folder can't be written.
    """
    folder = prepared.folder
    if headers_ready(folder) is not None:
        return
    with _told_where_cache_is_full(), FileLock(str(folder) + ".lock"):
        if headers_ready(folder) is None:
            _make(prepared.toolchain, folder, prepared.progress)
            prepared.progress("")


def _make(toolchain: Toolchain, folder: Path, progress: Progress) -> None:
    """Fill the folder; what marks it as complete comes last.

    A precompiled header knows its own path: it is made where it will stay. The drivers' programs lie there
    already, and perhaps what an interrupted call of this left.
    """
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


def _begin_torch_part(
    toolchain: Toolchain, prepared: Path, progress: Progress
) -> tuple[Path, Future[Path]] | tuple[None, None]:
    """Find the simulator's torch device built, or begin to build it: torch's headers are read beside it."""
    if toolchain.gxx is None or toolchain.torch is None:
        return None, None
    headers = torch_library.TorchHeaders(toolchain.torch, toolchain.torch_version)
    how = (toolchain.gxx, headers, _quick(toolchain, prepared) if toolchain.zig else None)
    place = torch_library.place(_simulators(), *how)
    begin = partial(progress, "compiling the simulator's torch device")
    pool = ThreadPoolExecutor(1)
    built = pool.submit(lambda: _readable(torch_library.build(place, *how, begin)))
    pool.shutdown(wait=False)
    return place, built


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


def _quick(toolchain: Toolchain, prepared: Path) -> torch_library.Quick:
    """Return how clang compiles the simulator's torch device."""
    config = configuration(toolchain, prepared, "cuda", "fast")
    torch_headers = host_pass.headers(config, cuda=False)
    return torch_library.Quick((*host_pass.common(config), "-x", "c++", *torch_headers))

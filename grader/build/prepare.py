"""One-time preparation of a machine: precompiled headers and extracts from torch's headers.

Cached under the user's cache folder by content (versions of torch, compilers, and this package's
own sources), made under a lock, either complete or absent. Headers that few builds need are made for the first such
build (`on_demand`).
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
"""Our own sources that the prepared files depend on, beside the stubs among them."""


@dataclass(frozen=True)
class Prepared:
    """The prepared files of a machine."""

    folder: Path
    toolchain: Toolchain
    library: Path | None
    """The simulator's runtime library."""
    torch_part: Future[Path] | None
    """Build of the simulator's part of libc10_cuda and libtorch_cuda, which may still run."""
    torch_place: Path | None
    """Path of that library."""
    guard_zones: Path | None = None
    """The allocator of guests on a GPU; None without a CUDA build of torch, or where it doesn't compile."""
    unguarded: str = ""
    """The compiler's message in the latter case."""
    on_demand: tuple[str, ...] = ()
    """Precompiled headers that few programs need."""
    progress: Progress = field(default=lambda _: None, compare=False)
    """Callback with the step that runs when a program first needs it; an empty text ends it."""

    @property
    def precompiled(self) -> tuple[str, ...]:
        """Return the names of the existing precompiled headers."""
        return (*(headers_ready(self.folder) or ()), *self.on_demand)

    @property
    def torch_library(self) -> Path | None:
        """Wait for the simulator's torch part.

        Raises GraderError where it can't be compiled.
        """
        return self.torch_part.result() if self.torch_part else None

    @cached_property
    def address(self) -> str:
        """Return the content address of everything that builds and runs read besides the submission."""
        sources = (*_files(_HERE / "driver", "*.py"), *_files(STUBS))
        libraries = (str(self.library), str(self.torch_place), self.toolchain.triton_version)
        return digest(self.folder.name, *libraries, *(path.read_bytes() for path in sources))[:24]

    @property
    def libraries(self) -> tuple[Path | None, Path | None]:
        """Return the simulator's libraries, to link against."""
        return self.library, self.torch_library


def key(toolchain: Toolchain) -> str:
    """Return the content address of the preparation for this toolchain.

    Checkouts with the same sources share it, since no prepared file contains this package's path. Copies of a cache
    don't: precompiled headers and drivers contain their own.
    """
    own = [_HERE / name for name in _SHAPING]
    own += [_HERE / "driver" / name for name in _SHAPING_DRIVER]
    stamp = [
        f"{path}:{path.stat().st_mtime_ns}"
        for path in (toolchain.torch / "version.py" if toolchain.torch else None, toolchain.nvcc)
        if path is not None and path.exists()
    ]
    # By any name: `python` and `python3` are one interpreter, with the same headers. Nothing of Triton's is read for
    # it.
    apart = {"python", "triton_version", "triton_tools"}
    tools = [repr(value) for name, value in asdict(toolchain).items() if name not in apart]
    contents = (path.read_bytes() for path in (*own, *gather.precompiled_stubs()))
    return digest(str(cache_folder()), *tools, *stamp, *contents)[:24]


def _files(folder: Path, pattern: str = "*") -> list[Path]:
    return [path for path in sorted(folder.rglob(pattern)) if path.is_file()]


def prepare(toolchain: Toolchain, progress: Progress | None = None) -> Prepared:
    """Prepare the files that a machine's builds share, unless they exist; safe under many processes.

    Raises:
        GraderError: a compiler is missing or can't compile torch's own headers, or the cache folder
            can't be written.

    """
    with _told_where_cache_is_full():
        return _prepare(toolchain, progress or (lambda _: None))


@contextmanager
def _told_where_cache_is_full() -> Iterator[None]:
    """Turn an error of the cache folder into advice."""
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
    """Return the names of the precompiled headers; None where not attempted yet."""
    try:
        return tuple(json.loads((folder / "ready.json").read_text("utf-8"))["precompiled"])
    except FileNotFoundError:
        return None


def make_headers(prepared: Prepared) -> None:
    """Precompile torch's headers and extract the drivers' information from them, unless that is done.

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
    """Fill the folder; the file that marks it as complete comes last.

    A precompiled header contains its own path, so it is made in its final place. The folder already holds the drivers'
    programs, and perhaps the files of an interrupted call.
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
    """Return the simulator's runtime library, building it first if missing."""
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
    """Return the simulator's torch device, or start building it, in parallel with torch's headers."""
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
    """Return the allocator with guard zones, building it first if missing; runs on a GPU work without it."""
    if toolchain.gxx is None or not toolchain.torch_cuda:
        return None, ""
    try:
        return _readable(guard_zones.build(_simulators(), toolchain.gxx)), ""
    except (GraderError, OSError) as error:
        return None, str(error)


def _simulators() -> Path:
    return cache_folder() / "simulator"


def _readable(built: Path) -> Path:
    """Make the library readable for guests of another user, and return it."""
    for path in (_simulators(), built.parent, built):
        let_read(path)
    return built


def _quick(toolchain: Toolchain, prepared: Path) -> torch_library.Quick:
    """Return clang's command for the simulator's torch device."""
    config = configuration(toolchain, prepared, "cuda", "fast")
    torch_headers = host_pass.headers(config, cuda=False)
    return torch_library.Quick((*host_pass.common(config), "-x", "c++", *torch_headers))

"""What is made once for a machine: precompiled headers and what is read out of torch's headers.

Cached under the user's cache folder by content (versions of torch, compilers, and this package's
own sources), made under a lock, complete or not there at all.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from grader.build import harvest, lean
from grader.build.driver.blank import without_assembly
from grader.build.driver.config import Config
from grader.build.precompile import Progress, precompile
from grader.build.programs import programs, write
from grader.build.readable import let_read, open_to_guests
from grader.build.toolchain import Toolchain
from grader.errors import GraderError
from grader.records import digest
from grader.sandbox import reached_by, strongest
from grader.simulator import library, torch_library

_HERE = Path(__file__).resolve().parent
_COPIED = ("cuda_fp16", "cuda_bf16", "cuda_fp8", "cuda_fp6", "cuda_fp4")


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

    @cached_property
    def address(self) -> str:
        """Return the content address of all that builds and runs read besides the submission."""
        sources = (*_files(_HERE / "driver", "*.py"), *_files(_HERE / "stubs"))
        libraries = (str(self.library), str(self.torch_library))
        return digest(self.folder.name, *libraries, *(path.read_bytes() for path in sources))[:24]


SHARED = Path("/var/cache/kernel-grader")
"""For root, whose home other users can't pass, where guests are kept in by a user id alone."""


def cache_folder() -> Path:
    """Return the folder that prepared files of all versions live in; guests must be able to read it."""
    named = os.environ.get("KERNEL_GRADER_CACHE")
    own = Path(named) if named else user_cache_path("kernel-grader")
    try:
        if reached_by(strongest(), own):
            return own
        if not SHARED.is_dir():
            SHARED.mkdir(parents=True)
            SHARED.chmod(0o755)
    except (GraderError, OSError):
        return own  # where it can't be read, a guest's start says what would help
    return SHARED if SHARED.stat().st_uid == os.geteuid() else own


def key(toolchain: Toolchain) -> str:
    """Return the content address of what would be prepared for this toolchain.

    Checkouts with the same sources share it: nothing in there knows where this package lies.
    """
    sources = ("harvest.py", "lean.py", "driver/blank.py", "driver/host_pass.py")
    own = [*(_HERE / name for name in sources), *_precompiled_stubs()]
    stamp = [
        f"{path}:{path.stat().st_mtime_ns}"
        for path in (toolchain.torch / "version.py" if toolchain.torch else None, toolchain.nvcc)
        if path is not None and path.exists()
    ]
    # However it is called: `python` and `python3` are one interpreter, with the same headers.
    tools = [repr(value) for name, value in asdict(toolchain).items() if name != "python"]
    return digest(*tools, *stamp, *(p.read_bytes() for p in own))[:24]


def _files(folder: Path, pattern: str = "*") -> list[Path]:
    return [path for path in sorted(folder.rglob(pattern)) if path.is_file()]


def _precompiled_stubs() -> list[Path]:
    """Return the stubs that the precompiled headers read; the others are read by each build."""
    return [*_files(_HERE / "stubs" / "host"), *sorted((_HERE / "stubs").glob("cuda_*.h"))]


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
    made = False
    if not (folder / "ready.json").is_file():
        with FileLock(str(folder) + ".lock"):
            if not (folder / "ready.json").is_file():
                _make(toolchain, folder, progress)
                made = True
    write(folder, toolchain)
    runtime, torch_part = _simulator(toolchain, progress)
    ready = json.loads((folder / "ready.json").read_text("utf-8"))
    return Prepared(
        folder=folder,
        toolchain=toolchain,
        precompiled=tuple(ready["precompiled"]),
        library=runtime,
        torch_library=torch_part,
        seconds=time.monotonic() - started if made else 0.0,
    )


def _simulator(toolchain: Toolchain, progress: Progress) -> tuple[Path | None, Path | None]:
    """Build the simulator's two libraries, or find them built."""
    if toolchain.gxx is None or toolchain.torch is None:
        return None, None
    progress("compiling the simulator")
    folder, includes = cache_folder() / "simulator", toolchain.cuda_includes
    runtime = library.build(folder, toolchain.gxx, cuda_includes=includes)
    progress("compiling the simulator's torch device")
    headers = torch_library.TorchHeaders(toolchain.torch, toolchain.torch_version)
    torch_part = torch_library.build(folder, toolchain.gxx, headers)
    for path in (folder, runtime.parent, runtime, torch_part.parent, torch_part):
        let_read(path)
    return runtime, torch_part


def configuration(prepared: Prepared, device: str, mode: str) -> Config:
    """Return what the drivers of this device and mode are told."""
    libraries = tuple(p for p in (prepared.library, prepared.torch_library) if p is not None)
    return _config(
        prepared.toolchain,
        prepared.folder,
        device,
        mode,
        precompiled=prepared.precompiled,
        libraries=libraries,
    )


def _config(
    toolchain: Toolchain,
    folder: Path,
    device: str,
    mode: str,
    *,
    precompiled: Iterable[str],
    libraries: tuple[Path, ...],
) -> Config:
    includes = toolchain.torch_includes
    dispatch = includes[0] / "ATen" / "Dispatch.h"
    python_folders = [Path(sys.base_prefix), Path(sys.prefix), toolchain.python_include]
    home = toolchain.cuda_home or Path("/usr/local/cuda")
    return Config(
        device=device,
        mode=mode,
        prepared=str(folder),
        programs=str(programs(folder, toolchain)),
        stubs=str(_HERE / "stubs"),
        nvcc=str(toolchain.nvcc),
        ptxas=str(toolchain.ptxas),
        fatbinary=str(toolchain.fatbinary),
        gxx=str(toolchain.gxx),
        zig=str(toolchain.zig) if toolchain.zig else None,
        cuda_includes=[str(p) for p in toolchain.cuda_includes],
        library_includes=[str(p) for p in toolchain.library_includes],
        torch_includes=[str(p) for p in includes],
        system_includes=[str(p) for p in toolchain.system_includes],
        python_include=str(toolchain.python_include),
        libraries=[str(path) for path in libraries],
        cudart=str(toolchain.cudart) if toolchain.cudart else None,
        precompiled=list(precompiled),
        dispatch_takes_type="DeprecatedTypeProperties"
        in dispatch.read_text("utf-8", "replace").split("#define", 1)[0],
        standard=toolchain.cpp_standard,
        allowed=[str(p) for p in (toolchain.torch, home, home.resolve(), *python_folders) if p],
    )


def _make(toolchain: Toolchain, folder: Path, progress: Progress) -> None:
    """Fill a folder beside the final one, then move it there in one step."""
    scratch = Path(tempfile.mkdtemp(prefix="making-", dir=folder.parent))
    scratch.chmod(0o755)  # guests of another user read it
    try:
        progress("reading torch's headers")
        _harvest(toolchain, scratch)
        _copies(toolchain, scratch)
        names: list[str] = []
        if toolchain.zig:
            # A precompiled header knows its own path: it is made where it will stay.
            shutil.rmtree(folder, ignore_errors=True)
            scratch.rename(folder)
            config = _config(toolchain, folder, "cuda", "fast", precompiled=(), libraries=())
            names = precompile(config, progress)
        else:
            scratch.rename(folder)
        (folder / "ready.part").write_text(json.dumps({"precompiled": names}), "utf-8")
        let_read(folder.parent)
        open_to_guests(folder)
        (folder / "ready.part").rename(folder / "ready.json")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _harvest(toolchain: Toolchain, folder: Path) -> None:
    include = toolchain.torch_includes[0]
    api = toolchain.torch_includes[1]
    data = {
        "methods": harvest.methods(include),
        "functions": harvest.functions(include),
        "factories": harvest.factories(include) or harvest.factories(api),
    }
    (folder / "harvest.json").write_text(json.dumps(data), "utf-8")
    (folder / "stub").mkdir()
    (folder / "stub" / "kg_dispatch_all.inc").write_text(harvest.dispatch_macros(include), "utf-8")
    (folder / "stub" / "kg_scalar_types.inc").write_text(harvest.scalar_types(include), "utf-8")
    closure = lean.closure(toolchain)
    headers = closure.headers
    visible = harvest.global_words(closure.text) | harvest.macros(headers)
    (folder / "globals.txt").write_text("\n".join(sorted(visible)), "utf-8")
    stubbed = _below(headers, (*toolchain.torch_includes, toolchain.python_include))
    macros = sorted(harvest.macros(stubbed))
    (folder / "macros.txt").write_text("\n".join(macros), "utf-8")
    (folder / "words.txt").write_text("\n".join(harvest.words(headers)), "utf-8")
    (folder / "conditions.json").write_text(json.dumps(harvest.condition_names(headers)), "utf-8")
    names = lean.include_names(toolchain, headers)
    (folder / "headers.txt").write_text("\n".join(sorted(names)), "utf-8")
    for name, text in lean.headers(names).items():
        (folder / name).write_text(text, "utf-8")


def _below(headers: list[Path], folders: tuple[Path, ...]) -> list[Path]:
    return [header for header in headers if any(header.is_relative_to(f) for f in folders)]


def _copies(toolchain: Toolchain, folder: Path) -> None:
    """Copy our own stubs, and CUDA's small-float headers without their PTX.

    A host compiler can't take that PTX, and a precompiled header knows the paths of what it read.
    """
    for path in _precompiled_stubs():
        copy = folder / "stubs" / path.relative_to(_HERE / "stubs")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    (folder / "host").mkdir()
    for name in _COPIED:
        for suffix in (".h", ".hpp"):
            for include in toolchain.cuda_includes:
                path = include / (name + suffix)
                if path.is_file():
                    text = without_assembly(path.read_text("utf-8", "replace"))
                    (folder / "host" / path.name).write_text(text, "utf-8")
                    break

"""Compiles the simulator's library while the package is installed, so that no first grading waits for it.

In an editable install alone: a wheel goes to machines with other processors, which compile it for themselves.
Where something is missing, the first grading compiles it, as ever: installing never fails for it.
"""

from __future__ import annotations

import shutil
import sys
import types
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent


class BuildWithSimulator(build_py):
    """The usual step, and the library."""

    def run(self) -> None:
        """Copy the modules; compile the library beside its sources."""
        super().run()
        if self.editable_mode:
            try:
                compile_simulator()
            except Exception as error:  # noqa: BLE001 - the first grading compiles it
                self.warn(f"the simulator is compiled at the first grading: {error}")


def compile_simulator() -> None:
    """Compile for this machine, unless that has been done."""
    includes = cuda_folders()
    compiler = shutil.which("g++")
    if compiler is None or not includes:
        raise FileNotFoundError("no g++, or no headers of CUDA")
    library = the_module()
    library.build(library.INSTALLED, compiler, cuda_includes=includes[:1])
    shutil.rmtree(library.INSTALLED / "objects", ignore_errors=True)


def cuda_folders() -> list[Path]:
    """Return where headers of CUDA's runtime may be: pip's packages that building this one asks for come first."""
    sites = [Path(entry) for entry in sys.path if entry]
    folders = [folder for site in sites for folder in sorted(site.glob("nvidia/cu*/include"))]
    return [f for f in folders if (f / "cuda_runtime_api.h").is_file() and (f / "crt").is_dir()]


def the_module() -> types.ModuleType:
    """Import `grader.simulator.library` alone: the package needs more than there is while it is installed."""
    for name in ("grader", "grader.simulator"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(ROOT / name.replace(".", "/"))]
    from grader.simulator import library

    return library


setup(cmdclass={"build_py": BuildWithSimulator})

"""Precompiles torch's headers with clang in their final place, and compiles their inline functions once.

`types` is what load_inline puts before a CUDA file, `extension` goes on from it with torch/extension.h,
`main` is the same as a C++ file sees it, made where a program has a C++ file that tells them apart
(`on_demand`). What `main` has of code the two others have as well, so its half is compiled only where a
build lacks something (`driver.halves`).
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from grader.build import lean
from grader.build.driver import halves, host_pass
from grader.build.driver.config import Config
from grader.build.tool_queries import environment_of_tools
from grader.machine import cores

Progress = Callable[[str], None]
FOUNDED = {"extension": "types"}
"""Base of each precompiled header."""
HALVES = ("types", "extension")
"""Headers that every build may need."""


class HeaderPrecompiler:
    """Clang's processes for one prepared folder, as many at once as there are cores.

    Each step may be requested before its prerequisites are done; none raises where clang refuses.
    """

    def __init__(self, config: Config, progress: Progress) -> None:
        self._config = config
        self._progress = progress
        self._pool = ThreadPoolExecutor(cores())
        self._steps: dict[str, Future[bool]] = {}

    def types(self) -> None:
        """Start the header whose text is known beforehand."""
        Path(self._config.path("types.h")).write_text(lean.TYPES, "utf-8")
        self._begin("types")

    def rest(self, texts: dict[str, str]) -> None:
        """Start the others, whose texts are known now."""
        for name, text in texts.items():
            Path(self._config.path(f"{name}.h")).write_text(text, "utf-8")

    def finish(self) -> list[str]:
        """Wait for all; return the names of the headers that can be used."""
        with self._pool:
            if self._steps["types"].result():
                self._begin("extension")
                self._steps["types half"] = self._pool.submit(self._half, "types")
                if self._steps["extension"].result():
                    self._steps["extension half"] = self._pool.submit(self._half, "extension")
        return self._usable()

    def _begin(self, name: str) -> None:
        self._steps[name] = self._pool.submit(self._header, name)

    def _header(self, name: str) -> bool:
        return precompile(self._config, name, self._progress)

    def _half(self, name: str) -> bool:
        self._progress(f"compiling torch's headers ({name})")
        return _runs(
            *halves.commands(self._config, name, Path(self._config.prepared)), config=self._config
        )

    def _usable(self) -> list[str]:
        """Return the successful headers; failed steps are retried alone, since they may have lacked memory in parallel."""
        usable: list[str] = []
        for name in HALVES:
            if FOUNDED.get(name, name) not in (*usable, name):
                continue
            if self._compile_step(name, self._header) and self._compile_step(
                f"{name} half", self._half
            ):
                usable.append(name)
            else:
                self._progress(f"clang can't precompile {name}: such builds take the slow way")
        return usable

    def _compile_step(self, step: str, again: Callable[[str], bool]) -> bool:
        begun = self._steps.get(step)
        return (begun is not None and begun.result()) or again(step.removesuffix(" half"))


def precompile(config: Config, name: str, progress: Progress = lambda _what: None) -> bool:
    """Precompile one header whose text is written; False if clang can't."""
    progress(f"precompiling torch's headers ({name})")
    cuda = name in HALVES
    old_abi = name == "main_old_abi"
    defines = [host_pass.OLD_ABI] if old_abi else host_pass.CUDA_DEFINES if cuda else []
    codegen = ["-fpch-instantiate-templates", *([] if old_abi else ["-fpch-codegen"])]
    mode = ["-x", "c++-header", *defines, *codegen]
    first = ["-include-pch", config.path(f"{FOUNDED[name]}.pch")] if name in FOUNDED else []
    call = [*host_pass.common(config), *mode, *first, *host_pass.headers(config, cuda=cuda)]
    draft = config.path(f"{name}.pch.part")
    if not _runs([*call, config.path(f"{name}.h"), "-o", draft], config=config):
        return False
    Path(draft).rename(config.path(f"{name}.pch"))
    return True


def _runs(*commands: list[str], config: Config) -> bool:
    """Run commands one after the other, as long as they succeed; their output is kept in a file."""
    env = environment_of_tools()
    with Path(config.path("precompile.log")).open("ab") as out:
        for command in commands:
            done = subprocess.run(command, stdout=out, stderr=out, check=False, env=env)
            if done.returncode:
                return False
    return True

"""Torch's headers, precompiled by clang where they will stay, and the code that they bring compiled once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from grader.build.driver import host_pass
from grader.build.driver.config import Config
from grader.build.toolchain import environment_of_tools
from grader.machine import cores

Progress = Callable[[str], None]
HEADERS: dict[str, list[str]] = {
    "main": [],
    "types": host_pass.CUDA_DEFINES,
    "extension": host_pass.CUDA_DEFINES,
    "main_old_abi": [host_pass.OLD_ABI],
}
"""Names of the precompiled headers, with the macros that each is made under."""


def precompile(config: Config, progress: Progress) -> list[str]:
    """Precompile each header and compile its half of the code; return the names that worked."""
    with ThreadPoolExecutor(min(len(HEADERS), cores())) as pool:
        jobs = {
            name: pool.submit(_precompile_one, config, name, defines, progress)
            for name, defines in HEADERS.items()
        }
        failed = {name for name, job in jobs.items() if not job.result()}
    # Side by side they may have lacked memory; what fails here is slow for good.
    failed -= {n for n in failed if _precompile_one(config, n, HEADERS[n], progress)}
    return [name for name in HEADERS if name not in failed]


def _precompile_one(config: Config, name: str, defines: list[str], progress: Progress) -> bool:
    """Precompile one header and compile its half of the code; False if clang can't."""
    progress(f"precompiling torch's headers ({name})")
    made = config.path(f"{name}.pch")
    cuda = defines == host_pass.CUDA_DEFINES
    mode = ["-x", "c++-header", *defines]
    codegen = ["-fpch-instantiate-templates"]
    if name != "main_old_abi":
        codegen.append("-fpch-codegen")
    common = host_pass.common(config)
    call = [*common, *mode, *codegen, *host_pass.headers(config, cuda=cuda)]
    if not _runs([*call, config.path(f"{name}.h"), "-o", made], config.path(f"{name}.log")):
        progress(f"clang can't precompile {name}: such builds take the plain, slow way")
        return False
    if "-fpch-codegen" not in codegen:
        return True
    progress(f"compiling torch's headers ({name})")
    target = [str(config.zig), "clang", "--target=x86_64-linux-gnu", "-fPIC", "-O0", "-w", "-c"]
    sections = ["-ffunction-sections", "-fdata-sections"]
    half = config.path(f"{name}.o")
    if not _runs([*target, *sections, made, "-o", half], config.path(f"{name}.log")):
        return False
    return _runs(["ar", "rcs", config.path(f"{name}.a"), half], config.path(f"{name}.log"))


def _runs(arguments: list[str], log: str) -> bool:
    with Path(log).open("ab") as out:
        env = environment_of_tools()
        done = subprocess.run(arguments, stdout=out, stderr=out, check=False, env=env)
    return done.returncode == 0

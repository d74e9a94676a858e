"""Entry of the drivers: `main.py nvcc ARGUMENTS`, `main.py c++ ARGUMENTS`, `main.py ptxas ARGUMENTS` for Triton's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from grader.build.driver import config as configuration
from grader.build.driver import refusals
from grader.build.driver.command import Command, RefusedError, parse, refuse
from grader.build.driver.config import Config
from grader.build.driver.older import in_todays_words
from grader.build.driver.tools import CANNOT_RUN, STOCK_WAY, UNABLE, say, scratch, trace


def main(arguments: list[str]) -> int:
    """Run the driver for the compiler of this name; returns the exit status."""
    role, call = arguments[0], arguments[1:]
    config = configuration.load()
    if role.startswith("ptxas"):
        from grader.build.driver import triton

        return triton.assemble(config, role, call)
    command = parse(in_todays_words(config, role, call))
    if not command.sources:
        tool = config.nvcc if role == "nvcc" else config.gxx
        os.execv(tool, [tool, *call])  # noqa: S606 - a question such as --version is the real one's
    try:
        refuse(command, [*config.allowed, *_own_folders()])
    except RefusedError as error:
        sys.stderr.write(f"kernel-grader: error: {error}\n")
        return 1
    if role != "nvcc" and not command.compiles:
        from grader.build.driver import cxx

        return cxx.link(config, command)
    return _compile(config, command, role)


def _own_folders() -> list[str]:
    """Return the folders that may hold a submission's sources: for the build, its own file and temporary files."""
    given = (os.environ.get(name, "") for name in (refusals.VARIABLE, "TMPDIR"))
    return [str(Path(folder).resolve()) for folder in (".", *given) if folder]


def _compile(config: Config, command: Command, role: str) -> int:
    """Compile a file, unless the same compilation failed in an earlier guest."""
    refusal = refusals.Refusal(f"{role} {config.mode}", command.arguments, command.sources)
    known = refusal.text()
    if known is not None:
        say(known)
        return 1
    start = refusals.said_so_far()
    try:
        status = _compile_for_role(config, command, role)
    except Exception as error:  # noqa: BLE001 - whatever fails here is no word of a compiler
        trace(f"the driver failed: {error!r}")
        status = _plainly(config, command, role)
    if status == 0:
        refusal.forget()
    elif status != CANNOT_RUN:
        refusal.note(refusals.said_since(start))
    return status


def _compile_for_role(config: Config, command: Command, role: str) -> int:
    """Compile, importing only the modules for this compiler: drivers start several times in a build."""
    if role == "nvcc":
        from grader.build.driver import nvcc

        return nvcc.compile_cuda(config, command)
    from grader.build.driver import cxx

    return cxx.compile_cpp(config, command)


def _plainly(config: Config, command: Command, role: str) -> int:
    """Compile with the stock compilers, after a failure of the driver itself."""
    from grader.build.driver import stock

    say(STOCK_WAY)
    try:
        if role != "nvcc":
            return stock.plain_cpp(config, command)
        text = Path(command.sources[0]).read_text("utf-8", "replace")
        with scratch() as folder:
            return stock.compile_cuda(config, command, text, folder)
    except Exception as error:  # noqa: BLE001 - likewise
        say(f"{UNABLE} the driver: {error!r}")
        return CANNOT_RUN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

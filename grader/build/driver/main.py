"""Entry of both drivers: `main.py nvcc ARGUMENTS` and `main.py c++ ARGUMENTS`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from grader.build.driver import config as configuration
from grader.build.driver import cxx, nvcc
from grader.build.driver.command import RefusedError, parse, refuse


def main(arguments: list[str]) -> int:
    """Do what the compiler of this name would do; returns the exit status."""
    role, call = arguments[0], arguments[1:]
    config = configuration.load()
    command = parse(call)
    if not command.sources:
        tool = config.nvcc if role == "nvcc" else config.gxx
        os.execv(tool, [tool, *call])  # noqa: S606 - a question such as --version is the real one's
    try:
        refuse(command, [*config.allowed, str(Path.cwd())])
    except RefusedError as error:
        sys.stderr.write(f"kernel-grader: error: {error}\n")
        return 1
    if role == "nvcc":
        return nvcc.compile_cuda(config, command)
    return cxx.compile_cpp(config, command) if command.compiles else cxx.link(config, command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

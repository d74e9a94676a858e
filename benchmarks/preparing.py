"""What a new user waits for: all that is prepared once for a machine, made in an empty folder.

    python benchmarks/preparing.py
    taskset -c 0,1 python benchmarks/preparing.py     # as on two cores

Prints what was said to be in the making, with the wall time at which it began, then wall and CPU
seconds of the whole. The CPU seconds are of this process and of all compilers.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from pathlib import Path

from grader.build import discover
from grader.build.prepare import make_headers, prepare


def cpu() -> float:
    """Return the CPU seconds of this process and of those that it waited for."""
    used = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    """Prepare in a folder of its own, which is removed again."""
    toolchain = discover()
    with tempfile.TemporaryDirectory(prefix="preparing-") as folder:
        Path(folder).chmod(0o755)
        os.environ["KERNEL_GRADER_CACHE"] = folder
        wall, used = time.monotonic(), cpu()

        def say(what: str) -> None:
            print(f"{time.monotonic() - wall:6.1f} s  {what}", flush=True)

        prepared = prepare(toolchain, say)
        assert prepared.torch_library
        print(f"{time.monotonic() - wall:6.1f} s  a first program in Triton can run")
        make_headers(prepared)
        print(f"{time.monotonic() - wall:6.1f} s of wall time, {cpu() - used:.1f} s of CPU")
        size = sum(p.stat().st_size for p in Path(folder).rglob("*") if p.is_file())
        print(f"{size / 1e6:.0f} MB; precompiled: {', '.join(prepared.precompiled) or 'nothing'}")


if __name__ == "__main__":
    main()

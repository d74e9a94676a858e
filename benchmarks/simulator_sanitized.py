# ruff: noqa: E402 - the path comes before the imports
"""The simulator's core under the address and undefined-behaviour sanitizers. Exits 1 on anything they find.

    python benchmarks/simulator_sanitized.py [--jobs 2] [--storm 2000] [--rounds 2000] [--library PATH]

Builds the library with both, then runs all tests of tests/simulator/core on it (wrong blobs and texts in
`--storm` rounds), and `--rounds` random kernels of simulator_fuzz.py. Needs g++ with its libasan.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from grader.build.toolchain import discover
from grader.simulator import library

FIRST = ("libasan.so", "libstdc++.so")
"""Have to be loaded before anything else of the process: the one looks for the other's exceptions as it starts."""


def environment(gxx: str, built: Path, storm: int) -> dict[str, str]:
    """Return what the tests' processes need to run on the sanitized library."""
    paths = [_found(gxx, name) for name in FIRST]
    return os.environ | {
        "LD_PRELOAD": " ".join(paths),
        # Python itself leaks; a mapping without reserve is part of the simulator's design.
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=99:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=98",
        "KGSIM_TEST_LIBRARY": str(built),
        "KGSIM_STORM": str(storm),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONMALLOC": "malloc",
    }


def _found(gxx: str, name: str) -> str:
    done = subprocess.run([gxx, f"-print-file-name={name}"], capture_output=True, check=True)
    path = done.stdout.decode().strip()
    if not Path(path).is_absolute():
        raise SystemExit(f"{gxx} has no {name}")
    return path


def fuzz(built: Path, seed: int, rounds: int, variables: dict[str, str]) -> int:
    program = [sys.executable, str(ROOT / "benchmarks" / "simulator_fuzz.py"), str(built)]
    done = subprocess.run(
        [*program, "--seed", str(seed), "--rounds", str(rounds)],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"kernels from {seed} on: exit {done.returncode}: {(done.stdout + done.stderr)[-3000:]}")
    return done.returncode


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--storm", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--library", type=Path, help="built with sanitizers before")
    given = parser.parse_args()
    tools = discover()
    if tools.gxx is None:
        raise SystemExit("no g++")
    gxx = str(tools.gxx)
    with tempfile.TemporaryDirectory() as scratch:
        built = given.library or library.build(
            Path(scratch), gxx, cuda_includes=tools.cuda_includes, sanitize=True, jobs=given.jobs
        )
        variables = environment(gxx, built, given.storm)
        tests = [
            sys.executable,
            "-m",
            "pytest",
            "tests/simulator/core",
            "-q",
            "-n",
            str(given.jobs),
        ]
        status = subprocess.run(tests, cwd=ROOT, env=variables, check=False).returncode
        share = -(-given.rounds // given.jobs)
        with ThreadPoolExecutor(given.jobs) as pool:
            each = [
                pool.submit(fuzz, built, k * share, share, variables) for k in range(given.jobs)
            ]
            failed = [job.result() for job in each]
    return 1 if status or any(failed) else 0


if __name__ == "__main__":
    sys.exit(main())

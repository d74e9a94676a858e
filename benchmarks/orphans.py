"""Guests killed at any moment of their lives, under each form of the sandbox; what is left of them.

Run as `python benchmarks/orphans.py [guests a form] [--longest SECONDS] [--jobs N] [--form NAME]` (1000 by
default); exits with 1 where a process is left. On a busy machine give them longer than a second: a guest that is killed
before its first line ran (`grader_error`) shows little. Each guest starts a child in a session of its own, which sleeps, and a grandchild that
ignores every signal; all of them bear a name by which they are looked for on the whole machine.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grader.sandbox import Form, GuestJob, Limits, converse, forms

MARK = f"kg-orph-{os.getpid()}"[:15]
CODE = f"""
import ctypes, os, signal, time, torch
ctypes.CDLL(None).prctl(15, b"{MARK}", 0, 0, 0)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
    time.sleep(1000)
time.sleep(1000)
"""


def left() -> list[int]:
    """Return the processes anywhere on this machine that bear the guests' name."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == MARK:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def kill_one(form: Form, wall: float) -> str:
    """Start a guest, let it live so long, and return how it ended; nothing of it is there then."""
    job = GuestJob(role="submission", code=CODE, entry="ModelNew", device="cpu")
    return converse(job, form, Limits(wall=wall)).status


def main(count: int, longest: float, jobs: int, only: str) -> int:
    chance = random.Random(1)
    print("| form | guests killed | how they ended | processes left | s |\n|---|---|---|---|---|")
    failed = False
    for form in forms():
        if only not in {"", form.name}:
            continue
        began = time.monotonic()
        walls = [chance.uniform(0.01, longest) for _ in range(count)]
        with ThreadPoolExecutor(jobs) as pool:
            ended = Counter(pool.map(lambda wall, form=form: kill_one(form, wall), walls))
        remaining = left()
        failed |= bool(remaining)
        said = ", ".join(f"{status} {number}" for status, number in ended.most_common())
        seconds = time.monotonic() - began
        print(f"| {form.name} | {count} | {said} | {len(remaining)} | {seconds:.0f} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("guests", type=int, nargs="?", default=1000, help="under each form")
    parser.add_argument("--longest", type=float, default=1.0, help="seconds that the last may live")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="guests at a time")
    parser.add_argument("--form", default="", help="this form alone")
    given = parser.parse_args()
    raise SystemExit(main(given.guests, given.longest, given.jobs, given.form))

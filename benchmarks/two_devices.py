"""One verdict whatever the device: labelled programs graded on the simulator and on a GPU, and where the two differ.

    python benchmarks/two_devices.py [--answers FOLDER --tasks FOLDER] [--jobs N] [--part K/N]
        [--seconds S] [--write FILE]

Grades the labelled set (tests/corpus: originals, seeded defects, right programs that look wrong) and, where a folder is
given, answers named as KernelBench names them, on `sim` and on `cuda`, without repair and without time. Prints
each program whose statuses differ with both sentences, and each verdict that its label does not allow. Exits with 1
where there is either. After `--seconds` on a device its grading is interrupted, and what both graded is compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from run_folder import ROOT, block, grade, write

sys.path.insert(0, str(ROOT))

from tests.corpus import corpus

DEVICES = ("sim", "cuda")


@dataclass(frozen=True)
class Program:
    """One program, its task, and which statuses its label allows; any, where nothing is known."""

    name: str
    task: str
    code: str
    allowed: tuple[str, ...] = ()


def main() -> int:
    """Grade on both, and print where they differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--answers", type=Path)
    parser.add_argument("--tasks", type=Path)
    parser.add_argument("--jobs", default="0")
    parser.add_argument("--part", default="1/1", help="the Kth of N interleaved parts")
    parser.add_argument("--seconds", type=float, help="for each device")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    part, parts = (int(one) for one in options.part.split("/"))
    programs = [*labelled(), *right()][part - 1 :: parts]
    rows = {device: graded(programs, options, device) for device in DEVICES}
    told = [_told(name, rows) for name in sorted(rows["sim"].keys() & rows["cuda"].keys())]
    allowed = {program.name: program.allowed for program in programs}
    differ = [one for one in told if one["sim"] != one["cuda"]]
    against = [
        (one["name"], device, one[device])
        for one in told
        for device in DEVICES
        if allowed.get(one["name"]) and one[device] not in allowed[one["name"]]
    ]
    for one in differ:
        print(f"{one['name']}: {one['sim']} on sim, {one['cuda']} on cuda")
        print(f"    sim:  {one['sim sentence']}\n    cuda: {one['cuda sentence']}")
    for name, device, status in against:
        print(f"{name} on {device}: {status}, labelled {' or '.join(allowed[name])}")
    pairs = Counter((one["sim"], one["cuda"]) for one in told)
    for (sim, cuda), count in pairs.most_common():
        print(f"{count:4} {sim} on sim, {cuda} on cuda")
    left = len(rows["sim"].keys() ^ rows["cuda"].keys())
    print(
        f"{len(told)} programs, {len(differ)} differ, {len(against)} against their label, {left} on one device alone"
    )
    if options.write:
        kept = {"programs": told, "differ": len(differ), "against": against}
        options.write.write_text(json.dumps(kept, indent=1), "utf-8")
    return int(bool(differ or against))


def labelled() -> list[Program]:
    """Return the labelled set."""
    return [
        Program(one.name, one.task, one.code, one.verdict)
        for one in (*corpus.originals(), *corpus.mutants())
    ]


def right() -> list[Program]:
    """Return right programs that look like wrong ones."""
    found = []
    for path in sorted((ROOT / "tests/corpus/right").glob("*.py")):
        first, _, code = path.read_text("utf-8").partition("\n")
        task = first.removeprefix("# task: ").strip()
        found.append(Program(f"right {path.stem}", task, code, ("correct",)))
    return found


def graded(
    programs: Sequence[Program], options: argparse.Namespace, device: str
) -> dict[str, Mapping[str, Any]]:
    """Return the rows of all programs on a device, by name."""
    words = ["--device", device, "--no-repair", "--no-timing", "--jobs", options.jobs]
    with tempfile.TemporaryDirectory(prefix="two-devices-") as folder:
        records = ((one.name, one.task, block(one.code)) for one in programs)
        samples = write(records, Path(folder, "labelled.jsonl"))
        limit = options.seconds
        rows = dict(grade(samples, Path(folder, "out"), *words, limit=limit).rows)
        if options.answers:
            tasks = ["--tasks", str(options.tasks)] if options.tasks else []
            rows |= grade(options.answers, Path(folder, "answers"), *words, *tasks).rows
    return {name.rpartition("#")[2]: row for name, row in rows.items()}


def _told(name: str, rows: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, str]:
    said: dict[str, str] = {"name": name}
    for device in DEVICES:
        row = rows[device][name]
        said[device] = str(row["status"])
        said[f"{device} sentence"] = " ".join(str(row["sentence"]).split())[:300]
    return said


if __name__ == "__main__":
    sys.exit(main())

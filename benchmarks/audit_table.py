"""What wrong programs would get on each problem of a folder, as a table and in figures.

    python benchmarks/audit_table.py [--jobs N] [--seconds S] /path/to/KernelBench docs/reference/audit.md

After `--seconds` no problem is begun. Problems that a run has been through are kept beside the table (`audit.md.jsonl`) and not asked again: delete
that file after a change to how sizes are chosen.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from grader.errors import UsageError
from grader.execution.audit import TRIVIAL, audit
from grader.execution.describe import describe
from grader.execution.folder_audit import audit_folder
from grader.records import Task
from grader.sandbox import Form, Limits, strongest
from grader.tasks.problem import load

FULL = Limits(wall=100.0, memory=6 << 30)
"""Of the guests that compute a result of full size."""
MOST = 2**27
"""Elements of the inputs of a full size that is computed."""
ANSWERS = ("zeros", "a constant", "the input", "the answer to other inputs")
"""What is asked about the full size of a problem that lets something trivial pass."""
COLUMNS = (
    "problem",
    "deciding sizes",
    "weak",
    "trivial with its own values",
    "at its own size",
    "passes on some",
    "no effect",
    "not computed",
    "note",
)
HEAD = """# Audit of KernelBench's deciding sizes

Made by `python benchmarks/audit_table.py FOLDER docs/reference/audit.md`; do not edit.

A problem is decided at reduced sizes. Before one of them decides, wrong programs are tried on it: zeros, a
constant, the input, and the reference itself on other inputs, with a part of an input skipped or permuted,
with an input left out, with other weights, with two equal dims swapped, and with each parameter left out.
A size at which one of them passes that fails at another is replaced.

The deciding workloads are the nominal ones (values like the problem's own) and those with other values at the
same sizes (role `stress`). *Weak*: what passes on all of them (where only one choice of sizes can be
made, also what is right at any size: the rows of a mean in another order). *Passes on some*: what passes on one of them and fails on
another, so that the verdict rests on the other. *Trivial with its own values*: zeros, a constant, the input, other
inputs or a skipped part that pass on the nominal workloads of every choice of sizes; where the problem is not weak,
other values catch them. *No effect*: other changes to the reference that pass on nominal workloads of every choice of
sizes that was compared (two to four, all reduced: not the full size). It is inferred from these that the result
does not depend on what they change, as of a sum in another order. *At its own size*: what passes and fails there, asked where
something trivial passes and inputs of full size fit into memory; of deep networks without a float64 result. *Not
computed*: programs that were asked for and not computed in time; nothing is concluded from these.

Parameters that start at a neutral value (a weight of ones, a bias of zeros) are not left out: that changes nothing.
At most 16 parameters and 8 swaps of a problem are tried.
"""


def main() -> None:
    """Ask about every problem, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf)
    given = parser.parse_args()
    kept = given.table.with_suffix(f"{given.table.suffix}.jsonl")
    done = {row["problem"]: row for row in _read(kept)}
    paths = {f"{path.parent.name}/{path.stem}": path for path in given.folder.rglob("*.py")}
    waiting = [name for name in sorted(paths, reverse=True) if name not in done]
    form, end = strongest(), time.monotonic() + given.seconds

    def one_row(name: str) -> dict[str, Any] | None:
        return _row(name, paths[name], form) if time.monotonic() < end else None

    with ThreadPoolExecutor(given.jobs) as pool, kept.open("a") as file:
        for row in filter(None, pool.map(one_row, waiting)):
            done[row["problem"]] = row
            print(json.dumps(row), file=file, flush=True)
            said = "; ".join(row["weak"]) or row["note"]
            print(f"{row['seconds']:6.1f} s  {row['problem']}: {said}", flush=True)
    given.table.write_text(_table(done))


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _order(path: Path) -> tuple[str, int]:
    number = path.stem.split("_")[0]
    return path.parent.name, int(number) if number.isdigit() else 0


def _trivial(unmoved: Collection[str]) -> list[str]:
    """Return what passes with the problem's own values at every size."""
    return sorted(name for name in unmoved if name.partition(":")[0] in TRIVIAL)


def _row(name: str, path: Path, form: Form) -> dict[str, Any] | None:
    begin = time.monotonic()
    try:
        (item,) = audit_folder(path, form, Limits())
    except UsageError:
        return None
    doubtful = item.weak or _trivial(item.found.unmoved)
    return {
        "problem": name,
        "sizes": list(item.sizes),
        "weak": list(item.weak),
        "passing": list(item.passing),
        "unmoved": sorted(item.found.unmoved),
        "unknown": list(item.unknown),
        "choices": item.found.choices,
        "asked": sorted({row.kind for row in item.found.rows}),
        "note": item.note,
        "seconds": round(time.monotonic() - begin, 1),
        "full": _at_full_size(describe(load(path), form, Limits()), form) if doubtful else "",
    }


def _at_full_size(task: Task, form: Form) -> str:
    """Return what passes at the problem's own size."""
    full = task.full
    if full is None or sum(_elements(item) for item in full.inputs) > MOST:
        return "not computed"
    rows = audit(task, form, FULL, workloads=(full,), programs=ANSWERS, seconds=FULL.wall)
    passing = [row.program for row in rows if row.passes]
    failing = [row.program for row in rows if row.fails]
    said = [
        (f"{', '.join(some)} {verb}")
        for some, verb in ((passing, "pass"), (failing, "fail"))
        if some
    ]
    return "; ".join(said) or "not computed"


def _elements(item: Any) -> int:
    found = 1
    for length in getattr(item, "shape", ()):
        found *= length
    return found


def _table(done: Mapping[str, Mapping[str, Any]]) -> str:
    rows = sorted(done.values(), key=lambda row: _order(Path(f"{row['problem']}.py")))
    asked = [row for row in rows if row["asked"]]
    weak = [row for row in asked if row["weak"]]
    open_ = [row for row in asked if row["passing"]]
    own = [row for row in asked if _trivial(row["unmoved"])]
    short = [row for row in asked if row["unknown"]]
    clear = [r for r in asked if not any(r in some for some in (weak, open_, own, short))]
    lines = [
        HEAD,
        f"{len(rows)} problems; {len(asked)} audited, {len(rows) - len(asked)} not (see the note).",
        f"On {len(clear)} every program that was tried fails on every deciding workload, but for *no effect*.",
        f"The others, some of them in several ways: {len(weak)} weak, {len(own)} trivial with their own values,",
        f"{len(open_)} where a program passes on some deciding workload, {len(short)} not computed in full.\n",
        f"| {' | '.join(COLUMNS)} |",
        f"|{'---|' * len(COLUMNS)}",
    ]
    lines += [f"| {' | '.join(map(_cell, _cells(row)))} |" for row in rows]
    return "\n".join(lines) + "\n"


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["problem"],
        "<br>".join(f"{name[:77]}..." if len(name) > 80 else name for name in row["sizes"]),
        "; ".join(text.removesuffix(" would pass") for text in row["weak"]),
        "; ".join(_trivial(row["unmoved"])),
        row["full"],
        "; ".join(row["passing"]),
        "; ".join(sorted(set(row["unmoved"]) - set(_trivial(row["unmoved"])))),
        "; ".join(row["unknown"]),
        row["note"],
    )


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())


if __name__ == "__main__":
    main()

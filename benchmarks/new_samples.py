"""What grading new samples takes on a machine that is prepared: of new problems, and of problems seen before.

    python benchmarks/new_samples.py [--jobs N]

First all of `samples/` is graded into a new run folder, with whatever the user's store has prepared for the machine,
and with nothing known of any sample or task. Then each is answered once more by a kernel whose text is new (a
comment in front of each `__global__`), in the same folder of samples: every build, run, diagnosis and fix is
made again; what a task needs (inputs, its reference-fixed kernel) is known by then, as it is when the next answers
to a benchmark's problems come in. The verdicts of both must agree.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
from pathlib import Path

from run_folder import ROOT, grade


def main() -> int:
    """Grade twice; print the wall times and what differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--jobs", default="0")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="new-samples-") as name:
        samples, out = Path(name, "samples"), Path(name, "out")
        shutil.copytree(ROOT / "samples", samples)
        first = grade(samples, out, "--fresh", "--jobs", options.jobs)
        changed = write_anew(samples)
        again = grade(samples, out, "--jobs", options.jobs)
    print(f"{len(first.rows)} samples, nothing known: {first.seconds:.0f} s")
    print(f"{len(changed)} more, of known problems: {again.seconds:.0f} s")
    differ = [
        f"{old}: {again.rows[old]['status']}, {again.rows[new]['status']}"
        for old, new in changed.items()
        if again.rows[old]["status"] != again.rows[new]["status"]
    ]
    print("verdicts:", "; ".join(differ) or "the same")
    return 1 if differ else 0


def write_anew(folder: Path) -> dict[str, str]:
    """Write each sample once more with another text; return the new names by the old."""
    names = {}
    for path in sorted(folder.iterdir()):
        text = path.read_text("utf-8")
        other = re.sub(
            r"^(?=__global__|template *<)", "// answered again\n", text, flags=re.MULTILINE
        )
        if other != text:
            names[path.stem] = f"{path.stem}_again"
            path.with_stem(names[path.stem]).write_text(other, "utf-8")
    return names


if __name__ == "__main__":
    raise SystemExit(main())

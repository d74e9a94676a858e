"""What a real GPU says of the Triton corpus, by a script that shares no code with the grader.

    python benchmarks/triton_truth.py bundle > truth.py     # here: programs, references and workloads in one file
    python truth.py OUT.json [--jobs 12] [part of a name]   # on a machine with a GPU, torch and Triton
    TRITON_INTERPRET=1 python truth.py OUT.json --cpu       # Triton's interpreter, for a first look without a GPU

Each program runs in a process of its own on each workload but those of role `full`, against the reference in
float64. A workload is right where |a - r| <= 1e-4 * (rms(r) + |r|); how far it was off is kept too.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def bundle() -> str:
    """Return the script with all that it needs."""
    sys.path.insert(0, str(ROOT))
    from grader.tasks import builtin_tasks
    from tests.corpus import corpus

    labels = (*corpus.originals("triton"), *corpus.variants("triton"), *corpus.mutants("triton"))
    tasks: dict[str, Any] = {
        name: {
            "reference": task.reference,
            "workloads": [w.model_dump(mode="json") for w in task.workloads if w.role != "full"],
        }
        for name, task in builtin_tasks().items()
    }
    held = {
        "tasks": tasks,
        "programs": {one.name: {"task": one.task, "code": one.code} for one in labels},
    }
    packed = base64.b85encode(zlib.compress(json.dumps(held).encode(), 9)).decode()
    inputs = (ROOT / "grader/judge/inputs.py").read_text("utf-8")
    packed_inputs = base64.b85encode(zlib.compress(inputs.encode(), 9)).decode()
    script = (Path(__file__).with_name("triton_truth_script.py")).read_text("utf-8")
    return script.replace('HELD = ""', f'HELD = "{packed}"').replace(
        'INPUTS = ""', f'INPUTS = "{packed_inputs}"'
    )


if __name__ == "__main__":
    print(bundle())

"""The whole program as a user starts it, and folders of samples for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TEXT_ONLY = ("--device", "none", "--seed", "7")
"""Nothing is built or run: a sample takes some milliseconds."""
ENOUGH_FOR_RUNS = 1e-3
"""`sample_seconds` of a verdict that rests on the runs: the time is over when the other looks would begin."""


def command(*arguments: str | Path) -> list[str]:
    """Return the call of the program."""
    return [sys.executable, str(ROOT / "grade.py"), *map(str, arguments)]


def environment(cache: Path, **more: str) -> dict[str, str]:
    """Return an environment in which the store is a folder of the test's own."""
    return {**os.environ, "KERNEL_GRADER_CACHE": str(cache), "COLUMNS": "200", **more}


def grade(*arguments: str | Path, cache: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    return subprocess.run(
        command(*arguments),
        env=environment(cache, **options.pop("variables", {})),
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
        **options,
    )


def write_samples(folder: Path, count: int) -> Path:
    """Write transcripts that differ, each with a kernel, in a new folder."""
    folder.mkdir()
    for number in range(count):
        (folder / f"sample_{number:03}.md").write_text(transcript(number))
    return folder


def transcript(number: int) -> str:
    """Return an answer with a kernel of its own."""
    return f'''Here is kernel {number}; it multiplies by {number}.

```python
import torch
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void scale(const float* x, float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = {number}.0f * x[i];
}}
torch::Tensor run(torch::Tensor x) {{
    auto y = torch::empty_like(x);
    scale<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}}
"""
module = load_inline("scale_{number}", ["torch::Tensor run(torch::Tensor x);"], [source],
                     functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.run(x)
```
'''


def outcome(folder: Path) -> dict[str, object]:
    """Return what a run folder says, without times; raises where a row is lost or double."""
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    twice = [name for name, count in Counter(row["sample"] for row in rows).items() if count > 1]
    assert not twice, f"double rows: {twice}"
    assert not list(folder.rglob(".draft-*"))
    found: dict[str, object] = {
        row["sample"]: {k: v for k, v in row.items() if k not in {"seconds", "machine"}}
        for row in rows
    }
    names = {path.stem for path in (folder / "data").iterdir()}
    assert names == set(found)
    for path in (*folder.glob("*.md"), *(folder / "pages").iterdir(), folder / "results.sarif"):
        found[path.name] = path.read_bytes()
    return found

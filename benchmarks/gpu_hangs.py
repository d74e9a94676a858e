"""Kernels that never end, one after the other: each must be `hung`, and nothing else may suffer.

    python benchmarks/gpu_hangs.py [--hangs 50] [--seconds 5] [--device cuda] [--jobs 4]

After every five of them a right kernel is graded, which must be `correct`. Exits with 1 where a
verdict is another. Prints what became of each kind, and how long it took.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.run_folder import block, grade, write

LOOPS = {
    "endless": "while (true) { out[i] = x[i]; }",
    "flag": "volatile float* seen = out; seen[n - 1] = 0.0f; while (seen[n - 1] == 0.0f) {}",
    "one-thread": "if (i == 0) { unsigned k = 1u; while (k | 1u) { k += 2u; out[0] = (float)k; } }",
    "lock": "int* lock = (int*)out; atomicExch(lock, 1); while (atomicCAS(lock, 0, 1) != 0) {}",
    "clock": "long long t = clock64(); while (clock64() - t < (1ll << 62)) {}",
}
"""What stands before the right statement, by the kind of hang; `right` has none."""
PROGRAM = """
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r'''
__global__ void relu_kernel(const float* x, float* out, long n) {
    const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    %s
    out[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

torch::Tensor relu(torch::Tensor x) {
    auto out = torch::empty_like(x);
    const long n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
'''
module = load_inline("relu_%d", "torch::Tensor relu(torch::Tensor x);", SOURCE, functions=["relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.relu(x.contiguous())
"""


def samples(hangs: int) -> Iterator[tuple[str, str, str]]:
    """Yield the programs, a right one after every five that hang."""
    kinds = list(LOOPS)
    for number in range(hangs):
        kind = kinds[number % len(kinds)]
        yield f"{number:03d}-{kind}", "relu", block(PROGRAM % (LOOPS[kind], number))
        if number % 5 == 4:
            yield f"{number:03d}-right", "relu", block(PROGRAM % ("", 1000 + number))


def main(hangs: int, seconds: float, device: str, jobs: int) -> int:
    """Grade them, print the table, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        path = write(samples(hangs), Path(folder) / "hangs.jsonl")
        options = ("--device", device, "--jobs", str(jobs), "--run-seconds", str(seconds))
        graded = grade(
            path, Path(folder) / "out", *options, "--no-repair", "--no-timing", "--no-sanitize"
        )
    seen = Counter((name.split("-", 1)[1], row["status"]) for name, row in graded.rows.items())
    for (kind, status), count in sorted(seen.items()):
        print(f"{kind:12} {status:14} {count}")
    wanted = {name: "correct" if "right" in name else "hung" for name in graded.rows}
    wrong = {n: r["sentence"] for n, r in graded.rows.items() if r["status"] != wanted[n]}
    for name, sentence in wrong.items():
        print(f"not as expected: {name}: {sentence}")
    print(f"{graded.environment.get('device', device)}: {len(wanted)} in {graded.seconds} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hangs", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=5.0, help="that one program may run")
    parser.add_argument("--device", default="cuda", choices=["cuda", "sim"])
    parser.add_argument("--jobs", type=int, default=4)
    given = parser.parse_args()
    raise SystemExit(main(given.hangs, given.seconds, given.device, given.jobs))

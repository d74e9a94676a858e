"""CPU time of long texts through extraction, telling the task and all rules: no text may cost more than linear time.

    python benchmarks/text_cost.py [--size 60000] [--only NAME] [--tasks FOLDER] [FILE or FOLDER ...]

Long answers are made of the labelled kernels and of what is hard to read: many fences, one endless line, brackets
that never close. Each is measured at half of the size and at the whole. Exits with 1 where one of the whole takes
over a second of CPU, on a core of its own; answers from files are measured as they are.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from itertools import cycle, pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grader.ingest import extract, read_samples
from grader.records import Sample
from grader.rules import Context, all_rules
from grader.source import parse
from grader.tasks import choose
from tests.corpus import corpus
from tests.rules.reviews import review_text
from tests.whole import ROOT

LIMIT = 1.0
"""Seconds of CPU."""
STAGES = ("extract", "task", "rules")
_PROSE = (
    "First, the row's maximum is subtracted so that softmax is stable, and each block reduces `x[i]` over dim=1. "
    "Wait, `blockDim.x` may be larger than N; then (see above) the tail (i < N) is masked: out[i] = exp(x[i] - m) / s.\n"
)
_STATEMENT = (
    "    acc = fmaf(a[i + {0}], b[(i + {0}) * n], acc); if (i < n - {0}) out[i + {0}] = acc;\n"
)
_KERNEL = "__global__ void k(const float* a, const float* b, float* out, int n) {{\n    int i = blockIdx.x * blockDim.x + threadIdx.x; float acc = 0;\n{0}}}\n"
_MODULE = "import torch\nfrom torch.utils.cpp_extension import load_inline\nsource = r'''\n{0}'''\nmodule = load_inline(name='m', cpp_sources='', cuda_sources=source, functions=['run'])\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return module.run(x)\n"


def _filled(size: int, pieces: Iterator[str]) -> str:
    parts: list[str] = []
    length = 0
    while length < size:
        parts.append(next(pieces))
        length += len(parts[-1])
    return "".join(parts)[:size]


def _codes() -> Iterator[str]:
    return cycle([label.code for label in corpus.originals()])


def _fenced(code: str) -> str:
    return f"```python\n{code}\n```\n"


def _statements() -> Iterator[str]:
    return (_STATEMENT.format(number) for number in range(1 << 30))


def _repeated(piece: str) -> Callable[[int], str]:
    return lambda size: _filled(size, cycle([piece]))


def _source(piece: str) -> Callable[[int], str]:
    """Return a module whose CUDA text is one kernel and, after it, this piece again and again."""
    kernel = _KERNEL.format("    out[i] = a[i];\n")
    return lambda size: _fenced(_MODULE.format(kernel + _filled(size, cycle([piece]))))


def _body(piece: str) -> Callable[[int], str]:
    """Return a module with one kernel whose body is this piece again and again."""
    return lambda size: _fenced(_MODULE.format(_KERNEL.format(_filled(size, cycle([piece])))))


SHAPES: dict[str, Callable[[int], str]] = {
    "answers": lambda size: _filled(size, (_PROSE + _fenced(code) for code in _codes())),
    "one module": lambda size: _fenced(_filled(size, _codes())),
    "prose": lambda size: _filled(size, cycle([_PROSE])) + _fenced(next(_codes())),
    "one kernel": lambda size: _fenced(
        _MODULE.format(_KERNEL.format(_filled(size, _statements())))
    ),
    "many kernels": lambda size: _fenced(
        _MODULE.format(
            _filled(size, (_KERNEL.format(_STATEMENT.format(n)).replace(" k(", f" k{n}(") for n in range(1 << 30)))
        )
    ),
    "one line": lambda size: _fenced(_MODULE.format(_KERNEL.format("acc += a[i] * 2.0f; " * (size // 20)))),
    "sums": lambda size: _fenced(_MODULE.format(_KERNEL.format("acc = " + "a[i] + " * (size // 7) + "0;\n"))),
    "helpers": lambda size: _fenced(
        _filled(size, (f"def helper_{n}(x, y=None):\n    return x + {n} if y else helper_{n - 1}(y, x)\n" for n in range(1, 1 << 30)))
    ),
    "thought": lambda size: _filled(
        size, (f"{_PROSE}    x = torch.softmax(a, dim=1)\nclass Model(nn.Module): ...\n{n}. " for n in range(1 << 30))
    ),
    "transcript": lambda size: _filled(size, (f"User: {_PROSE}\nAssistant: {_fenced(code)}" for code in _codes())),
    "comments": _source("/* __global__ k<<<1, 2>>>(x); // " + "*" * 30 + "\n"),
    "macros": _source("#define f(x, y) f(x) + \\\\\n  f(y) ## x\n#if f(1)\n"),
    "same name": _source("void f(float* x, int n) { k<<<(n + 255) / 256, 256>>>(x, x, x, n); }\n"),
    "launches": lambda size: _fenced(
        _MODULE.format(
            _KERNEL.format("    out[i] = a[i];\n")
            + _filled(size, (f"void f{n}(float* x, int n) {{ k<<<(n + {n}) / 256, 256>>>(x, x, x, n); }}\n" for n in range(1 << 30)))
        )
    ),
    "templates": _source("template <class T, int N> struct S { T x[N]; S<T, N - 1> rest; };\n"),
    "ifs": _body("    if (i < n) { acc += a[i]; } else { __syncthreads(); }\n"),
    "loops": _body("    for (int j = 0; j < n; j += 32) acc += a[j * n + i] * b[i];\n"),
    "shared": _body("    { __shared__ float t[64]; t[threadIdx.x] = a[i]; __syncthreads(); acc += t[0]; }\n"),
    "shuffles": _body("    acc += __shfl_down_sync(0xffffffff, acc, 16); if (threadIdx.x == 0) out[i] = acc;\n"),
    "nested": _body("    if (i < n) { for (int j = 0; j < 4; ++j) {\n"),
    "assignments": _body("    acc = acc * 2.0f + a[i]; int j = i; i = j + 1;\n"),
    "attributes": lambda size: _fenced(
        _MODULE.format(_KERNEL.format("")).replace("return", _filled(size, cycle(["x = x.relu().view(-1)\n        "])) + "return")
    ),
    "open brackets": _repeated("(" * 50 + "[" * 50 + "{" * 50 + "\n"),
    "backticks": _repeated("``` ` `` ```\n"),
    "quotes": _repeated("'''\"\"\"\n' \" "),
    "spaces": _repeated(" " * 99 + "\n"),
    "blank": _repeated(" "),
    "digits": _repeated("1234567890"),
    "letters": _repeated("abcdefghij_"),
    "tags": _repeated("<think><b></think> <|im_end|> "),
    "hashes": _repeated("# ## ### title **bold** \n"),
    "backslashes": _repeated("\\\n"),
    "commas": _repeated("a, "),
}  # fmt: skip


def measure(text: str, tasks: Path | None = None) -> tuple[float, ...]:
    """Return the CPU seconds of each stage."""
    begun = [time.process_time()]
    sample = Sample(id="long", text=text, origin="long.md", format="transcript")
    extraction = extract(sample)
    begun.append(time.process_time())
    choice = choose(sample, extraction, task=None, tasks_dir=tasks)
    begun.append(time.process_time())
    if extraction.submission is not None:
        review_text(parse(extraction.submission.code), Context(task=choice.task))
    begun.append(time.process_time())
    return tuple(after - before for before, after in pairwise(begun))


def _row(name: str, spent: tuple[float, ...], more: str = "") -> None:
    stages = "  ".join(f"{stage} {value:6.2f}" for stage, value in zip(STAGES, spent, strict=True))
    print(f"{name:22} {sum(spent):6.2f} s  {stages}  {more}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--size", type=int, default=60_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--tasks", type=Path, help="a folder of problem files")
    options = parser.parse_args()
    all_rules()
    measure((ROOT / "samples" / "l2_norm_race.txt").read_text("utf-8"), options.tasks)
    worst = 0.0
    for name, shape in SHAPES.items() if not options.paths else ():
        if options.only in name:
            half, whole = (
                measure(shape(options.size // 2), options.tasks),
                measure(shape(options.size), options.tasks),
            )
            worst = max(worst, sum(whole))
            _row(name, whole, f"{sum(whole) / max(sum(half), 1e-3):.1f} times the half")
    spent = (
        [(measure(sample.text, options.tasks), sample.id) for sample in read_samples(options.paths)]
        if options.paths
        else []
    )
    for one, name in sorted(spent, key=lambda row: -sum(row[0]))[:12]:
        worst = max(worst, sum(one))
        _row(name, one)
    return 1 if worst > LIMIT else 0


if __name__ == "__main__":
    raise SystemExit(main())

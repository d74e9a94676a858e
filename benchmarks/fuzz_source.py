"""Throws mutated and truncated transcripts at ingest and source, and checks what must hold.

    python benchmarks/fuzz_source.py [--inputs 50000] [--seed 1] [FOLDER ...]

The folders (by default `samples/`) hold the transcripts that are mutated. Where anything raises, a
line map is wrong, or an input takes over two seconds, the input is kept in the current folder and
the exit code is 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from grader.ingest import extract, read_samples
from grader.records import Sample
from grader.source import Source, parse
from grader.source.cuda_tree import descend

LIMIT = 2.0
"""Seconds for one input."""
WORDS = (
    '"""', "'''", '"', "'", "\\", "\n", "\r\n", "\0", "\t", "{", "}", "{{", "(", ")", "[", "]",
    "<<<", ">>>", "<", ">", "```", "```python\n", "~~~\n", "</think>", "<think>", "f'", "rb'",
    "__global__ ", "__shared__ ", "class ModelNew:\n", "class Model(nn.Module):\n", "def forward(",
    "load_inline(", "\ufeff", "\u2028", "\ud800", "é", "\U0001f600", "#", "//", "/*", "*/",
    "template <", "+ src", ".format(x)", "x = x + x\n", "    ", "lambda: ", "...", "import torch\n",
    "\x0c", "\\N{BULLET}", "\\x4", "%d",
)  # fmt: skip

Mutation = Callable[[random.Random, str], str]


def truncate(rng: random.Random, text: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


def behead(rng: random.Random, text: str) -> str:
    return text[rng.randrange(len(text) + 1) :]


def delete(rng: random.Random, text: str) -> str:
    start = rng.randrange(len(text) + 1)
    return text[:start] + text[start + rng.choice((1, 3, 30, 300)) :]


def insert(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(WORDS) * rng.choice((1, 1, 1, 2, 40)) + text[at:]


def swap_lines(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines)


def repeat(rng: random.Random, text: str) -> str:
    start = rng.randrange(len(text) + 1)
    end = min(len(text), start + rng.choice((10, 100, 2000)))
    return text[:end] + text[start:end] * rng.choice((1, 2, 5)) + text[end:]


def flip(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + chr(rng.choice((rng.randrange(128), rng.randrange(0x3000)))) + text[at + 1 :]


def indent(rng: random.Random, text: str) -> str:
    prefix = rng.choice(("  ", "\t", "> ", "    "))
    return "\n".join(prefix + line for line in text.split("\n"))


MUTATIONS: tuple[Mutation, ...] = (
    truncate, behead, delete, delete, insert, insert, insert, swap_lines, repeat, flip, indent,
)  # fmt: skip


def mutated(rng: random.Random, text: str) -> str:
    """Return a text after one to six mutations."""
    for _ in range(rng.randrange(1, 7)):
        text = rng.choice(MUTATIONS)(rng, text)
    return text[:200_000]


def check(text: str) -> None:
    """Read a text in every way that the grader does, and check what must hold."""
    one = Sample(id="fuzz", origin="fuzz", format="transcript", text=text)
    extraction = extract(one)
    submission = extraction.submission
    if submission is None:
        assert extraction.found
        return
    lines = text.split("\n")
    code = submission.code.split("\n")[:-1]
    assert len(code) == len(submission.line_map)
    for line, number in zip(code, submission.line_map, strict=True):
        assert number == 0 or line.strip() in lines[number - 1]
    check_source(parse(submission.code))


def check_source(source: Source) -> None:
    """Read every fact of a source, and every place."""
    for unit in source.units:
        at = 0
        for piece in unit.origin.pieces:
            if piece.verbatim:
                value = unit.text[at : at + piece.length]
                assert value == source.code[piece.start : piece.end]
            at += piece.length
        assert at == len(unit.text)
        _ = (unit.declarations, unit.launches, unit.shared, unit.bindings, unit.constants)
        _ = (unit.includes, unit.macros, [(one.shared, one.code) for one in unit.functions])
        for count, node in enumerate(descend(unit.tree)):
            if count % 50 == 0:
                place = unit.place(node)
                assert 1 <= place.line <= place.end_line <= len(source.lines)
                unit.edit(node.start_byte, node.end_byte, "")
    for extension in source.extensions:
        source.place(extension.node)
        for line in (1, 4, 50):
            source.compiled_place("cuda.cu", line, extension=extension.name)
    _ = (source.module.classes, source.module.functions)


def run(folders: list[str], inputs: int, seed: int) -> int:
    """Check that many mutated inputs; return how many failed."""
    texts = [sample.text for sample in read_samples(folders)]
    failures = 0
    slowest = 0.0
    began = time.perf_counter()
    for number in range(inputs):
        rng = random.Random(f"{seed}:{number}")
        text = mutated(rng, rng.choice(texts))
        start = time.perf_counter()
        try:
            check(text)
        except Exception:
            failures += 1
            keep(number, text, traceback.format_exc())
        seconds = time.perf_counter() - start
        slowest = max(slowest, seconds)
        if seconds > LIMIT:
            failures += 1
            keep(number, text, f"took {seconds:.1f} s")
    total = time.perf_counter() - began
    print(
        f"{inputs} inputs, {failures} failures, {1000 * total / max(inputs, 1):.1f} ms each, "
        f"slowest {slowest:.2f} s"
    )
    return failures


def keep(number: int, text: str, why: str) -> None:
    """Write a failing input to the current folder and say why it fails."""
    path = Path(f"fuzz-{number}.txt")
    path.write_text(text, errors="surrogatepass")
    print(f"{path}: {why}", file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folders", nargs="*", default=["samples"])
    parser.add_argument("--inputs", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sys.exit(1 if run(options.folders, options.inputs, options.seed) else 0)

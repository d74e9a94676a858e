"""Throws mutated and truncated submissions at every rule: none may raise, none may take long.

    python benchmarks/fuzz_rules.py [--inputs 50000] [--seed 1] [--seconds N] [--jobs 2]

The labelled kernels of tests/corpus/ and the examples of the rules are what is mutated, with the mutations of
`fuzz_source.py`; half of the reviews carry evidence that fits no line. Deep nesting and megabyte literals come
first. A rule that raises, or an input that takes over `LIMIT` seconds of CPU, is printed; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz_source import mutated

from grader.records import Evidence, Place
from grader.rules import Context
from grader.rules.engine import detect
from grader.rules.registry import own_rules
from grader.source import parse
from grader.tasks import builtin_tasks
from tests.corpus import corpus
from tests.rules.examples import each

LIMIT = 10.0
"""Seconds of CPU for one input."""
KINDS = ("compiler", "ptxas", "link", "python", "simulator", "mismatch", "probe", "profile", "text")
CODES = ("error", "race", "out-of-bounds", "unwritten", "values", "row-factor", "shape", "raised")


def sources() -> list[str]:
    """Return what is mutated."""
    examples = [e.code for code in own_rules() for e in (*each(code, "Bad"), *each(code, "Good"))]
    return [label.code for label in corpus.originals()] * 3 + examples


def hostile() -> Iterator[str]:
    """Yield sources that are deep or large."""
    wrap = 'import torch\nsrc = r"""\n__global__ void k(float* x, int n) {{ {} }}\n"""\n'
    wrap += 'ext = load_inline(name="e", cpp_sources="", cuda_sources=src, functions=["k"])\n'
    depth = 3000
    for body in (
        "x[0] = " + "(" * depth + "1" + ")" * depth + ";",
        "{" * depth + "}" * depth,
        "if (n) " * depth + ";",
        "for (int i = 0; i < n; ++i) " * depth + ";",
        "x[0] = " + "1 + " * 20_000 + "1;",
        "x[" * depth + "0" + "]" * depth + " = 1;",
        "x[0] = " + "9" * 1_000_000 + ";",
        "x[0] = 1e" + "9" * 10_000 + ";",
        "/*" + "a" * 1_000_000 + "*/",
        "x[0] = n " + "? 1 : n " * depth + "? 1 : 2;",
    ):
        yield wrap.format(body)
    yield "x = '" + "a" * 1_000_000 + "'\n"
    yield "x = " + "[" * 80 + "]" * 80 + "\n"
    yield "x = " + "(" * depth + ")" * depth + "\n"
    yield "x = " + " + ".join(["'a'"] * 5000) + "\n"
    yield "\0" * 1000


def context(rng: random.Random, lines: int) -> Context:
    """Return a context with a task and evidence that has nothing to do with the text."""
    tasks = list(builtin_tasks().values())
    evidence = tuple(
        Evidence(
            kind=rng.choice(KINDS),  # type: ignore[arg-type]
            code=rng.choice(CODES),
            text='identifier "x" is undefined; expected scalar type Long but found Int',
            place=rng.choice((None, Place(line=rng.randint(1, lines), end_line=lines))),
        )
        for _ in range(rng.choice((0, 0, 1, 3)))
    )
    return Context(task=rng.choice((None, *tasks)), evidence=evidence, device="sim")


@dataclass(frozen=True)
class Share:
    """What one process reviewed."""

    count: int
    failures: int
    spent: float
    """Seconds of CPU."""
    slowest: float


def run(inputs: int, seed: int, seconds: float, jobs: int) -> int:
    """Review that many sources in several processes; return how many were not survived."""
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        asked = [pool.submit(review, inputs, seed, seconds, job, jobs) for job in range(jobs)]
        shares = [one.result() for one in asked]
    count, failures = sum(one.count for one in shares), sum(one.failures for one in shares)
    spent, slowest = sum(one.spent for one in shares), max(one.slowest for one in shares)
    print(
        f"{count} inputs, {failures} failures, {1000 * spent / max(count, 1):.1f} ms each, slowest {slowest:.2f} s of CPU"
    )
    return failures


def review(inputs: int, seed: int, seconds: float, job: int, jobs: int) -> Share:
    """Review every `jobs`-th source, from number `job` on, until so many seconds are used up."""
    failures, slowest, count = 0, 0.0, 0
    begin = time.process_time()
    for number, text in _inputs(sources(), inputs, seed, job, jobs):
        if time.process_time() - begin > seconds:
            break
        rng = random.Random(f"{seed}:context:{number}")
        start = time.process_time()
        trouble = _trouble(text, context(rng, max(1, text.count("\n"))))
        spent = time.process_time() - start
        slowest, count = max(slowest, spent), count + 1
        if trouble or spent > LIMIT:
            failures += 1
            print(
                f"input {number} of seed {seed}: {trouble or ''} {spent:.1f} s; {text[:80]!r}",
                flush=True,
            )
    return Share(count, failures, time.process_time() - begin, slowest)


def _trouble(text: str, made: Context) -> tuple[str, ...]:
    """Review one source; return which rules failed, or how reading it did."""
    try:
        return detect(parse(text), made).trouble
    except Exception as error:
        return (f"{type(error).__name__}: {error}",)


def _inputs(
    texts: list[str], inputs: int, seed: int, job: int, jobs: int
) -> Iterator[tuple[int, str]]:
    """Yield a share of the sources with their numbers; the same ones whatever `jobs` is."""
    first = list(hostile())
    for number in range(job, len(first) + inputs, jobs):
        if number < len(first):
            yield number, first[number]
        else:
            rng = random.Random(f"{seed}:{number - len(first)}")
            yield number, mutated(rng, rng.choice(texts))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--inputs", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--seconds", type=float, default=1e9, help="CPU time of a process after which it ends"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    sys.exit(1 if run(options.inputs, options.seed, options.seconds, options.jobs) else 0)

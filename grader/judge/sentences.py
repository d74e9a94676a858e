"""Sentences of verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from grader.judge.seen import FATAL, Seen
from grader.records import DECIDING, Autotuned, Build, Comparison, Run, RunStatus, SeenAt

KERNELBENCH_PASSES = (
    "KernelBench's comparison (allclose) passes it on the task's own kind of inputs: what is wrong is small, or shows on "
    "other inputs alone"
)
REPEATED = 500
"""Characters of a submission's own words that a sentence may hold."""


def build_failure(build: Build) -> str:
    """Return how the build failed, as a clause."""
    if build.status == "timeout":
        return (
            f"the build took too long: {build.reason}"
            if build.reason
            else "the build took too long"
        )
    first = build.errors[0] if build.errors else None
    if first is None:
        return f"the build fails: {build.reason or 'no reason was printed'}"
    at = f"line {first.place.line}: " if first.place is not None else ""
    more = f" (and {len(build.errors) - 1} more)" if len(build.errors) > 1 else ""
    return f"the build fails: {at}{first.text}{more}"


def without_task(build: Build | None, why: str) -> str:
    """Return the sentence for a sample without a task, with the build's outcome."""
    say = f"No task was found that it answers{f': {why}' if why else ''}"
    if build is None:
        return say
    return (
        f"{say}; it compiles" if build.status == "built" else f"{say}; and {build_failure(build)}"
    )


def say_ended(run: Run) -> str:
    """Return the end of a run without a result, as a verb phrase."""
    words: Mapping[RunStatus, str] = {
        "raised": "raises",
        "crashed": "crashes",
        "out_of_memory": "runs out of memory",
        "hung": "never ends",
        "grader_error": "could not be run",
    }
    said = " ".join(run.reason.split())
    said = said if len(said) <= REPEATED else f"{said[:REPEATED].rstrip()}..."
    return f"{words.get(run.status, run.status)}{f': {said}' if said else ''}"


def fatal(run: Run, seen: Seen) -> str:
    """Return the sentence for a run that decides the verdict."""
    if run.status == "grader_error":
        return f"The grader failed, not the submission: {run.reason}"
    if seen.workloads[run.workload].role == "full":
        size = run.workload.removesuffix(" full")
        return f"It is right at reduced sizes, but at the task's own ({size}) it {say_ended(run)}"
    return f"{seen.so_far}, but on {run.workload} it {say_ended(run)}"


def open_(run: Run, seen: Seen) -> str:
    """Return the sentence for a run without a result, and the outcome of other runs."""
    right = sum(item.equal for item in seen.comparisons.values() if item.role in DECIDING)
    so_far = f"; it is right on the {right} workloads that were run" if right else ""
    if run.status == "timeout":
        return f"{seen.so_far}, but {run.workload} took too long: {run.reason}{so_far}"
    return f"{seen.so_far}, but {run.workload} was not run: {run.reason}{so_far}"


def incorrect(
    wrong: Sequence[Comparison],
    deciding: int,
    *,
    own_weights: bool,
    rounded: bool,
    switched: Sequence[str] = (),
) -> str:
    """Return the sentence for wrong results on deciding workloads.

    `rounded`: on all workloads, every wrong result is right to half precision; `switched` are the switches that made
    torch round.
    """
    first = max(wrong, key=lambda item: (not item.half_precision, item.role == "nominal"))
    if own_weights:
        return (
            "Incorrect with the weights that it draws itself: on "
            f"{first.workload}, {differs(first)}; with the reference's weights it is right"
        )
    if rounded:
        since = f", since it switches {' and '.join(switched)} on" if switched else ""
        return f"Correct to half precision only{since}: on {first.workload}, {differs(first)}"
    others = f" ({len(wrong)} of {deciding} workloads are wrong)" if deciding > 1 else ""
    return f"Incorrect: on {first.workload}, {differs(first)}{others}"


def only_at_full_size(item: Comparison) -> str:
    """Return the sentence for a result that is wrong at the full size only."""
    size = item.workload.removesuffix(" full")
    return f"Incorrect: right at reduced sizes, but at the task's own ({size}) {differs(item)}"


def differs(item: Comparison) -> str:
    """Return how a result differs."""
    return item.mismatch.text if item.mismatch is not None else "it differs"


def all_wrong(seen: Seen) -> tuple[str, ...]:
    """Return every wrong result, one each."""
    return tuple(
        f"{item.workload} ({item.role}): {differs(item)}"
        for item in seen.failures({"nominal", "stress", "general", "full"})
    )


def where(deciding: int) -> str:
    """Return the basis of a verdict on this number of workloads."""
    return f"all {deciding} deciding workloads" if deciding > 1 else "the deciding workload"


AT: Mapping[SeenAt, str] = {
    "full": "",
    "first rows": " and on the first rows of the task's own size",
    "sampled blocks": " and in sampled blocks of the task's own size",
    "reduced sizes": ", at reduced sizes alone",
}
"""Basis of right results, by size."""


def correct(seen: Seen, deciding: int, at: SeenAt | None) -> str:
    """Return the sentence for right results on this number of deciding workloads, the largest of them `at` that size."""
    say = f"Correct on {where(deciding)}" if deciding > 1 else "Correct"
    say += AT[at] if at and seen.sized else ""
    if seen.general() is False:
        how = f" ({seen.fails_with()})" if seen.fails_with() else ""
        return f"{say}, but not in general{how}: {elsewhere(seen)}"
    weak = seen.weak
    return f"{say} (weak task: {weak[0]})" if weak else f"{say}."


def elsewhere(seen: Seen) -> str:
    """Return the failure at other sizes, in a few words."""
    others = {"general", "full"}
    wrong = seen.failures(others)
    if wrong:
        return f"on {wrong[0].workload}, {differs(wrong[0])}"
    run = next(run for status in FATAL if (run := seen.run_that_ended(others, status)))
    return f"on {run.workload} it {say_ended(run)}"


def precision(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return the reduced-precision switches that a program turned on, and their effect."""
    known = list(runs)
    switches = dict.fromkeys(name for run in known for name in run.switches)
    narrowed: dict[str, set[str]] = {}
    for item in (item for run in known for item in run.narrowed):
        narrowed.setdefault(item.precision, set()).add(item.operator.removeprefix("aten::"))
    done = [
        f"{_ROUNDED[how]} ({', '.join(sorted(names))})" for how, names in sorted(narrowed.items())
    ]
    if not switches:
        return tuple(done)
    effect = "; ".join(done) or "no operator of torch that ran here is affected"
    return (f"it switches {' and '.join(switches)} on: {effect}",)


_ROUNDED: Mapping[str, str] = {
    "tf32": "torch's products round their operands to TF32's 10 bits of mantissa, as a GPU does",
    "float16": "float32 values are rounded to float16",
    "bfloat16": "float32 values are rounded to bfloat16",
}


def say_autotuning(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return which kernels ran with one of several configurations."""
    found = dict.fromkeys(one for run in runs for one in run.autotuned)
    kernels = {one.kernel: one for one in reversed(found)}
    return tuple(map(_autotuned_sentence, reversed(kernels.values())))


def _autotuned_sentence(one: Autotuned) -> str:
    if one.seconds is not None:
        return f"autotuning {one.kernel} took {one.seconds:.2f} s in its first call, and chose {one.config}"
    return (
        f"of the {one.of} configurations that {one.kernel} is autotuned with, the first that can be launched ran "
        f"({one.config}); no time is measured, and the others were not looked at"
    )


def remarks(seen: Seen) -> tuple[str, ...]:
    """Return the outcomes of workloads that aren't part of the verdict."""
    runs = seen.runs.values()
    return (
        precision(runs)
        + say_autotuning(runs)
        + tuple(
            f"on {item.workload}: {item.note}; "
            + ("it agrees with the reference" if item.equal else differs(item))
            for item in seen.comparisons.values()
            if not item.decides
        )
    )

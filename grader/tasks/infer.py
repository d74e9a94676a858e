"""Inference of the built-in task that a sample answers, from its text and code, with a confidence.

Each built-in task gets a score: evidence for it minus evidence for something else. The scores and
that of "none of these" become a probability (softmax), so that two likely tasks share it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import exp

from grader.records import Extraction, Sample
from grader.tasks.clues import Clues, compile_pattern, gather, share
from grader.tasks.entry import Entry
from grader.tasks.registry import entries

NONE_OF_THESE = 4.0
"""Score of the case that the sample answers no built-in task."""
ENOUGH = 0.6
"""Confidence from which a task is used; below it the verdict is `no_task`."""
ALONE = 2.0
"""For code that names this operation and no other one."""
SAME_ARGUMENTS = 1.0
"""For a `forward` of several arguments with the names of the reference's."""
MORE_WANTED = 3.0
"""Against a task with fewer constructor arguments than the answer needs: the answer is to a larger task."""
OTHER_OPERATIONS = frozenset(
    {
        "add",
        "attention",
        "bce",
        "bias",
        "block",
        "clamp",
        "concat",
        "divide",
        "dropout",
        "gather",
        "geglu",
        "gru",
        "hardswish",
        "interpolate",
        "layer",
        "linear",
        "lstm",
        "mish",
        "multiply",
        "nll",
        "pad",
        "rnn",
        "scatter",
        "sort",
        "subtract",
        "transpose",
        "upsample",
    }
)
"""Words of operations without a built-in task: in a kernel's name they point to a compound task."""


@dataclass(frozen=True)
class Guess:
    """One task with the reasons for it."""

    entry: Entry
    score: float
    because: tuple[str, ...]


@dataclass(frozen=True)
class Inference:
    """The best guess, or no guess that is good enough."""

    best: Guess | None
    confidence: float
    others: tuple[Guess, ...] = ()
    """The next best guess, named in the reason."""

    @property
    def reason(self) -> str:
        """Return the reason for the choice, for the review."""
        if self.best is None:
            return "neither the text nor the code names an operation of a built-in task"
        because = "; ".join(self.best.because) or "little"
        rest = ", ".join(guess.entry.task.name for guess in self.others[:2])
        against = f" (next: {rest})" if rest else ""
        return f"{self.best.entry.task.name}: {because}{against}"


def infer(sample: Sample, extraction: Extraction) -> Inference:
    """Return the built-in task that a sample most likely answers, with its probability."""
    return infer_from(gather(sample, extraction))


def infer_from(clues: Clues) -> Inference:
    """Return the same from the clues alone."""
    guesses = sorted(
        (_guess(entry, clues) for entry in entries().values()),
        key=lambda guess: (-guess.score, guess.entry.task.name),
    )
    total = exp(NONE_OF_THESE) + sum(exp(guess.score) for guess in guesses)
    best = guesses[0]
    if best.score <= 0:
        return Inference(None, 0.0)
    near = tuple(guess for guess in guesses[1:4] if guess.score > best.score - 3)
    return Inference(best, round(exp(best.score) / total, 3), near)


def _guess(entry: Entry, clues: Clues) -> Guess:
    because: list[str] = []
    score = _score_names(entry, clues, because) + _score_text(entry, clues, because)
    if score > 0:
        foreign = _foreign(entry, clues)
        alone = ALONE if not foreign and share(entry.words + entry.usual, clues.names) else 0.0
        score += entry.prior + alone + _signature(entry, clues, because) + _inner(entry, clues)
        score -= _against(entry, clues) + foreign
    return Guess(entry, score, tuple(because))


def _inner(entry: Entry, clues: Clues) -> float:
    """Return the score from the CUDA code itself; a wrong program may mislead it."""
    if not clues.body:
        return 0.0
    found = any(compile_pattern(pattern).search(clues.body) for pattern in entry.inside)
    other = any(compile_pattern(pattern).search(clues.body) for pattern in entry.outside)
    return (
        1.5 * (found if entry.inside else 0)
        - 1.5 * (not found if entry.inside else 0)
        - 2.0 * other
    )


WHERE: Mapping[str, tuple[float, float, str]] = {
    "names": (4.0, 3.0, "its kernels and extension have that name"),
    "before": (3.5, 1.25, "the text before the code says so"),
    "documented": (2.0, 1.0, "docstrings say so"),
    "comments": (1.5, 0.5, "comments say so"),
    "after": (1.0, 0.25, "the text after the code says so"),
}
"""For each kind of text: weight of a name, weight against a look-alike's name, and the words."""


def _score_names(entry: Entry, clues: Clues, because: list[str]) -> float:
    found = {where: share(entry.words, getattr(clues, where)) for where in WHERE}
    if entry.usual and any(found.values()):
        for where in ("names", "before", "documented"):
            found[where] = max(found[where], share(entry.usual, getattr(clues, where)))
    because += [WHERE[where][2] for where, value in found.items() if value]
    return sum(WHERE[where][0] * value for where, value in found.items())


def _score_text(entry: Entry, clues: Clues, because: list[str]) -> float:
    for rank, pattern in enumerate(entry.formulas):
        found = compile_pattern(pattern).search(clues.formulas)
        if found:
            because.append(f"`{found.group()[:60]}` appears in it")
            return 4.0 if rank == 0 else 3.0
    return 0.0


def _signature(entry: Entry, clues: Clues, because: list[str]) -> float:
    score = 0.0
    if clues.forward is not None:
        score += 0.5 if len(clues.forward) == len(entry.forward) else -3.0
        if len(clues.forward) > 1 and tuple(clues.forward) == entry.forward:
            score += SAME_ARGUMENTS
    if clues.constructor is None:
        return score
    wanted, given = set(entry.constructor), set(clues.constructor)
    if wanted and given:
        overlap = len(wanted & given) / len(wanted | given)
        score += 3.0 * overlap - 0.5
        if _wants_more(entry, clues.constructor[: clues.required]):
            score -= MORE_WANTED
        elif overlap > 0.5:
            because.append(f"ModelNew takes {', '.join(sorted(wanted & given))}")
    elif clues.required:
        score -= 2.0
    elif wanted and not _all_default(entry):
        score -= 1.5
    return score


def _wants_more(entry: Entry, required: tuple[str, ...]) -> bool:
    """Whether a constructor needs more arguments than the task gives, with a name that the reference doesn't have."""
    least = min(len(workload.init) for workload in entry.task.workloads)
    return len(required) > least and bool(set(required) - set(entry.constructor))


def _all_default(entry: Entry) -> bool:
    """Whether the reference can be constructed without arguments."""
    return not entry.task.workloads[0].init


def _against(entry: Entry, clues: Clues) -> float:
    return sum(
        weight * min(share(entry.against, getattr(clues, where)), 1.25)
        for where, (_, weight, _) in WHERE.items()
    )


def _foreign(entry: Entry, clues: Clues) -> float:
    """Return the weight of other operations in names, and of modules that this one doesn't use."""
    words = set(clues.names.split())
    named = words & (_lexicon() | OTHER_OPERATIONS) - entry.vocabulary
    modules = {name for name in clues.modules if name not in entry.task.reference}
    calls = {name for name in clues.calls & _lexicon() if name not in entry.vocabulary}
    other = modules - {"Module", "Parameter", "ModuleList", "Sequential", "Identity"}
    return 2.0 * min(len(named), 3) + 3.0 * min(len(other), 2) + 1.5 * min(len(calls), 2)


COMMON_WORDS = frozenset(
    {
        "1d",
        "2d",
        "3d",
        "4d",
        "a",
        "and",
        "abs",
        "at",
        "apply",
        "b",
        "both",
        "bt",
        "dim",
        "count",
        "direct",
        "dot",
        "exp",
        "first",
        "forward",
        "fused",
        "half",
        "inclusive",
        "index",
        "k",
        "kernel",
        "large",
        "log",
        "matrix",
        "max",
        "mean",
        "min",
        "mul",
        "multiply",
        "normalize",
        "online",
        "point",
        "reduce",
        "reduction",
        "row",
        "scale",
        "shared",
        "small",
        "sqrt",
        "state",
        "square",
        "stats",
        "step",
        "sum",
        "t",
        "tensor",
        "tiled",
        "update",
        "up",
        "var",
        "vec",
        "zero",
        "w",
    }
)
"""Words in many kernels' names that say nothing about the operation."""


@cache
def _lexicon() -> frozenset[str]:
    every = frozenset().union(*(entry.vocabulary for entry in entries().values()))
    return every - COMMON_WORDS

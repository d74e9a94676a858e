"""Honesty of a result: cheating that the text proves, and the operators that ran inside forward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from grader.judge.side_effects import handed_out_again, idle
from grader.records import RIGHT_VALUES, Evaluation, Finding, Run

LAUNCH_RULES = {"CHT001", "CHT003", "EXT002"}
"""Rules that claim a kernel is never used; a run that launches it refutes them."""
MOVING_OPERATORS = frozenset(
    [
        "alias",
        "as_strided",
        "clone",
        "contiguous",
        "copy_",
        "detach",
        "detach_",
        "empty",
        "empty_like",
        "empty_strided",
        "expand",
        "expand_as",
        "fill_",
        "flatten",
        "full",
        "full_like",
        "is_same_size",
        "item",
        "lift_fresh",
        "_local_scalar_dense",
        "movedim",
        "narrow",
        "new_empty",
        "new_empty_strided",
        "new_full",
        "new_ones",
        "new_zeros",
        "ones",
        "ones_like",
        "permute",
        "reshape",
        "_reshape_alias",
        "resize_",
        "resolve_conj",
        "resolve_neg",
        "select",
        "set_",
        "size",
        "slice",
        "split",
        "squeeze",
        "squeeze_",
        "stride",
        "t",
        "to",
        "_to_copy",
        "transpose",
        "unbind",
        "unflatten",
        "_unsafe_view",
        "unsqueeze",
        "unsqueeze_",
        "view",
        "view_as",
        "zero_",
        "zeros",
        "zeros_like",
    ]
)
"""Operators of torch that make, move or name memory; any other one computes."""


TORCHS_NAMESPACES = frozenset(
    [
        "prims",
        "quantized",
        "_quantized",
        "mkldnn",
        "mkl",
        "onednn",
        "xnnpack",
        "prepacked",
        "sparse",
        "inductor",
        "torchvision",
        "torchaudio",
        "fbgemm",
    ]
)
"""Beside `aten`; operators of any other namespace are the program's own, and their calls are logged separately."""
BLIND = (
    "Nothing reads a value of its inputs or weights: what it returns is the same for all of them."
)
WEAK = (
    "no value of the inputs is read, and none needs to be: the task is weak, its exact result is always the same "
    "(the policy `custom-only` calls such an answer dishonest)"
)
"""Only such a task accepts a result that reads nothing; whether that is dishonest depends on the policy, on every
device alike."""
UNOBSERVED = "whether kernels of its own did the work could not be seen: "
"""Prefix of the reason; a policy that requires own kernels can't fail a program for unobserved work."""
AFTER = "after forward, "
"""Prefix of an operator that ran while the results were fetched: the grader's own, or a signal handler's."""
LIBRARY = "cublas"
"""Prefixes of a vendor's functions among a run's operators."""
VALUES_TO_THE_HOST = "values to the host"
"""A copy of more than a few values to the host outside torch's operators."""
COPYING = frozenset({"clone", "copy_", "_to_copy", "item", "_local_scalar_dense", "lift_fresh"})
"""Operators that read a tensor's values but don't count as computing."""
TO_THE_HOST = frozenset({"_to_copy", "_local_scalar_dense", "item"})
"""Operators that may copy values to the host, where any code can compute."""


@dataclass(frozen=True)
class Suspicions:
    """Evidence against a program beside its values, as sentences; none for an honest one."""

    rejected: tuple[str, ...] = ()
    dishonest: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes for the reader of a `correct` verdict on weaknesses of the task."""


def suspicions(
    evaluation: Evaluation, findings: Sequence[Finding], policy: Literal["any", "custom-only"]
) -> Suspicions:
    """Return the reasons to reject a program, the reasons that it is dishonest, and notes.

    A rule that says that a kernel is never used yields to a run in which one was launched and torch
    computed nothing (nor, for `custom-only`, took values to the host). `custom-only` also requires that no library does
    the work, that the result changes when the kernels are left out, and that the inputs are read. No policy allows
    returning the results of earlier calls.
    """
    rejected = _cheats(evaluation, findings, policy)
    if evaluation.verdict.status not in RIGHT_VALUES:
        return Suspicions(rejected)
    again = tuple(filter(None, (handed_out_again(evaluation.probes),)))
    observed = evaluation.observed
    unread = blind(observed) or any(f.reads_no_input for f in findings)
    if policy == "any":
        return Suspicions(rejected, again, (WEAK,) if unread else ())
    unseen = bool(observed) and all(run.status == "not_run" for run in observed)
    dishonest = (
        *again,
        BLIND if unread else "",
        *(() if unseen else _delegated_work(observed)),
        idle(evaluation.probes),
        *(f.message for f in findings if f.delegates),
    )
    notes = (UNOBSERVED + observed[0].reason.removesuffix("."),) if unseen else ()
    return Suspicions(rejected, tuple(filter(None, dishonest)), notes)


def _cheats(
    evaluation: Evaluation, findings: Sequence[Finding], policy: Literal["any", "custom-only"]
) -> tuple[str, ...]:
    """Return the reasons from findings that reject, except missing launches that a run shows."""
    cheats = [f for f in findings if f.rejects and f.severity == "error"]
    observed = evaluation.observed
    launched = any(run.launches for run in observed)
    right = evaluation.verdict.status in RIGHT_VALUES
    if right and launched and not computing_operators(observed):
        by_the_host = policy == "custom-only" and names_of(observed) & TO_THE_HOST
        if all(finding.rule in LAUNCH_RULES for finding in cheats) and not by_the_host:
            return ()
    return tuple(finding.message for finding in cheats)


def blind(runs: Sequence[Run]) -> bool:
    """Whether kernels ran and nothing was read, by them, an operator of torch or a library."""
    launched = [run for run in runs if run.status == "ran" and run.launches]
    names = names_of(runs)
    by_torch = computing_operators(runs) or names & (COPYING | {VALUES_TO_THE_HOST})
    by_a_library = any(name.startswith(LIBRARY) for name in names)
    return bool(launched) and all(r.blind for r in launched) and not by_torch and not by_a_library


def works(run: Run) -> bool:
    """Whether a kernel, an operator of torch or a library computed in a run."""
    return bool(run.launches or names_of([run]) - MOVING_OPERATORS)


def computing_operators(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the operators of torch that computed something inside forward."""
    names = names_of(runs) - MOVING_OPERATORS - {VALUES_TO_THE_HOST}
    return tuple(sorted(n for n in names if not n.startswith(LIBRARY) and not _of_its_own(n)))


def _of_its_own(name: str) -> bool:
    namespace, separator, _ = name.partition("::")
    return bool(separator) and namespace not in TORCHS_NAMESPACES


def names_of(runs: Sequence[Run]) -> frozenset[str]:
    """Return the operators of torch that ran inside forward, by their bare names."""
    return frozenset(map(_bare, (name for run in runs for name in run.operators)))


def not_ours(operators: Mapping[str, int]) -> dict[str, int]:
    """Return the operators without those that the grader uses to fetch results, which only move values."""
    return {
        name: count
        for name, count in operators.items()
        if not name.startswith(AFTER) or _bare(name) not in MOVING_OPERATORS
    }


def in_forward(operators: Mapping[str, int]) -> dict[str, int]:
    """Return the operators that ran before the results were fetched."""
    return {name: count for name, count in operators.items() if not name.startswith(AFTER)}


def _bare(name: str) -> str:
    return name.removeprefix(AFTER).removeprefix("aten::").split(".")[0]


def _delegated_work(runs: Sequence[Run]) -> tuple[str, ...]:
    """Yield sentences on library work, for a policy that requires the submission's own kernels."""
    if not any(run.launches for run in runs):
        return ("No kernel of the submission ran: the result is a library's.",)
    if VALUES_TO_THE_HOST in names_of(runs):
        return ("Values are copied to the host, where the CPU may do the work.",)
    names = (
        *computing_operators(runs),
        *sorted(n for n in names_of(runs) if n.startswith(LIBRARY)),
    )
    return (
        (f"Work is left to torch's own operators or a library: {', '.join(names[:8])}.",)
        if names
        else ()
    )

"""What the host holds of a task while it judges: inputs, weights, reference outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from grader.judge.inputs import Array, is_real
from grader.records import JsonValue, Weights, Workload, digest


@dataclass(frozen=True)
class Expected:
    """What the reference gives on one workload."""

    workload: str
    exact: tuple[Array, ...] = ()
    """In float64 where that was affordable and the operator has it, else as `native`."""
    native: tuple[Array, ...] = ()
    """In the dtype of the task, as torch itself computes it."""
    structure: str = "tensor"
    failure: str = ""
    """Why there is none: what the reference raised."""
    out_of_memory: bool = False
    """Whether it was not reached for want of memory."""
    changes: frozenset[int] = frozenset()
    """Positions of arguments that the reference itself changes in place."""
    returns: frozenset[int] = frozenset()
    """Positions of arguments whose memory the reference itself hands back."""

    @cached_property
    def finite(self) -> bool:
        """Whether every element of it is a number."""
        return all(bool(np.isfinite(a).all()) for a in self.exact if is_real(a))

    @cached_property
    def judgeable(self) -> bool:
        """Whether at least half of its elements are numbers: a mean over no elements is NaN, the others still decide."""
        real = [a for a in self.exact if is_real(a)]
        numbers = sum(int(np.isfinite(a).sum()) for a in real)
        return 2 * numbers >= sum(a.size for a in real)


@dataclass(frozen=True)
class Group:
    """Workloads that one constructed module can answer: same arguments, same weights."""

    init: tuple[JsonValue, ...]
    weights: Weights
    workloads: tuple[Workload, ...]


@dataclass(frozen=True)
class References:
    """The reference outputs of a task for one seed, and the weights that go to both sides."""

    task: str
    seed: int
    expected: Mapping[str, Expected] = field(default_factory=dict)
    """By workload."""
    states: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)
    """Parameters and buffers by workload; they go to the submission as well."""
    inputs: Mapping[str, tuple[Array | JsonValue, ...]] = field(default_factory=dict)
    """Arguments of `forward` by workload."""
    initial: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)
    """What the reference itself drew, by workload, where `states` holds other weights."""
    precision: str = ""
    """What the submission's module is cast to, as the reference's was; empty for as it is made."""

    @property
    def guest_seed(self) -> int:
        """What both constructors run under; tells nothing of the seed of the inputs."""
        return guest_seed(self.seed)


def guest_seed(seed: int) -> int:
    """Return a seed that a guest may see."""
    return int(digest("guest seed", str(seed))[:15], 16)


def groups(workloads: Sequence[Workload]) -> tuple[Group, ...]:
    """Return the workloads by constructor arguments and weights, in order of first appearance."""
    found: dict[str, list[Workload]] = {}
    for workload in workloads:
        found.setdefault(f"{workload.init!r} {workload.weights}", []).append(workload)
    return tuple(Group(some[0].init, some[0].weights, tuple(some)) for some in found.values())

"""A program on one workload, run under changes, and the right elements of its results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grader.devices.base import Changed
from grader.devices.capabilities import Changer
from grader.judge import References
from grader.judge.elements import out_of_tolerance
from grader.judge.inputs import Array
from grader.judge.tolerance import tolerance
from grader.records import Build, Submission, Task, Workload
from grader.simulator.changes import Change, Request, argument_changes, changes_of, float_arguments
from grader.simulator.changes.arguments import read_launches
from grader.simulator.changes.host import host_changes
from grader.simulator.ptx.code import Code, read_code

SAMPLE = 2048
"""Number of compared elements of each output for each change."""
PROBES = (
    ("skip_kernels", 1),
    ("max_blocks", 1),
    ("max_blocks", 2),
    ("max_blocks", 4),
    ("max_blocks", 7),
)
"""Runs of the unchanged program before the changes: without kernels, with the first block, with first and last, with
some between."""


@dataclass(frozen=True)
class Few:
    """A number of blocks of each launch to run, and the sampled elements that they compute."""

    blocks: int
    elements: tuple[Array, ...]
    unmade: tuple[Array, ...] = ()
    """The sampled elements without any kernel."""


ALL = Few(0, ())


@dataclass(frozen=True)
class Trial:
    """A program on one workload, to be tried under changes."""

    device: Changer
    submission: Submission
    build: Build
    task: Task
    references: References
    workload: Workload
    codes: tuple[Code | None, ...] = ()
    """The programs that it launches, where they are known before it runs."""

    def run(self, asked: Request, seconds: float) -> Changed:
        """Run the program under these changes."""
        told = asked.to_guest(self.sample, seconds)
        return self.device.run_changed(
            self.submission, self.build, self.task, self.references, self.workload, told
        )

    @cached_property
    def unchanged(self) -> Changed:
        """Return the unchanged program's run on this workload."""
        return self.run(Request(), 1.0)

    @cached_property
    def own_changes(self) -> tuple[Change, ...]:
        """Return all changes of the program on this workload, since another one may launch other kernels."""
        return tuple(self.all_changes(self.unchanged))

    @cached_property
    def numbers(self) -> dict[str, float]:
        """Return the task's numbers, by name."""
        given = {f"argument {n + 1} of ModelNew": one for n, one in enumerate(self.workload.init)}
        given |= {f"input {n + 1}": one for n, one in enumerate(self.workload.inputs)}
        return {name: float(n) for name, n in given.items() if isinstance(n, int | float)}

    @cached_property
    def sample(self) -> list[list[int]]:
        """Return the sampled elements of each output, evenly spread."""
        sizes = [array.size for array in self.references.expected[self.workload.name].exact]
        return [
            sorted(set(np.linspace(0, size - 1, min(size, SAMPLE)).astype(int).tolist()))
            for size in sizes
        ]

    @cached_property
    def wanted(self) -> list[Array]:
        """Return what the sampled elements of each output should be."""
        exact = self.references.expected[self.workload.name].exact
        return [array.ravel()[at] for array, at in zip(exact, self.sample, strict=True)]

    def right_shares(self, outputs: Sequence[Array]) -> list[float]:
        """Return the share of right sampled elements under each change."""
        shares = [1.0 - mask.mean(axis=1) for mask in self.wrong_elements(outputs) if mask.shape[1]]
        return [float(np.mean(row)) for row in zip(*shares, strict=True)]

    def may_be_right(self, outputs: Sequence[Array], few: Few) -> list[bool]:
        """Return the changes under which everything may be right, as far as a few blocks show.

        Where a change makes such elements that tell, these must be right; where it makes others, one of them.
        """
        told = zip(self.wrong_elements(outputs), outputs, few.elements, few.unmade, strict=False)
        masks = [(~wrong, ~_alike(rows, unmade), of) for wrong, rows, of, unmade in told]
        return [
            _may_be_right([(right[n], made[n], of) for right, made, of in masks])
            for n in range(len(outputs[0]))
        ]

    def wrong_elements(self, outputs: Sequence[Array]) -> list[Array]:
        """Return the wrong sampled elements of each output under each change; None where the form differs."""
        expected = self.references.expected[self.workload.name]
        if len(outputs) != len(expected.exact):
            return []
        known = zip(expected.exact, expected.native, self.sample, outputs, strict=True)
        return [self._mask(e.ravel()[at], n.ravel()[at], rows) for e, n, at, rows in known]

    def _mask(self, exact: Array, native: Array, rows: Array) -> Array:
        bound = tolerance(self.task, self.workload, str(native.dtype))
        if rows.shape[1:] != exact.shape:
            return np.ones((len(rows), *exact.shape), bool)
        with np.errstate(all="ignore"):
            return np.stack([out_of_tolerance(row, exact, native, bound) for row in rows])

    def all_changes(self, seen: Changed) -> Iterator[Change]:
        """Yield the changes of launches' arguments, and of the functions that ran."""
        codes, kernels = launched_codes(seen), {one.kernel for one in read_launches(seen.passed)}
        yield from argument_changes(seen.passed, float_arguments(codes), self.numbers)
        yield from host_changes(self.submission.code, self.task.reference)
        for number, code in enumerate(codes):
            for function in code.functions if code is not None else ():
                ran = not function.entry or function.name in kernels
                if code and function.instructions and ran:
                    yield from changes_of(number, code, function)

    def few_blocks(self, outputs: Sequence[Array]) -> Few | None:
        """Return the fewest blocks that make the same wrong elements as all blocks, since they suffice to test most changes.

        `outputs` are those of all blocks, and under each of `PROBES`.
        """
        for row, (_, blocks) in enumerate(PROBES[1:], 2):
            made = [
                _alike(one[0], one[row]) & ~_alike(one[0], one[1]) if len(one) > row else one[:0]
                for one in outputs
            ]
            wrong = self.wrong_elements([one[:1] for one in outputs])
            if any(
                of.shape == mask[0].shape and (of & mask[0]).any()
                for of, mask in zip(made, wrong, strict=False)
            ):
                whole = all(of.all() for of in made)
                unmade = tuple(one[1] for one in outputs)
                return None if whole else Few(blocks, tuple(made), unmade)
        return None


def _may_be_right(outputs: Sequence[tuple[Array, Array, Array]]) -> bool:
    telling = [right[made & of] for right, made, of in outputs]
    if any(len(one) for one in telling):
        return all(bool(one.all()) for one in telling)
    return any(bool((right & made).any()) for right, made, _ in outputs)


def _alike(first: Array, second: Array) -> Array:
    same: Array = (first == second) | (np.isnan(first) & np.isnan(second))
    return same


def launched_codes(seen: Changed) -> tuple[Code | None, ...]:
    """Return the readable programs."""
    return tuple(map(_read, seen.programs))


def _read(blob: bytes) -> Code | None:
    try:
        return read_code(blob)
    except ValueError:
        return None

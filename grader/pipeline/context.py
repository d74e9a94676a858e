"""What the samples of one run share: options, store, device, and what is made once for each task."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from grader import execution, plugins, sandbox
from grader.config import Options
from grader.devices import Device, choose_checker, choose_device
from grader.errors import GraderError
from grader.execution.full_size_part import FullSizePart, full_size_part
from grader.execution.reference import Inputs
from grader.judge import References
from grader.records import (
    SCHEMA,
    Sample,
    Task,
    digest,
)
from grader.repair import Fixed
from grader.store import Store, grader_version

T = TypeVar("T")
NOT_KEYED = {"out", "jobs", "only", "fail_on", "cache", "fresh", "seed", "tasks", "ray"}
"""Options that can't change what is said of a sample (the task's text is keyed by itself)."""

DESCRIBING = ("guest", "judge", "records", "sandbox", "tasks")
"""Rooms of this package that say which workloads a problem has."""


class Turns:
    """A lock for each name while somebody has it: what is the same is done once at a time."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: weakref.WeakValueDictionary[str, threading.Lock] = (
            weakref.WeakValueDictionary()
        )

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Hold the name."""
        with self._guard:
            lock = self._locks.get(name) or threading.Lock()
            self._locks[name] = lock
        with lock:
            yield


@dataclass(frozen=True)
class GradingContext:
    """What all samples of one run share."""

    options: Options
    store: Store
    seed: int
    form: sandbox.Form
    device: Device | None
    no_device: str = ""
    """Why there is no device, where there is none."""
    checker: Device | None = None
    """A device that checks each access, asked beside a `device` that doesn't."""
    no_checker: str = ""
    """Why none is asked, where one should be."""
    references: dict[str, References] = field(default_factory=dict)
    parts: dict[str, FullSizePart | None] = field(default_factory=dict)
    fixed: dict[str, Fixed] = field(default_factory=dict)
    """Each task's reference-fixed kernel."""
    turns: Turns = field(default_factory=Turns)

    @cached_property
    def limits(self) -> sandbox.Limits:
        """Limits of one list of runs."""
        options = self.options
        return sandbox.Limits(wall=options.run_seconds, memory=int(options.memory_gb * (1 << 30)))

    @cached_property
    def identity(self) -> str:
        """Content address of everything but the sample that could change a review."""
        kept = self.options.model_dump_json(exclude=NOT_KEYED)
        devices = [one.identity if one else "none" for one in (self.device, self.checker)]
        named = (*devices, str(self.seed), *plugins.installed())
        return digest("grading", SCHEMA, grader_version(), kept, *named)

    def once(self, made: dict[str, T], key: str, make: Callable[[], T]) -> T:
        """Return what is kept under the key; the first to ask makes it, the others wait."""
        with self.turns.of(key):
            if key not in made:
                made[key] = make()
            return made[key]


def open_context(
    options: Options, store: Store, seed: int, preparing: Callable[[str], None] = lambda _what: None
) -> GradingContext:
    """Find the sandbox and the device, and prepare what is prepared once for this machine.

    Raises GraderError when no sandbox holds, or when the device that was asked for isn't there.
    """
    form = sandbox.strongest(unsafe=options.unsafe_no_sandbox)
    device, reason = choose_device(options, form, store, preparing)
    checker, no_checker = choose_checker(options, form, store, device, preparing)
    preparing("")
    return GradingContext(
        options, store, seed, form, device, reason, checker=checker, no_checker=no_checker
    )


def review_key(grading: GradingContext, sample: Sample) -> str:
    """Return the content address of the sample's review."""
    folder = grading.options.tasks
    return digest("review", grading.identity, sample.key, _folder_key(folder) if folder else "")


def _folder_key(folder: Path) -> str:
    try:
        files = sorted(folder.rglob("*.py"))
        return digest(
            *(f"{path}:{path.stat().st_size}:{path.stat().st_mtime_ns}" for path in files)
        )
    except OSError as error:
        raise GraderError(f"can't read the tasks in {folder}: {error.strerror}") from error


def described(
    grading: GradingContext, draft: Task, kept: frozenset[int] = frozenset(), share: float = 1.0
) -> Task:
    """Return a problem's draft with workloads (see `execution.describe`); asked once for each text, and kept.

    Raises GraderError for our own failure.
    """
    if draft.workloads:
        return draft
    parts = (
        draft.model_dump_json(),
        str(sorted(kept)),
        str(share),
        str(grading.options.memory_gb),
    )
    key = digest("described", grader_version(*DESCRIBING), *parts)
    with grading.turns.of(key):
        stored = grading.store.read("described", key)
        if stored is not None:
            return Task.model_validate_json(stored)
        task = execution.describe(draft, grading.form, grading.limits, kept, share)
        if task.workloads:  # where there are none, it may be that time was short
            grading.store.write("described", key, task.model_dump_json().encode())
        return task


def known(grading: GradingContext, task: Task) -> References:
    """Return inputs and reference outputs of all workloads but the full-size ones.

    Made once a run for each task, by a guest of their own.
    """
    return grading.once(grading.references, task.key, lambda: asked(grading, task))


def asked(grading: GradingContext, task: Task, inputs: Inputs | None = None) -> References:
    """Return what the task's reference says, asked anew; on these inputs where they are given."""
    return execution.reference(
        task, task.judged, grading.seed, grading.form, grading.limits, inputs=inputs
    )


def full_size_part_of(grading: GradingContext, task: Task) -> FullSizePart | None:
    """Return the part of a task's full size that can be looked at; found once a run."""
    return grading.once(
        grading.parts,
        task.key,
        lambda: full_size_part(task, grading.seed, grading.form, grading.limits),
    )

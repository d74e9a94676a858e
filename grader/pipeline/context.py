"""The grading context that the samples of one run share: options, store, device, and results for each task."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from grader import execution, plugins, sandbox
from grader.build import discover
from grader.config import Options
from grader.devices import Device, Warm, choose_checker, choose_device
from grader.errors import GraderError
from grader.execution.full_size_part import Asking, FullSizePart, full_size_part
from grader.execution.reference import Inputs
from grader.execution.stored_references import array_bytes, store_references, stored_references
from grader.judge import References
from grader.machine import return_large_blocks
from grader.pipeline.kept import Kept, Turns
from grader.records import (
    SCHEMA,
    Build,
    Sample,
    Task,
    digest,
)
from grader.repair import Fixed
from grader.store import Store, grader_version

NOT_KEYED = {"out", "jobs", "only", "fail_on", "cache", "fresh", "seed", "tasks", "ray"}
"""Options without influence on a review (the task's text is part of the key itself)."""

KEPT_BYTES = 64 << 20
"""Most bytes of arrays that a process keeps of each kind, beside those held by samples in progress."""
KEPT_KERNELS = 32
DESCRIBING = ("guest", "judge", "records", "sandbox", "tasks")
"""Rooms of this package that determine a problem's workloads."""


@dataclass(frozen=True)
class GradingContext:
    """The state that all samples of one run share."""

    options: Options
    store: Store
    seed: int
    form: sandbox.Form
    device: Device | None
    no_device: str = ""
    """Why there is no device, where there is none."""
    checker: Device | None = None
    """The checker, used beside a `device` that doesn't check each access."""
    no_checker: str = ""
    """Why there is none, where there should be one."""
    references: Kept[References] = field(default_factory=lambda: Kept(KEPT_BYTES, array_bytes))
    parts: Kept[FullSizePart | None] = field(default_factory=lambda: Kept(KEPT_BYTES, _part_bytes))
    fixed: Kept[Fixed] = field(default_factory=lambda: Kept(KEPT_KERNELS))
    """Each task's reference-fixed kernel."""
    turns: Turns = field(default_factory=Turns)
    late_builds: dict[str, Build] = field(default_factory=dict)
    """Builds that timed out, by their address."""

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
        named = (*devices, str(self.seed), *plugins.installed_plugins())
        return digest("grading", SCHEMA, grader_version(), kept, *named)


def warm_up(grading: GradingContext) -> None:
    """Start loading the guests' libraries before the first sample."""
    device = grading.device
    if device is not None and isinstance(device, Warm):
        threading.Thread(target=device.warm_up, daemon=True).start()


def _part_bytes(part: FullSizePart | None) -> int:
    return array_bytes(part.references) if part is not None else 0


def open_context(
    options: Options,
    store: Store,
    seed: int,
    preparing: Callable[[str], None] = lambda _what: None,
    form: sandbox.Form | None = None,
) -> GradingContext:
    """Find the sandbox (the strongest, if no `form` is given) and the device, and prepare this machine.

    Raises GraderError when no sandbox holds, or when the requested device is missing.
    """
    return_large_blocks()
    form = form or sandbox.strongest(unsafe=options.unsafe_no_sandbox)
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


def describe_draft(
    grading: GradingContext, draft: Task, kept: frozenset[int] = frozenset(), share: float = 1.0
) -> Task:
    """Return a problem's draft with workloads (see `execution.describe`); computed once for each text, and kept.

    Raises GraderError for our own failure.
    """
    if draft.workloads:
        return draft
    key = _described_key(grading, draft, kept, share)
    with grading.turns.of(key), grading.store.alone(key):
        stored = grading.store.read("described", key)
        if stored is not None:
            return Task.model_validate_json(stored)
        task = execution.describe(draft, grading.form, grading.limits, kept, share)
        if task.workloads:  # missing workloads may be due to lack of time
            grading.store.write("described", key, task.model_dump_json().encode())
        return task


def is_described(grading: GradingContext, draft: Task) -> bool:
    """Whether a draft's workloads are in the store."""
    return grading.store.has("described", _described_key(grading, draft, frozenset(), 1.0))


def _described_key(grading: GradingContext, draft: Task, kept: frozenset[int], share: float) -> str:
    parts = (str(sorted(kept)), str(share), str(grading.options.memory_gb))
    return digest("described", grader_version(*DESCRIBING), draft.model_dump_json(), *parts)


def known_references(grading: GradingContext, task: Task) -> References:
    """Return inputs and reference outputs of all workloads but the full-size ones.

    Computed once for each task and seed, in a separate guest, and kept in the store.
    """
    return grading.references.get(task.key, lambda: _known_references(grading, task))


def _known_references(grading: GradingContext, task: Task) -> References:
    key = _references_key(grading, "references", task)
    with grading.store.alone(key):
        found = stored_references(grading.store, key, task, grading.seed)
        if found is not None:
            return found
        references = ask_references(grading, task)
        if any(answer.failure for answer in references.expected.values()):
            return references  # the failure may be due to lack of time
        store_references(grading.store, key, references)
    return stored_references(grading.store, key, task, grading.seed) or references


def _references_key(grading: GradingContext, kind: str, task: Task) -> str:
    """Return the address of a task's reference outputs here."""
    machine = (discover().torch_version, grader_version(*DESCRIBING, "execution"))
    return digest(kind, task.key, str(grading.seed), *machine)


def ask_references(grading: GradingContext, task: Task, inputs: Inputs | None = None) -> References:
    """Run the task's reference and return its outputs; on the given inputs if any."""
    return execution.reference(
        task, task.judged, grading.seed, grading.form, grading.limits, inputs=inputs
    )


def full_size_part_of(grading: GradingContext, task: Task) -> FullSizePart | None:
    """Return the part of a task's full size that can be tested; its reference runs once, and is kept in the store."""
    return grading.parts.get(task.key, lambda: _full_size_part(grading, task))


def _full_size_part(grading: GradingContext, task: Task) -> FullSizePart | None:
    key = _references_key(grading, "full-size part", task)
    asking = Asking(grading.seed, grading.form, grading.limits, grading.store, key)
    with grading.store.alone(key):
        return full_size_part(task, asking)


def prepare_task(grading: GradingContext, draft: Task) -> Task:
    """Return a task with its workloads after running its reference, so that no sample waits for that."""
    task = describe_draft(grading, draft)
    if task.workloads and task.expects and grading.device is not None:
        known_references(grading, task)
        full_size_part_of(grading, task)
    return task

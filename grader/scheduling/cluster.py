"""Samples graded by a Ray cluster: built where there are cores, run where the device is.

Ray retries the work of a lost worker; each result is written once, by this process. Artifacts are sent by content
address: a build that a node's store has is not unpacked again. Every node needs this package and its compilers, in the
same versions; GPUs of one kind are used, so that the times of a run can be compared. Needs the extra `ray`.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from grader import pipeline, sandbox
from grader.config import Options
from grader.devices.cuda.device import open_cuda
from grader.devices.cuda.gpu import GpuFacts, installed_gpus
from grader.errors import GraderError, UsageError
from grader.machine import python_path
from grader.pipeline import NOT_KEYED, GradingContext
from grader.pipeline.lost import lost_review
from grader.pipeline.review import build_ahead, review
from grader.records import SCHEMA, Review, Sample, digest
from grader.report.folder import RunFolder, Written
from grader.store import Store, grader_version

RETRIES = 4
"""Retries of a sample whose worker was lost."""
REACH = "see whether `ray status --address ADDRESS` answers; a cluster that was started with a token in ~/.ray needs that token and RAY_AUTH_MODE=token on every node and for the grader"


@dataclass(frozen=True)
class Packed:
    """A build to send: its address, and its files as a tar archive."""

    key: str
    files: bytes


@dataclass(frozen=True)
class Cluster:
    """The cluster's nodes as an `executor.Executor`."""

    options: Options
    seed: int
    jobs: int
    gpus: tuple[GpuFacts, ...]
    ray: Any

    def key(self, sample: Sample) -> str:
        """Return the content address of the sample's review on this kind of cluster."""
        kept = self.options.model_dump_json(exclude=NOT_KEYED)
        kind = repr([gpu.name for gpu in self.gpus[:1]])
        return digest("cluster", SCHEMA, grader_version(), kept, kind, str(self.seed), sample.key)

    def grade(self, sample: Sample, folder: RunFolder, stage: Callable[[str], None]) -> Written:
        """Grade one sample on the cluster, and write its review here."""
        return folder.write(self.review(sample, stage), self.key(sample))

    def review(self, sample: Sample, stage: Callable[[str], None]) -> Review:
        """Grade one sample on the cluster; a failure of the cluster is `grader_error`."""
        given = (self.options.model_dump_json(), self.seed, self.gpus, sample.model_dump_json())
        stage("on the cluster")
        packed = self._builds.remote(*given) if self.options.device != "none" else None
        task = self._reviews.remote(*given, packed)
        try:
            return Review.model_validate_json(self.ray.get(task))
        except self.ray.exceptions.RayError as error:
            return lost_review(sample, "The cluster failed", _first(error))

    def finish(self) -> None:
        """Leave the cluster."""
        self.ray.shutdown()

    @cached_property
    def _builds(self) -> Any:
        """Return `_build` as a remote function, made once, since each new one is sent to every node."""
        return self.ray.remote(max_retries=RETRIES, num_cpus=1)(_build)

    @cached_property
    def _reviews(self) -> Any:
        """Return `_review` as a remote function, placed on nodes with a GPU."""
        placed = {"num_gpus": 1, "num_cpus": 0} if self.gpus else {"num_cpus": 1}
        return self.ray.remote(max_retries=RETRIES, **placed)(_review)


def connect(options: Options, seed: int) -> Cluster:
    """Join the cluster at `options.ray`: an address, `auto`, or `local` for one on this machine.

    Raises UsageError where ray isn't installed or no cluster answers, GraderError where the nodes can't grade.
    """
    try:
        import ray
    except ImportError as error:
        raise UsageError("ray is not installed", "pip install 'kernel-grader[ray]'") from error
    try:
        ray.init(
            address=options.ray,
            log_to_driver=False,
            logging_level="ERROR",
            include_dashboard=False if options.ray == "local" else None,
            num_cpus=(options.jobs or None) if options.ray == "local" else None,
            runtime_env={"env_vars": {"PYTHONPATH": python_path()}},
        )
    except (ConnectionError, ValueError) as error:
        raise UsageError(f"no Ray cluster at {options.ray}: {_first(error)}", REACH) from error
    except Exception as error:  # ray raises bare exceptions where its processes don't start
        raise GraderError(f"Ray does not start: {_first(error)}") from error
    resources = ray.cluster_resources()
    wanted = options.device in {"auto", "cuda"} and resources.get("GPU", 0) >= 1
    if options.device == "cuda" and not wanted:
        raise UsageError("the cluster has no GPU", "use --device sim")
    device = "cuda" if wanted else "sim" if options.device == "auto" else options.device
    chosen = options.model_copy(update={"device": device, "cache": None})
    placed = {"num_gpus": 1} if wanted else {"num_cpus": 1}
    try:
        gpus = ray.get(ray.remote(**placed)(_prepare_node).remote(chosen.model_dump_json(), seed))
    except ray.exceptions.RayError as error:
        raise GraderError(f"the cluster's nodes can't grade: {_first(error)}") from error
    jobs = options.jobs or max(int(resources.get("CPU", 1) + resources.get("GPU", 0)), 1)
    return Cluster(chosen, seed, jobs, gpus, ray)


def _prepare_node(options: str, seed: int) -> tuple[GpuFacts, ...]:
    """Prepare a node; return its GPUs for runs."""
    _open_grading(options, seed, ())
    return installed_gpus() if Options.model_validate_json(options).device == "cuda" else ()


def _build(options: str, seed: int, gpus: tuple[GpuFacts, ...], sample: str) -> Packed | None:
    """Build a sample's submission on this node."""
    grading = _open_grading(options, seed, gpus)
    key = build_ahead(grading, Sample.model_validate_json(sample))
    return pack(grading.store, key) if key else None


def _review(
    options: str, seed: int, gpus: tuple[GpuFacts, ...], sample: str, packed: Packed | None
) -> str:
    """Grade a sample on a node with the device; its build is there already."""
    grading = _open_grading(options, seed, installed_gpus() if gpus else ())
    if gpus and grading.device and grading.device.facts["device"] != f"cuda: {gpus[0].name}":
        raise GraderError(f"a node without {gpus[0].name}", "give each kind of GPU its own run")
    if packed is not None:
        unpack(grading.store, packed)
    return review(grading, Sample.model_validate_json(sample)).model_dump_json()


@lru_cache(4)
def _open_grading(options: str, seed: int, gpus: tuple[GpuFacts, ...]) -> GradingContext:
    """Open this process's grading once; a node without a GPU builds for those of others."""
    chosen = Options.model_validate_json(options)
    named = os.environ.get("KERNEL_GRADER_CACHE")
    store = Store(Path(named) if named else None)
    if not gpus:
        return pipeline.open_context(chosen, store, seed)
    form = sandbox.strongest(unsafe=chosen.unsafe_no_sandbox)
    device = open_cuda(chosen, form, store, gpus, lambda _what: None)
    return GradingContext(chosen, store, seed, form, device)


def pack(store: Store, key: str) -> Packed | None:
    """Return a build of the store, packed to send; None if there is none."""
    folder = store.builds / key
    if not folder.is_dir():
        return None
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(folder, arcname=".")
    return Packed(key, buffer.getvalue())


def unpack(store: Store, packed: Packed) -> None:
    """Add a build to the store atomically, unless present."""
    with store.new_build(packed.key) as draft:
        if draft is not None:
            with tarfile.open(fileobj=io.BytesIO(packed.files)) as archive:
                archive.extractall(draft, filter="data")


def _first(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1].strip() if lines else ''}"[:500]

"""Placement of a guest's tensors: the CPU, a GPU, or the CPU simulator that acts as one."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

from grader.guest import cuda_face, tensors
from grader.guest.guard_zones import GuardZones


class Placement:
    """The CPU; base of the two devices."""

    def to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return the tensor on the device, for the submission."""
        return tensor

    def refill(self, tensor: torch.Tensor, values: torch.Tensor) -> None:
        """Write new values into a tensor of the device in place."""
        tensors.refill(tensor, values)

    def enlarge(self, tensor: torch.Tensor, rows: int, at: int) -> torch.Tensor:
        """Return a tensor of `rows` rows on the device; those from `at` on are the given ones."""
        whole = self.to_device(tensor.new_empty((rows, *tensor.shape[1:])))
        whole[at : at + len(tensor)].copy_(tensor)
        return whole

    def writes_of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return how each element of a result was written: see `cuda_face.writes_of`."""
        return torch.ones(tensor.shape, dtype=torch.uint8)

    def stored_bytes(self, tensor: torch.Tensor) -> int:  # noqa: ARG002 - the simulator's
        """Return the number of bytes that kernels stored to a result, if known."""
        return 0

    def to_host(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return a CPU tensor with the values of a tensor that the submission returned."""
        plain: torch.Tensor = tensors.to_cpu(tensor)
        return plain

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """Return an input of a dry run, with a shape and no values."""
        raise NotImplementedError

    def module(self, model: Any) -> Any:
        """Return the model on the inputs' device."""
        return model

    def seed(self, value: int) -> None:
        """Seed forward's random numbers: on any device they are the reference's."""
        torch.manual_seed(value)

    def poison(self, inputs: Sequence[torch.Tensor]) -> None:
        """Fill newly allocated memory with NaN from now on, so that unwritten outputs show."""

    def check_outputs(self, outputs: Sequence[Any]) -> None:
        """Check the returned tensors before their values are copied."""

    def tell_origins(
        self,
        roles: Iterable[tuple[str, Any]],
        outputs: Sequence[Any],
        asked: Sequence[Sequence[int]],
    ) -> None:
        """Record for the report the provenance of these elements of the outputs, where known."""

    def run_changed(
        self,
        asked: Mapping[str, Any],  # noqa: ARG002 - the simulator's
        known: Sequence[tuple[str, torch.Tensor]],  # noqa: ARG002
        call: Callable[[], list[Any]],
    ) -> list[Any]:
        """Return forward's results under changes of its kernels; unchanged results where they can't be changed."""
        return call()

    def exactly(
        self,
        key: int,  # noqa: ARG002 - the simulator's
        known: Iterable[tuple[torch.Tensor, float | None]],  # noqa: ARG002
        *,
        epsilon: bool,  # noqa: ARG002
        literals: Sequence[float],  # noqa: ARG002
    ) -> Any:
        """Return the mode that follows a call in the exact algebra; None where not supported."""
        return None

    def exact_results(self, algebra: Any, leaves: Sequence[Any]) -> list[Any]:  # noqa: ARG002
        """Return the residues of forward's results instead of the results."""
        return list(leaves)

    def taking(self) -> AbstractContextManager[None]:
        """Return the context in which returned values are copied."""
        return nullcontext()

    def synchronize(self) -> None:
        """Wait for all work of the device; raises its error."""

    def look_around(self, roles: Iterable[tuple[str, Any]]) -> None:
        """Check whether anything was written beside the tensors, whose roles are given by name."""

    def report(self) -> Any:
        """Return the device's report since the last one; None where it has none."""
        return None

    def zones(self) -> Any:
        """Return the writes beside tensors; None where not checked."""
        return None


class Gpu(Placement):
    """A real GPU; with `library`, an allocator whose blocks lie between zones of poison."""

    def __init__(self, library: str = "") -> None:
        self._zones = GuardZones(library) if library else None

    def to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        """Copy it there."""
        moved: torch.Tensor = tensors.to_cuda(tensor)
        return moved

    def module(self, model: Any) -> Any:
        """Move its parameters there."""
        return model.cuda() if isinstance(model, torch.nn.Module) else model

    def poison(self, inputs: Sequence[torch.Tensor]) -> None:
        """Fill memory with NaN and free it into the caching allocator, which hands it out again.

        Memory from the allocator with guard zones is already poisoned.
        """
        if self._zones and not self._zones.why_not:
            return
        given = max((tensor.nbytes for tensor in inputs), default=0)
        free, _ = torch.cuda.mem_get_info()
        # Blocks for its pool of small ones, of the sizes of the inputs, and one to split.
        sizes = [512, 4096, 1 << 16, *[1 << 20] * 4, *(t.nbytes for t in inputs)]
        sizes += [16 << 20, 64 << 20, min(8 * given, free // 4)]
        blocks = [
            torch.full((size,), 0xFF, dtype=torch.uint8, device="cuda") for size in sizes if size
        ]
        self.synchronize()
        del blocks

    def synchronize(self) -> None:
        """Wait, and raise what a kernel failed with."""
        torch.cuda.synchronize()

    def look_around(self, roles: Iterable[tuple[str, Any]]) -> None:
        """Check the guard zones, where there are any, and fill them again."""
        if self._zones:
            self._zones.look(roles)

    def zones(self) -> Any:
        """Return the writes found in guard zones."""
        return self._zones.report() if self._zones else None


class Simulator(Placement):
    """CPU memory presented as CUDA tensors, and kernels that run in our runtime library."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._face: Any = cuda_face
        self._face.install(options)

    def to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        """Copy it there."""
        return self._face.to_device(tensor)

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """Return an input without values."""
        return self._face.empty(shape, dtype)

    def to_host(self, tensor: torch.Tensor) -> torch.Tensor:
        """Copy it back."""
        return self._face.to_host(tensor)

    def refill(self, tensor: torch.Tensor, values: torch.Tensor) -> None:
        """Copy them there."""
        with self._face.without_log():
            tensors.refill(tensor, values)

    def enlarge(self, tensor: torch.Tensor, rows: int, at: int) -> torch.Tensor:
        """Return memory that is untouched but for the given rows."""
        return self._face.enlarge(tensor, rows, at)

    def writes_of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return what the simulator knows of it."""
        return self._face.writes_of(tensor)

    def stored_bytes(self, tensor: torch.Tensor) -> int:
        """Return what the simulator knows of it."""
        return int(self._face.stored_bytes(tensor))

    def module(self, model: Any) -> Any:
        """Move its parameters there."""
        with self._face.without_log():
            return model.cuda() if isinstance(model, torch.nn.Module) else model

    def seed(self, value: int) -> None:
        """Seed it to draw the reference's numbers on the CPU, so that dropout drops the same elements."""
        torch.default_generator.manual_seed(value)
        self._face.draw_as_cpu(value)

    def poison(self, inputs: Sequence[torch.Tensor]) -> None:  # noqa: ARG002 - all new memory is
        """Begin a run; the simulator marks new memory as unwritten by itself."""
        self._face.begin()

    def check_outputs(self, outputs: Sequence[Any]) -> None:
        """Record the unwritten bytes."""
        self._face.check_outputs(list(outputs))

    def tell_origins(
        self,
        roles: Iterable[tuple[str, Any]],
        outputs: Sequence[Any],
        asked: Sequence[Sequence[int]],
    ) -> None:
        """Record the simulator's provenance of them."""
        self._face.tell_origins(roles, outputs, asked)

    def run_changed(
        self,
        asked: Mapping[str, Any],
        known: Sequence[tuple[str, torch.Tensor]],
        call: Callable[..., list[Any]],
    ) -> list[Any]:
        """Let the interpreter run changed code."""
        return list(self._face.run_changed(asked, known, call))

    def exactly(
        self,
        key: int,
        known: Iterable[tuple[torch.Tensor, float | None]],
        *,
        epsilon: bool,
        literals: Sequence[float],
    ) -> Any:
        """Make these tensors variables, and follow computations from them."""
        return self._face.exactly(key, known, epsilon=epsilon, literals=literals)

    def exact_results(self, algebra: Any, leaves: Sequence[Any]) -> list[Any]:
        """Return the simulator's residues."""
        return list(self._face.exact_results(algebra, leaves))

    @contextmanager
    def taking(self) -> Iterator[None]:
        """Log the copies separately, and end the log."""
        with self._face.without_log():
            yield
        self._face.end()

    def synchronize(self) -> None:
        """Wait, and raise what a kernel failed with."""
        self._face.synchronize()

    def report(self) -> Any:
        """Return the simulator's report."""
        return self._face.report()


def place(device: str, options: Mapping[str, Any]) -> Placement:
    """Return the placement for `sim`, `cuda` or `cpu`."""
    if device == "sim":
        return Simulator(options)
    return Gpu(str(options.get("guard_zones", ""))) if device == "cuda" else Placement()


def fill_new_memory_with_nan() -> None:
    """Make `torch.empty` on the CPU return NaN, or the largest integer.

    Not for the simulator, which tracks unwritten bytes itself.
    """
    # The public function imports torch's compiler as well, which takes seconds.
    torch._C._set_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True


def preload(paths: Sequence[str]) -> None:
    """Load libraries so that their symbols take precedence in every library loaded later."""
    for path in paths:
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)

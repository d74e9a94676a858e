"""The allocator with guard zones in place of torch's own: a GPU guest's allocations lie between poison.

It is installed before any allocation. Where that fails the guest continues with torch's own allocator and reports it. A
zone's report explains a verdict: a submission that overwrites the report only hides its own stray writes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from grader.guest import tensors

DRIVER = b"libcuda.so.1"
MOST = 32
"""Most blocks reported at a time."""


class _Stray(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("first", ctypes.c_int64),
        ("last", ctypes.c_int64),
        ("count", ctypes.c_uint64),
    )


class GuardZones:
    """The library, in use from the first allocation on, or the reason why not."""

    def __init__(self, path: str) -> None:
        self.why_not = ""
        self.strays: list[dict[str, Any]] = []
        """Result of the last check."""
        try:
            self._library = _exchange_allocator(path)
        except (OSError, AttributeError, RuntimeError) as error:
            self.why_not = f"{type(error).__name__}: {error}"[:300]

    def look(self, roles: Iterable[tuple[str, Any]]) -> None:
        """Check all zones when the GPU is idle; `roles` name tensors of the program, and the first match counts."""
        self.strays = []
        if self.why_not:
            return
        out = (_Stray * MOST)()
        count = self._library.kgz_look(out, MOST)
        if count > 0:
            try:
                names = _names_by_address(roles)
            except Exception:  # noqa: BLE001 - the model's own code says what its tensors are
                names = {}
            self.strays = [_describe_stray(stray, names) for stray in out[: min(count, MOST)]]

    def report(self) -> dict[str, Any]:
        """Return the result of the last check, for the host."""
        return {"why_not": self.why_not, "strays": self.strays}


def _exchange_allocator(path: str) -> Any:
    library = ctypes.CDLL(path)
    if library.kgz_open(DRIVER) != 0:
        raise OSError(f"{DRIVER.decode()} can't be loaded, or lacks a function")
    address = (
        ctypes.cast(function, ctypes.c_void_p).value
        for function in (library.kgz_alloc, library.kgz_free)
    )
    allocator = torch._C._cuda_customAllocator(*address)
    torch._C._cuda_changeCurrentAllocator(allocator)
    # torch keeps it; queries of the current allocator, as in torch.cuda's own functions, return this one.
    return library


def _names_by_address(roles: Iterable[tuple[str, Any]]) -> dict[int, str]:
    found: dict[int, str] = {}
    for role, value in roles:
        if isinstance(value, torch.Tensor) and (address := tensors.storage_address(value)):
            found.setdefault(address, role)
    return found


def _describe_stray(stray: _Stray, names: dict[int, str]) -> dict[str, Any]:
    fields: Sequence[str] = ("bytes", "first", "last", "count")
    numbers = {name: int(getattr(stray, name)) for name in fields}
    return {"role": names.get(int(stray.data), ""), **numbers}

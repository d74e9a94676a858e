"""The allocator with guard zones in place of torch's own: what a guest on a GPU allocates lies in poison.

It is exchanged before anything is allocated. Where that fails the guest goes on with torch's own allocator and
says so. What is told of a zone explains a verdict: a submission that writes over this finds nothing but that its
own stray writes are not seen.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from grader.guest import tensors

DRIVER = b"libcuda.so.1"
MOST = 32
"""Blocks that are told of at a time."""


class _Stray(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("first", ctypes.c_int64),
        ("last", ctypes.c_int64),
        ("count", ctypes.c_uint64),
    )


class GuardZones:
    """The library, in use from the first allocation on; or why it is not."""

    def __init__(self, path: str) -> None:
        self.why_not = ""
        self.strays: list[dict[str, Any]] = []
        """What the last look has seen."""
        try:
            self._library = _exchange_allocator(path)
        except (OSError, AttributeError, RuntimeError) as error:
            self.why_not = f"{type(error).__name__}: {error}"[:300]

    def look(self, roles: Iterable[tuple[str, Any]]) -> None:
        """Look at all zones once the GPU is idle; `roles` name tensors of the program, the first that fits counts."""
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
        """Return what the last look has seen, for the host."""
        return {"why_not": self.why_not, "strays": self.strays}


def _exchange_allocator(path: str) -> Any:
    library = ctypes.CDLL(path)
    if library.kgz_open(DRIVER) != 0:
        raise OSError(f"{DRIVER.decode()} can't be loaded, or lacks something")
    address = (
        ctypes.cast(function, ctypes.c_void_p).value
        for function in (library.kgz_alloc, library.kgz_free)
    )
    allocator = torch._C._cuda_customAllocator(*address)
    torch._C._cuda_changeCurrentAllocator(allocator)
    # torch keeps it; who asks for the current one, as torch.cuda's own functions do, gets this.
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

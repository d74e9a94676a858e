"""The GPUs that the simulator can model: properties for host code, and limits of launches.

Figures are NVIDIA's: the CUDA C++ Programming Guide's table of compute capabilities (limits per
block and multiprocessor) and the data sheets (multiprocessors, memory, clocks).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from grader.errors import UsageError

_KIB = 1024
_GIB = 1024**3


@dataclass(frozen=True)
class Gpu:
    """One model of GPU. Sizes in bytes, clocks in kHz, the bus in bits."""

    name: str
    """The driver's name of it."""
    major: int
    minor: int
    multiprocessors: int
    memory: int
    shared_per_block_optin: int
    """Most shared memory of a block with cudaFuncSetAttribute, static and dynamic together."""
    shared_per_multiprocessor: int
    threads_per_multiprocessor: int
    blocks_per_multiprocessor: int
    clock: int
    memory_clock: int
    memory_bus: int
    l2_cache: int
    shared_per_block: int = 48 * _KIB
    """Most shared memory of a block without opt-in."""
    shared_reserved: int = 1024
    """Shared memory of a block that the system reserves."""
    registers_per_block: int = 65536
    registers_per_multiprocessor: int = 65536
    threads_per_block: int = 1024

    @property
    def arch(self) -> str:
        """Compute capability in the form of TORCH_CUDA_ARCH_LIST, e.g. `9.0`."""
        return f"{self.major}.{self.minor}"

    def fields(self) -> dict[str, str | int]:
        """Return the fields by the names that the simulator's settings have."""
        return asdict(self)


GPUS: dict[str, Gpu] = {
    "h100": Gpu(
        "NVIDIA H100 80GB HBM3", 9, 0, 132, 85_029_158_912, 227 * _KIB, 228 * _KIB, 2048, 32,
        1_980_000, 2_619_000, 5120, 50 * _KIB**2,
    ),
    "h200": Gpu(
        "NVIDIA H200", 9, 0, 132, 150_110_011_392, 227 * _KIB, 228 * _KIB, 2048, 32,
        1_980_000, 3_201_000, 6144, 60 * _KIB**2,
    ),
    "a100": Gpu(
        "NVIDIA A100-SXM4-80GB", 8, 0, 108, 85_100_724_224, 163 * _KIB, 164 * _KIB, 2048, 32,
        1_410_000, 1_593_000, 5120, 40 * _KIB**2,
    ),
    "l40s": Gpu(
        "NVIDIA L40S", 8, 9, 142, 47_697_362_944, 99 * _KIB, 100 * _KIB, 1536, 24,
        2_520_000, 9_001_000, 384, 96 * _KIB**2,
    ),
    "a10g": Gpu(
        "NVIDIA A10G", 8, 6, 80, 23_609_475_072, 99 * _KIB, 100 * _KIB, 1536, 16,
        1_710_000, 6_251_000, 384, 6 * _KIB**2,
    ),
    "rtx4090": Gpu(
        "NVIDIA GeForce RTX 4090", 8, 9, 128, 25_393_692_672, 99 * _KIB, 100 * _KIB, 1536, 24,
        2_520_000, 10_501_000, 384, 72 * _KIB**2,
    ),
    "rtx3090": Gpu(
        "NVIDIA GeForce RTX 3090", 8, 6, 82, 25_438_126_080, 99 * _KIB, 100 * _KIB, 1536, 16,
        1_695_000, 9_751_000, 384, 6 * _KIB**2,
    ),
    "v100": Gpu(
        "Tesla V100-SXM2-16GB", 7, 0, 80, 16 * _GIB, 96 * _KIB, 96 * _KIB, 2048, 32,
        1_530_000, 877_000, 4096, 6 * _KIB**2, shared_reserved=0,
    ),
    "t4": Gpu(
        "Tesla T4", 7, 5, 40, 15_828_320_256, 64 * _KIB, 64 * _KIB, 1024, 16,
        1_590_000, 5_001_000, 256, 4 * _KIB**2, shared_reserved=0,
    ),
}  # fmt: skip
"""GPUs by the names for `--gpu`."""

DEFAULT = "h100"


def gpu(name: str) -> Gpu:
    """Return the GPU of this name.

    Raises:
        UsageError: there is none.

    """
    try:
        return GPUS[name.lower()]
    except KeyError:
        raise UsageError(f"no GPU {name!r}", f"Choose one of {', '.join(GPUS)}.") from None

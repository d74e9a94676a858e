"""Elements of the exact algebra as arrays, kept in the simulator's memory, and arithmetic on them.

See native/exact.hpp. Sums and products of matrices are taken exactly, by torch itself: on 16-bit digits in float64.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from grader.guest import tensors
from grader.guest.likeness import structure_of

DIGITS = 4
"""Of 16 bits, in a residue."""
MOST = 1 << 24
"""Most elements of a result that are followed."""
SMALL = 2.0**-9
"""Numbers in a formula below this count as an epsilon."""
EPSILON = "epsilon"
TRIANGLES = frozenset({"upper", "lower"})


class Algebra:
    """The simulator's elements as arrays, and arithmetic on them."""

    def __init__(
        self, runtime: Any, key: int, *, epsilon: bool = True, literals: Sequence[float] = ()
    ) -> None:
        self._runtime = runtime
        self._least = 0.0 if epsilon else SMALL
        """Numbers up to this size are left out of formulas."""
        self._of_host: dict[int, tuple[Any, torch.Tensor]] = {}
        """Elements of CPU tensors, by the address of their memory, which is kept alive."""
        runtime.kgsim_exact_cells.restype = ctypes.c_uint64
        self.literals: set[float] = set()
        """Numbers of formulas."""
        runtime.kgsim_exact_begin(ctypes.c_uint64(key))
        if literals:
            given = (ctypes.c_double * len(literals))(*literals)
            runtime.kgsim_exact_literals(ctypes.c_size_t(len(literals)), given)

    # Elements of tensors: int64, one more dim of 2 for the residues; 0 for none.

    def _cells(self, tensor: torch.Tensor, *, make: bool = False) -> torch.Tensor | None:
        """Return the elements of a tensor in memory order."""
        if not tensor.numel() or tensor.itemsize < 2:
            return None
        if not tensor.is_cuda:
            return self._of_cpu(tensor, make=make)
        count = ctypes.c_uint64()
        first = self._runtime.kgsim_exact_cells(
            ctypes.c_uint64(tensor.data_ptr()), ctypes.byref(count)
        )
        if not first:
            return None
        words = (ctypes.c_int64 * (2 * count.value)).from_address(first)
        flat = torch.frombuffer(words, dtype=torch.int64)
        step = tensor.itemsize // 2 * 2
        return flat.as_strided((*tensor.shape, 2), (*(s * step for s in tensor.stride()), 1))

    def _of_cpu(self, tensor: torch.Tensor, *, make: bool) -> torch.Tensor | None:
        storage = tensor.untyped_storage()
        address = storage.data_ptr()
        if address not in self._of_host:
            if not make:
                return None
            rows = storage.nbytes() // tensor.itemsize
            self._of_host[address] = storage, torch.zeros((rows, 2), dtype=torch.int64)
        kept = self._of_host[address][1]
        steps = (*(2 * s for s in tensor.stride()), 1)
        return kept.as_strided((*tensor.shape, 2), steps, 2 * tensor.storage_offset())

    def has_elements(self, value: Any) -> bool:
        """Whether it is a tensor with any known element."""
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return False
        cells = self._cells(value)
        return cells is not None and value.numel() <= MOST and bool((cells[..., 0] != 0).any())

    def read(self, value: Any) -> torch.Tensor:
        """Return the known elements of a tensor, as a copy."""
        cells = self._cells(value) if value.is_floating_point() else None
        return torch.zeros((*value.shape, 2), dtype=torch.int64) if cells is None else cells.clone()

    def has_element(self, operands: Sequence[Any]) -> torch.Tensor:
        """Return a mask of where any of these operands has an element."""
        found = torch.tensor(False)
        for one in operands:
            if isinstance(one, torch.Tensor):
                found = found | (self.read(one)[..., 0] != 0)
        return found

    def as_elements(self, value: Any) -> torch.Tensor:
        """Return elements for all values: one without an element is a constant."""
        if not isinstance(value, torch.Tensor):
            number = 0.0 if abs(value) <= self._least else float(value)
            self.literals.add(number)
            return self.constants(torch.tensor(number, dtype=torch.float64))
        elements = self.read(value)
        missing = elements[..., 0] == 0
        if missing.any():
            elements[missing] = self.constants(numbers(value)[missing])
        return elements

    def constants(self, values: torch.Tensor) -> torch.Tensor:
        """Return the elements of numbers."""
        different, places = values.double().unique(return_inverse=True)
        found = self._fill("kgsim_exact_constants", different)
        return found[places]

    def leaves(self, values: torch.Tensor) -> torch.Tensor:
        """Return variables, of equal numbers the same one."""
        return self._fill("kgsim_exact_leaves", values)

    def _fill(self, function: str, values: torch.Tensor) -> torch.Tensor:
        flat = values.double().contiguous()
        made = torch.zeros((*values.shape, 2), dtype=torch.int64)
        getattr(self._runtime, function)(ctypes.c_size_t(flat.numel()), _at(flat), _at(made))
        return made

    def write(self, tensor: Any, elements: torch.Tensor | None) -> None:
        """Set a result's elements, where its values are finite."""
        if elements is None or not isinstance(tensor, torch.Tensor):
            return
        cells = self._cells(tensor, make=True) if tensor.is_floating_point() else None
        if cells is not None:
            finite = numbers(tensor).isfinite()
            cells.copy_(elements.expand(cells.shape) * finite[..., None])

    def map(self, operation: str, a: torch.Tensor, b: torch.Tensor | None = None) -> torch.Tensor:
        """Return an operation's result, element by element."""
        one, other = torch.broadcast_tensors(a, a if b is None else b)
        one, other = one.contiguous(), other.contiguous()
        made = torch.empty_like(one)
        count = ctypes.c_size_t(one.numel() // 2)
        self._runtime.kgsim_exact_map(operation.encode(), count, _at(one), _at(other), _at(made))
        return made

    def power(self, base: torch.Tensor, exponent: float) -> torch.Tensor:
        """Return powers with one exponent."""
        flat = base.contiguous()
        made = torch.empty_like(flat)
        count = ctypes.c_size_t(flat.numel() // 2)
        self._runtime.kgsim_exact_power(count, ctypes.c_double(exponent), _at(flat), _at(made))
        return made

    def linear(
        self, function: Callable[[torch.Tensor], torch.Tensor], a: torch.Tensor
    ) -> torch.Tensor:
        """Return the result of a linear function: torch's own, applied to digits."""
        return self._join(
            False, *([function(d) for d in part] if part else None for part in _digits(a))
        )

    def product(
        self, function: Callable[[Any, Any], torch.Tensor], a: torch.Tensor, b: torch.Tensor
    ) -> torch.Tensor:
        """Return the result of a bilinear function, which sums products of one factor from each operand."""
        sums = []
        for one, other in zip(_digits(a), _digits(b), strict=True):
            found: list[Any] = [0] * (2 * DIGITS - 1)
            for i, x in enumerate(one or ()):
                for j, y in enumerate(other or ()):
                    found[i + j] = found[i + j] + function(x, y)
            sums.append(found if one and other else None)
        return self._join(True, *sums)

    def _join(self, product: bool, p: Any, q: Any) -> torch.Tensor:
        shape = p[0].shape
        parts = [None if part is None else torch.stack(part).contiguous() for part in (p, q)]
        made = torch.zeros((*shape, 2), dtype=torch.int64)
        self._runtime.kgsim_exact_join(
            int(product),
            ctypes.c_size_t(len(p)),
            ctypes.c_size_t(math.prod(shape)),
            *(None if part is None else _at(part) for part in parts),
            _at(made),
        )
        return made

    def mark(self, known: Iterable[tuple[torch.Tensor, float | None]]) -> None:
        """Make inputs and weights variables; those with a given number become that constant."""
        for tensor, number in known:
            if tensor.is_floating_point() and tensor.numel() <= MOST:
                values = numbers(tensor)
                fixed = None if number is None else torch.full_like(values, number)
                self.write(
                    tensor, self._variables(values) if fixed is None else self.constants(fixed)
                )

    def _variables(self, values: torch.Tensor) -> torch.Tensor:
        """Return variables; the zeros of a triangular matrix are structural and stay zeros."""
        made = self.leaves(values)
        if structure_of(values) in TRIANGLES:
            made[values == 0] = 0
        return made

    def results(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the first residues of forward's results, and a mask of those that aren't constants."""
        found: list[Any] = []
        for leaf in leaves:
            known = isinstance(leaf, torch.Tensor)
            if known and leaf.is_floating_point():
                finite = numbers(leaf).isfinite()  # nothing is claimed about non-finite values
                known_ones = (self.read(leaf)[..., 0] != 0) & finite
                found += [self.as_elements(leaf)[..., 0] * finite, known_ones.byte()]
            else:
                found += [leaf, torch.zeros(leaf.shape if known else (), dtype=torch.uint8)]
        return found


def numbers(tensor: torch.Tensor) -> torch.Tensor:
    """Return the ordinary values on the CPU."""
    found: torch.Tensor = tensors.to_cpu(tensor.detach()) if tensor.is_cuda else tensor.detach()
    return found.double()


def _at(tensor: torch.Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())


def _digits(elements: torch.Tensor) -> tuple[list[torch.Tensor], list[torch.Tensor] | None]:
    """Return the digits of the first and of the second residues; None for the second where any is lost."""

    def of(words: torch.Tensor) -> list[torch.Tensor]:
        return [(words >> 16 * k & 0xFFFF).double() for k in range(DIGITS)]

    second = elements[..., 1]
    return of(elements[..., 0]), None if (second == 0).any() else of(second)

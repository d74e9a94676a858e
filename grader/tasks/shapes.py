"""Workloads by family: reduced nominal sizes, odd sizes, other values, and the full size.

Nominal sizes represent KernelBench's: at most about 200,000 input elements, so that the CPU simulator runs them in
seconds, and of the same kind (a multiple of a block or not).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from grader.records import (
    Distribution,
    DType,
    JsonValue,
    Role,
    Structure,
    TensorSpec,
    Weights,
    Workload,
)

Shape = tuple[int, ...]
Values = tuple[Distribution, float, float]

NORMAL: Values = ("normal", 0.0, 1.0)
"""Signed, so that a dropped sign, `abs` or `relu` shows."""
UNIFORM: Values = ("uniform", 0.0, 1.0)
"""KernelBench's distribution."""
NEGATIVE: Values = ("uniform", -3.0, -0.5)
HEAVY: Values = ("heavy_tailed", 0.0, 1.0)
"""A few elements carry most of a sum: reading only a part of them shows."""
TINY: Values = ("normal", 0.0, 0.001)
"""Values whose variance is small against the epsilon of a norm."""
LARGE: Values = ("large", 0.0, 1000.0)
TIES: Values = ("randint", 0.0, 8.0)
"""Values that make each row's extreme occur more than once."""
CONSTANT: Values = ("constant", 0.75, 0.0)
ZEROS: Values = ("zeros", 0.0, 0.0)


def tensor(
    shape: Sequence[int],
    values: Values = NORMAL,
    dtype: DType = "float32",
    structure: Structure = "none",
) -> TensorSpec:
    """Return the spec of one input tensor."""
    distribution, low, high = values
    return TensorSpec(
        shape=tuple(shape),
        dtype=dtype,
        distribution=distribution,
        low=low,
        high=high,
        structure=structure,
    )


def workload(
    role: Role,
    *inputs: TensorSpec | JsonValue,
    label: str = "",
    init: tuple[JsonValue, ...] = (),
    weights: Weights = "initial",
    nonfinite: bool = False,
) -> Workload:
    """Return a workload named by the shape of its inputs, its arguments and `label`."""
    sizes = ",".join(size_text(item.shape) for item in inputs if isinstance(item, TensorSpec))
    arguments = f"({','.join(map(str, init))})" if init else ""
    drawn = "drawn weights" if weights == "drawn" else ""
    return Workload(
        name=" ".join(part for part in (sizes, arguments, label, drawn) if part),
        role=role,
        inputs=inputs,
        init=init,
        weights=weights,
        reference_may_be_nonfinite=nonfinite,
    )


def size_text(shape: Sequence[int]) -> str:
    """Return `16x1000` for (16, 1000), and `scalar` for ()."""
    return "x".join(map(str, shape)) or "scalar"


def one_input(
    *,
    nominal: Sequence[Shape],
    general: Sequence[Shape],
    full: Shape,
    nominal_values: Values = NORMAL,
    stress: Sequence[tuple[str, Values]] = (),
    stress_shape: Shape | None = None,
    extreme: Sequence[tuple[str, Values]] = (),
    full_values: Values = UNIFORM,
    init: tuple[JsonValue, ...] = (),
    zeros: bool | None = None,
) -> tuple[Workload, ...]:
    """Return the workloads of an operator of one float32 tensor.

    `stress` values decide `correct`, `extreme` ones (overflow, cancellation) only `general`.
    `zeros`: None for no such workload, else whether the reference may be NaN there.
    """
    shape = stress_shape or nominal[0]
    made = [workload("nominal", tensor(size, nominal_values), init=init) for size in nominal]
    made += [workload("stress", tensor(shape, v), label=text, init=init) for text, v in stress]
    if zeros is not None:
        made.append(
            workload("stress", tensor(shape, ZEROS), label="zeros", init=init, nonfinite=zeros)
        )
    made += [workload("general", tensor(size, nominal_values), init=init) for size in general]
    made += [workload("general", tensor(shape, v), label=text, init=init) for text, v in extreme]
    made.append(workload("full", tensor(full, full_values), init=init))
    return tuple(made)


class WindowSizes(NamedTuple):
    """Sizes of a window operator: the arguments of its constructor, and shapes by role.

    `other` has another window, and `full` has the arguments `full_init` if given.
    """

    init: tuple[JsonValue, ...]
    nominal: tuple[Shape, ...]
    stress: Shape
    general: tuple[Shape, ...]
    other: Shape
    other_init: tuple[JsonValue, ...]
    full: Shape
    full_init: tuple[JsonValue, ...] = ()

    def workloads(
        self, stress: Sequence[tuple[str, Values]], weights: Weights = "initial"
    ) -> tuple[Workload, ...]:
        """Return the workloads, with these values under stress, and weights of this kind in the other window."""
        init = self.init
        return (
            *(workload("nominal", tensor(shape), init=init) for shape in self.nominal),
            *(workload("stress", tensor(self.stress, v), label=t, init=init) for t, v in stress),
            *(workload("general", tensor(shape), init=init) for shape in self.general),
            workload("general", tensor(self.other), init=self.other_init, weights=weights),
            workload("full", tensor(self.full, UNIFORM), init=self.full_init or init),
        )


def elementwise(
    *,
    stress: Sequence[tuple[str, Values]] = (),
    extreme: Sequence[tuple[str, Values]] = (("large", ("large", 0.0, 200.0)),),
    init: tuple[JsonValue, ...] = (),
    full: Shape = (4096, 393216),
) -> tuple[Workload, ...]:
    """Return the workloads of an activation: KernelBench's 4096 x 393216, reduced to 4 x 49152.

    The values spread over both signs and past the bends of every usual activation.
    """
    return one_input(
        nominal=((4, 49152), (16, 1024)),
        nominal_values=("normal", 0.0, 2.0),
        general=((1, 1), (1, 31), (2, 33), (5, 1000), (7, 1023)),
        stress=(("negative", NEGATIVE), ("heavy tails", HEAVY), *stress),
        stress_shape=(2, 8192),
        extreme=extreme,
        init=init,
        zeros=False,
        full=full,
    )


def rows(
    *,
    nominal: Sequence[Shape],
    full: Shape,
    stress_shape: Shape,
    zeros: bool | None = None,
    extreme: Sequence[tuple[str, Values]] = (),
    stress: Sequence[tuple[str, Values]] | None = None,
) -> tuple[Workload, ...]:
    """Return the workloads of an operator on the rows of a matrix."""
    usual = (
        ("uniform", UNIFORM),
        ("negative", NEGATIVE),
        ("heavy tails", HEAVY),
        ("large", LARGE),
        ("constant", CONSTANT),
    )
    return one_input(
        nominal=nominal,
        general=((1, 1), (1, 31), (3, 33), (33, 256), (5, 1000), (7, 1023), (2, 4099)),
        stress=usual if stress is None else stress,
        stress_shape=stress_shape,
        extreme=extreme,
        zeros=zeros,
        full=full,
    )


def reduction(*, places: bool = False) -> tuple[Workload, ...]:
    """Return the workloads of a reduction of a 3-D tensor over a dim that the constructor names.

    KernelBench's 128 x 4096 x 4095 over dim 1, reduced to 2 x 256 x 255, and to one larger than a block of threads;
    other dims are `general`. Where indices (`places`) are the result, values repeat, as they do at the full size.
    """
    nominal = ((2, 256, 255), (5, 64, 127), (2, 8, 1057))
    return (
        *(workload("nominal", tensor(s), init=(1,)) for s in nominal),
        *(
            workload("stress", tensor((2, 256, 63), values), label=label, init=(1,))
            for label, values in (
                ("uniform", UNIFORM),
                ("negative", NEGATIVE),
                ("heavy tails", HEAVY),
                ("large", LARGE),
                *((("ties", TIES),) if places else ()),
            )
        ),
        *(
            workload("general", tensor(shape), init=(1,))
            for shape in ((1, 1, 1), (1, 31, 33), (3, 33, 1), (2, 1000, 7), (3, 1023, 5))
        ),
        workload("general", tensor((3, 33, 100)), init=(2,)),
        workload("general", tensor((33, 3, 100)), init=(0,)),
        workload("full", tensor((128, 4096, 4095), UNIFORM), init=(1,)),
    )

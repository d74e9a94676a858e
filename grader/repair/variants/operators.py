"""All ways in which one expression may be replaced by another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from grader.repair.variants import expressions, formulas, indices, literals, sizes, tensors
from grader.repair.variants.sites import Option, Scope

if TYPE_CHECKING:
    from tree_sitter import Node

Operator = Callable[[Scope, "Node"], Iterator[Option]]

OPERATORS: tuple[Operator, ...] = (
    expressions.comparison,
    expressions.arithmetic,
    expressions.assignment,
    expressions.step,
    expressions.sign,
    expressions.choice,
    literals.literal,
    formulas.call,
    formulas.epsilon,
    formulas.result,
    formulas.root,
    formulas.divisor,
    formulas.gelu,
    formulas.square,
    formulas.term,
    indices.name,
    indices.built_in,
    indices.stride,
    indices.along,
    indices.nested,
    indices.beginning,
    indices.renamed,
    indices.transposed,
    indices.shift,
    indices.whole,
    sizes.dims,
    sizes.launch,
    sizes.planes,
    sizes.shape,
    sizes.half_open,
    tensors.view,
    tensors.packed,
    tensors.operand,
    tensors.filled,
    tensors.truth,
    tensors.forgotten,
    tensors.flag,
)

"""The exact algebra: laws that hold in every bit, constants by the numbers they stand for, and how often chance agrees."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from .harness import Simulator

P = 0x1FFFFFFFFFFFF3AF
Q = 0x0FFFFFFFFFFFF9D7
Residues = NDArray[np.uint64]
VALUES = st.integers(0, 2**32).map(float)


class Algebra:
    """The library's functions on arrays of elements."""

    def __init__(self, library: Any, key: int) -> None:
        self._library = library
        library.kgsim_exact_begin(ctypes.c_uint64(key))

    def _fill(self, name: str, values: Sequence[float]) -> Residues:
        given_values = np.array(values, np.float64)
        made = np.zeros((len(values), 2), np.uint64)
        call = getattr(self._library, name)
        call(ctypes.c_size_t(len(values)), _at(given_values), _at(made))
        return made

    def variables(self, *values: float) -> Residues:
        return self._fill("kgsim_exact_leaves", values)

    def constants(self, *values: float) -> Residues:
        return self._fill("kgsim_exact_constants", values)

    def map(self, name: str, a: Residues, b: Residues | None = None) -> Residues:
        a, other = np.ascontiguousarray(a), np.ascontiguousarray(a if b is None else b)
        made = np.zeros_like(a)
        self._library.kgsim_exact_map(
            name.encode(), ctypes.c_size_t(len(a)), _at(a), _at(other), _at(made)
        )
        return made


def _at(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def plain(element: Residues) -> tuple[int, int]:
    """The residues of one element, out of Montgomery's form."""
    p, q = (int(word) for word in element)
    return p * pow(2**64, -1, P) % P, q * pow(2**64, -1, Q) % Q


@pytest.fixture(scope="module")
def algebra(simulator: Simulator) -> Algebra:
    return Algebra(simulator._lib, 7)


def test_the_primes_are_primes_and_two_has_the_order_of_the_exponents() -> None:
    assert P == 2 * Q + 1
    for prime in (P, Q):
        assert all(pow(base, prime - 1, prime) == 1 for base in (2, 3, 5, 7, 11, 13, 17, 19, 23))
    assert pow(2, Q, P) == 1


@given(VALUES, VALUES, VALUES)
@settings(max_examples=100, deadline=None)
def test_sums_and_products_do_not_depend_on_their_order(
    algebra: Algebra, x: float, y: float, z: float
) -> None:
    a, b, c = (algebra.variables(v) for v in (x, y, z))
    add, mul = (lambda u, v: algebra.map("+", u, v)), (lambda u, v: algebra.map("*", u, v))
    assert (add(add(a, b), c) == add(a, add(c, b))).all()
    assert (mul(a, add(b, c)) == add(mul(c, a), mul(b, a))).all()
    assert (algebra.map("/", mul(a, b), b) == a).all()


@given(VALUES, VALUES)
@settings(max_examples=50, deadline=None)
def test_exp_of_a_sum_is_a_product_and_roots_multiply(algebra: Algebra, x: float, y: float) -> None:
    a, b = algebra.variables(x), algebra.variables(y)
    exp = [algebra.map("exp", v)[0, 0] for v in (a, b, algebra.map("+", a, b))]
    inverse_of_word = pow(2**64, -1, P)
    assert int(exp[0]) * int(exp[1]) * inverse_of_word % P == int(exp[2]) % P
    roots = algebra.map("*", algebra.map("sqrt", a), algebra.map("sqrt", b))
    assert (roots == algebra.map("sqrt", algebra.map("*", a, b))).all()


@given(st.integers(-500, 500), st.integers(1, 500))
@settings(max_examples=100, deadline=None)
def test_a_literal_is_the_fraction_that_was_meant(algebra: Algebra, n: int, d: int) -> None:
    meant = n * pow(d, -1, P) % P
    assert plain(algebra.constants(np.float32(n / d))[0])[0] == meant


def test_literals_of_logarithms_and_roots_are_recognised(algebra: Algebra) -> None:
    two_to_log = algebra.map(
        "*", algebra.constants(math.log2(math.e)), algebra.constants(math.log(2))
    )
    assert (two_to_log == algebra.constants(1.0)).all()
    folded = algebra.map("*", algebra.constants(math.log2(math.e)), algebra.constants(0.125))
    assert (algebra.constants(0.125 * math.log2(math.e)) == folded).all()
    half = algebra.constants(math.sqrt(0.5))
    assert (algebra.map("*", half, half) == algebra.constants(0.5)).all()
    fourth = algebra.constants(32.0**-0.25)
    assert (algebra.map("*", fourth, fourth) == algebra.constants(math.sqrt(1 / 32))).all()
    assert (algebra.constants(1e-5) != algebra.constants(1e-6)).all()


def test_a_constant_is_a_product_of_what_the_reference_is_written_with(
    simulator: Simulator,
) -> None:
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    literals = (ctypes.c_double * 2)(alpha, scale)
    for known in (False, True):
        algebra = Algebra(simulator._lib, 5)
        if known:
            simulator._lib.kgsim_exact_literals(ctypes.c_size_t(2), literals)
        one, other, half, both = (
            algebra.constants(v) for v in (alpha, scale, 0.5, alpha * scale / 2)
        )
        made = algebra.map("*", algebra.map("*", one, other), half)
        assert bool((made == both).all()) is known
        assert (algebra.constants(alpha * scale * 0.50001) != made).all()


def test_chance_agrees_never_in_a_million_unequal_sums(simulator: Simulator) -> None:
    """Schwartz-Zippel: unequal polynomials of degree d agree with a chance of d / P, here below 2^-59 each.

    A weaker algebra would show: modulo a prime of 20 bits about one in a million agrees.
    """
    algebra, count = Algebra(simulator._lib, 11), 1_000_000
    values = np.random.default_rng(3).standard_normal((3, count))
    a, b, c = (algebra.variables(*row) for row in values)
    whole = algebra.map("+", algebra.map("*", a, b), algebra.map("*", b, c))
    less = algebra.map("*", a, b)
    assert not (whole[:, 0] == less[:, 0]).any()
    small = (whole[:, 0] % np.uint64(1009)) == (less[:, 0] % np.uint64(1009))
    assert 500 < small.sum() < 1500


def test_another_key_gives_other_elements_and_the_same_laws(simulator: Simulator) -> None:
    one = Algebra(simulator._lib, 1).variables(0.5, 0.25)
    other = Algebra(simulator._lib, 2).variables(0.5, 0.25)
    assert (one != other).all()

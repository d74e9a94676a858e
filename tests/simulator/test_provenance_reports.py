"""A report on where values come from is a guest's: what it claims costs the host a bounded amount."""

from __future__ import annotations

import tracemalloc
from typing import Any

from grader.records import JsonValue
from grader.simulator import provenance
from grader.simulator.provenance import Told, read_told
from grader.source import parse

HUGE = 2**62


def report(**changed: Any) -> JsonValue:
    tensor = {
        "role": "input 1",
        "dtype": "float32",
        "item": 4,
        "shape": [8],
        "strides": [1],
        "address": 4096,
    }
    access = {"what": "load", "width": 4, "base": 4096, "tensors": []}
    reads = {"access": 0, "runs": [[2, 1, 3]], "reads": 3}
    given = {
        "tensors": [tensor],
        "accesses": [access],
        "origins": [{"reads": [reads]}],
        "roots": "outputs",
    }
    return {**given, **changed}  # fmt: skip


def read(report: JsonValue) -> Told:
    found = read_told(report, parse("x = 1"))
    assert found is not None
    return found


def elements(found: Told) -> list[int]:
    (origin,) = found.origins
    assert origin is not None
    return found.elements_of(origin.reads[0], found.tensors[0]).tolist()


def test_what_was_read_is_told_in_elements_of_the_tensor() -> None:
    assert elements(read(report())) == [2, 3, 4]


def test_an_access_may_be_wider_or_narrower_than_an_element() -> None:
    wide = {"what": "load", "width": 8, "base": 4096}
    narrow = {"what": "load", "width": 2, "base": 4096}
    assert elements(read(report(accesses=[wide]))) == [4, 5, 6, 7]
    assert elements(read(report(accesses=[narrow]))) == [1, 2]


def test_claims_beyond_all_measure_are_cut_and_then_nothing_is_concluded() -> None:
    runs = [[0, 1, HUGE]] * 20_000
    reads = [{"access": 0, "runs": runs, "reads": HUGE}] * 3
    tracemalloc.start()
    found = read(report(origins=[{"reads": reads}]))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.unfollowed == provenance.TOO_MANY
    assert most < 4 * 8 * provenance.MOST_TOGETHER


def test_tensors_that_are_too_much_together_are_not_known() -> None:
    large = {"role": "input 1", "item": 4, "shape": [1 << 22], "strides": [1], "address": 0}
    found = read(report(tensors=[large] * 100))
    known = [tensor.size for tensor in found.tensors if tensor.role]
    assert sum(known) <= provenance.MOST_TOGETHER


def test_odd_numbers_are_no_failure() -> None:
    tensor = {"role": "input 1", "item": HUGE, "shape": [8], "strides": [HUGE], "address": HUGE}
    access = {"what": "load", "width": HUGE, "base": HUGE}
    assert not read(report(tensors=[tensor])).tensors[0].role
    assert elements(read(report(accesses=[access]))) == []

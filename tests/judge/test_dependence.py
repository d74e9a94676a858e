"""What wrong elements were made of, against what the reference's depend on."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judge.asked import Asked, are_exchanged, choose_elements, needed_elements
from grader.judge.boxes import extents, in_words
from grader.judge.dependence import evidence_of
from grader.judge.difference import Difference, takes_those_around
from grader.judge.way import Way
from grader.records import Dependence, Evidence, Extent, Place, Slice
from grader.simulator.provenance import Access, Flat, Lost, Origin, Reads, Step, Tensor, Told

ROWS, COLUMNS = 4, 10
INPUT = Tensor("input 1", "float32", 4, (ROWS, COLUMNS), (COLUMNS, 1), 4096)
NO_WAY = Way(np.zeros(0))


def at(line: int) -> Place:
    return Place(line=line, end_line=line)


def load(line: int, columns: int, width: int = 4) -> Access:
    """Return an access of a line that reads the first columns of all rows."""
    box = (ROWS * columns, ((0, ROWS - 1, 1, ROWS), (0, columns - 1, 1, columns)))
    return Access(0, "load", at(line), "k", width, 4096, 0, 0, {0: box})


def row(number: int, columns: int) -> Flat:
    return np.arange(number * COLUMNS, number * COLUMNS + columns)


def shown(
    got: int, *, lost: tuple[Lost, ...] = (), steps: tuple[Step, ...] = (), way: Way = NO_WAY
) -> tuple[Evidence, ...]:
    """Return what is said of row 1's sum that was made of its first columns."""
    access = load(20, got)
    origin = Origin((Reads(access, row(1, got), got),), steps)
    told = Told("", (INPUT,), (access,), (origin,), of_results=True, lost=lost)
    asked = Asked(0, (1,), wrong=True, needs={"input 1": row(1, COLUMNS)}, way=way)
    return evidence_of(told, [asked], "w")


def one(found: tuple[Evidence, ...], *codes: str) -> Evidence:
    (item,) = (item for item in found if item.code in codes)
    return item


def test_columns_that_nobody_reads_are_missing_at_the_line_that_reads_the_others() -> None:
    item = one(shown(8), "missing")
    assert item.place is not None
    assert item.place.line == 20
    assert isinstance(item.details, Dependence)
    assert item.details.extents[1] == Extent(first=8, last=9, step=1, count=2, size=10)
    assert not item.details.read
    assert "columns 8 to 9" in item.text


def test_what_was_made_of_nothing_misses_its_row_at_the_line_that_reads_it_or_else_at_the_last_store() -> (
    None
):
    store = Access(1, "store", at(31), "k", 4, 8192, 0, 0, {})
    asked = Asked(0, (1,), wrong=True, needs={"input 1": row(1, COLUMNS)}, way=NO_WAY)
    for accesses, line in (((load(20, COLUMNS), store), 20), ((store,), 31)):
        told = Told("", (INPUT,), accesses, (Origin(()),), of_results=True, lost=())
        item = one(evidence_of(told, [asked], "w"), "missing")
        assert item.place is not None
        assert item.place.line == line


def test_what_is_read_and_ends_on_the_way_is_lost_where_others_go_on() -> None:
    access = load(20, COLUMNS)
    lost = Lost(Reads(access, row(1, COLUMNS)[8:]), at(25), at(30), "store_shared", (8, 9))
    origin = Origin((Reads(access, row(1, 8), 8),))
    told = Told("", (INPUT,), (access,), (origin,), of_results=True, lost=(lost,))
    asked = Asked(0, (1,), wrong=True, needs={"input 1": row(1, COLUMNS)}, way=NO_WAY)
    item = one(evidence_of(told, [asked], "w"), "lost")
    assert item.place is not None
    assert item.place.line == 30
    assert "end at line 25" in item.text


def test_another_row_is_read_in_the_place_of_ones_own() -> None:
    access = load(20, COLUMNS)
    told = Told(
        "",
        (INPUT,),
        (access,),
        (Origin((Reads(access, row(2, COLUMNS)),)),),
        of_results=True,
        lost=(),
    )
    asked = Asked(0, (1,), wrong=True, needs={"input 1": row(1, COLUMNS)}, way=NO_WAY)
    assert (
        "takes row 2 of input 1 in the place of 1"
        in one(evidence_of(told, [asked], "w"), "other-elements").text
    )


def test_elements_that_one_line_brings_again_are_counted_too_often() -> None:
    access = load(20, COLUMNS)
    origin = Origin((Reads(access, row(1, COLUMNS), 2 * COLUMNS, frozenset({1})),))
    told = Told("", (INPUT,), (access,), (origin,), of_results=True, lost=())
    asked = Asked(0, (1,), wrong=True, needs={"input 1": row(1, COLUMNS)}, way=NO_WAY)
    assert "20 times in all" in one(evidence_of(told, [asked], "w"), "doubled").text


def test_right_dependences_are_no_difference() -> None:
    assert not [item for item in shown(COLUMNS) if isinstance(item.details, Dependence)]


def test_what_right_elements_miss_as_well_is_a_choice_and_no_difference() -> None:
    access = load(20, 8)
    origins = tuple(Origin((Reads(access, row(r, 8)),)) for r in (1, 2))
    told = Told("", (INPUT,), (access,), origins, of_results=True, lost=())
    asked = [
        Asked(0, (r,), wrong=r == 1, needs={"input 1": row(r, COLUMNS)}, way=NO_WAY) for r in (1, 2)
    ]
    found = evidence_of(told, asked, "w")
    assert not [item for item in found if item.code in {"missing", "lost", "other-elements"}]


@pytest.mark.parametrize(("stationary", "said"), [((1,), []), ((1, 2), ["extra"])])
def test_what_only_some_wrong_elements_take_beyond_their_gradient_is_no_cause(
    stationary: tuple[int, ...], said: list[str]
) -> None:
    """The distance of a row to itself is 0 and has no gradient, whatever is wrong with the others."""
    access = load(20, COLUMNS)
    origins = tuple(Origin((Reads(access, row(r, COLUMNS)),)) for r in range(ROWS))
    told = Told("", (INPUT,), (access,), origins, of_results=True, lost=())
    needs = {r: row(r, 0 if r in stationary else COLUMNS) for r in range(ROWS)}
    asked = [
        Asked(0, (r,), wrong=0 < r < 3, needs={"input 1": needs[r]}, way=NO_WAY) for r in needs
    ]
    assert [one.code for one in evidence_of(told, asked, "w") if one.code == "extra"] == said


def test_a_line_that_leaves_out_what_another_line_reads_is_named() -> None:
    whole, part = load(20, COLUMNS), load(30, 8)
    told = Told(
        "",
        (INPUT,),
        (whole, part),
        (Origin((Reads(whole, row(1, COLUMNS)),)),),
        of_results=True,
        lost=(),
    )
    asked = Asked(0, (1,), wrong=True, needs={"input 1": row(1, COLUMNS)}, way=NO_WAY)
    item = one(evidence_of(told, [asked], "w"), "skipped")
    assert item.place is not None
    assert item.place.line == 30


def test_the_first_value_that_the_reference_does_not_come_by_is_where_it_leaves() -> None:
    steps = (
        Step(at(10), 3.25, 1, frozenset(), floats=True),  # the reference comes by it
        Step(
            at(11), 7.25, 2, frozenset({1}), floats=True
        ),  # not by this one, but by what is made of it
        Step(at(12), 0.5, 3, frozenset({2}), floats=True),
        Step(at(13), 9.25, 4, frozenset({3}), floats=True),
    )
    way = Way(np.array([3.25, np.nan]), np.array([0.5]))
    item = one(shown(COLUMNS, steps=steps, way=way), "slice")
    assert item.place is not None
    assert item.place.line == 13
    assert isinstance(item.details, Slice)
    assert item.details.right == (10, 12)


def test_a_line_counts_by_what_goes_on_from_it_and_not_by_what_it_computes_within() -> None:
    """A running scale that is right goes into a sum that lacks it: the sum is where the way leaves."""
    steps = (
        Step(at(20), 0.25, 1, frozenset(), floats=True, op="mul.f32"),
        Step(at(20), 0.5, 2, frozenset({1}), floats=True, op="ex2.approx.f32"),
        Step(at(21), 3.5, 3, frozenset({2}), floats=True, op="fma.rn.f32"),
        Step(at(22), 7.25, 4, frozenset({3}), floats=True, op="div.rn.f32"),
    )
    item = one(shown(COLUMNS, steps=steps, way=Way(np.array([0.5]))), "slice")
    assert item.place is not None
    assert item.place.line == 21


def test_a_value_that_is_met_in_one_block_alone_is_met_by_chance() -> None:
    steps = (
        Step(at(20), 0.5, 1, frozenset(), floats=True, op="sub.f32", in_blocks=(2.25, 5.25, 6.25)),
        Step(at(21), 9.25, 2, frozenset({1}), floats=True, op="add.f32"),
    )
    item = one(shown(COLUMNS, steps=steps, way=Way(np.array([0.5]))), "slice")
    assert item.place is not None
    assert item.place.line == 20


@pytest.mark.parametrize("last", [0.0, math.nan])
def test_a_result_that_is_zero_or_no_number_is_no_intermediate_value(last: float) -> None:
    """The reference comes by a zero somewhere, as most do."""
    steps = (
        Step(at(21), -0.2, 1, frozenset(), floats=True, op="sub.f32"),
        Step(at(22), last, 2, frozenset({1}), floats=True, op="sqrt.f32", operands=(-0.2,)),
        Step(at(23), 0.0, 3, frozenset({2}), floats=False, op="st.global.f32", operands=(last,)),
    )
    told = Told("", (INPUT,), (), (Origin((), steps),), of_results=True, lost=())
    way = Way(np.array([1.0, 0.0]), few=np.array([0.0]))
    asked = Asked(0, (1, 2), wrong=True, needs={}, way=way)
    item = one(evidence_of(told, [asked], "w"), "slice")
    assert isinstance(item.details, Slice)
    assert not item.details.unfinished
    assert item.place is not None
    assert item.place.line == 21


def test_what_torch_makes_of_all_stores_has_one_way() -> None:
    access = load(20, COLUMNS)
    reads = tuple(Reads(access, row(r, COLUMNS), COLUMNS) for r in range(ROWS))
    steps = (
        Step(at(21), 0.5, 1, frozenset(), floats=True, op="sub.f32"),
        Step(at(22), 0.0, 2, frozenset({1}), floats=False, op="st.global.f32", operands=(0.5,)),
    )
    origin = Origin(
        reads, steps, total=0.5 * ROWS * COLUMNS
    )  # of which the mean is the reference's
    told = Told("", (INPUT,), (access,), (origin,), of_results=False, lost=())
    every = np.arange(ROWS * COLUMNS)
    loss = Asked(0, (), wrong=True, needs={"input 1": every}, way=Way(np.array([0.5])))
    item = one(evidence_of(told, [loss], "w"), "slice")
    assert isinstance(item.details, Slice)
    assert item.details.by_torch
    assert item.details.unfinished
    assert item.details.whole


def test_a_scale_is_taken_as_often_as_what_it_scales() -> None:
    """Once for each of the elements of another tensor that the result depends on."""
    access = load(20, 1)
    scale = Reads(access, row(1, 1), COLUMNS, frozenset({7}))
    told = Told("", (INPUT,), (access,), (Origin((scale,)),), of_results=True, lost=())
    needs = {"input 1": row(1, 1), "input 2": np.arange(COLUMNS)}
    asked = Asked(0, (1,), wrong=True, needs=needs, way=NO_WAY)
    assert not [item for item in evidence_of(told, [asked], "w") if item.code == "doubled"]


def test_a_factor_of_a_product_is_taken_once_for_each_column_of_the_other() -> None:
    access = load(20, COLUMNS)
    other = Tensor("input 2", "float32", 4, (COLUMNS, 3), (3, 1), 1 << 16)
    origin = Origin((Reads(access, row(1, COLUMNS), 3 * COLUMNS, frozenset({1})),))
    told = Told("", (INPUT, other), (access,), (origin,), of_results=True, lost=())
    asked = Asked(0, (1,), wrong=True, needs={"input 1": row(1, COLUMNS)}, way=NO_WAY)
    assert not [item for item in evidence_of(told, [asked], "w") if item.code == "doubled"]


def test_what_comes_too_often_is_not_said_beside_an_element_of_another_row() -> None:
    often = load(20, COLUMNS)
    other = replace(load(30, COLUMNS), number=1, base=1 << 16, boxes={1: often.boxes[0]})
    second = Tensor("input 2", "float32", 4, (ROWS, COLUMNS), (COLUMNS, 1), 1 << 16)
    reads = (
        Reads(often, row(1, COLUMNS), 2 * COLUMNS, frozenset({1})),
        Reads(other, row(2, COLUMNS)),
    )
    told = Told("", (INPUT, second), (often, other), (Origin(reads),), of_results=True, lost=())
    needs = {"input 1": row(1, COLUMNS), "input 2": row(1, COLUMNS)}
    found = evidence_of(told, [Asked(0, (1,), wrong=True, needs=needs, way=NO_WAY)], "w")
    assert {one.code for one in found} & {"doubled", "other-elements"} == {"other-elements"}


def test_an_element_that_no_thread_stores_is_missing_at_the_line_that_stores_others() -> None:
    """Also of counts and indices, which have no gradient."""
    result = Tensor("output 1", "int64", 8, (COLUMNS,), (1,), 8192)
    store = Access(0, "store", at(30), "k", 8, 8192, 0, 0, {0: (8, ((0, 7, 1, 8),))})
    told = Told("", (result,), (store,), (None, None), of_results=True, lost=())
    asked = [Asked(0, (9,), True, {}, NO_WAY), Asked(0, (3,), False, {}, NO_WAY)]
    item = one(evidence_of(told, asked, "w"), "missing")
    assert item.place == at(30)
    assert isinstance(item.details, Dependence)
    assert not item.details.stored
    assert "no thread stores element [9]" in item.text


def test_the_dim_that_falls_short_is_told_from_the_last_on() -> None:
    item = one(shown(8), "missing")
    assert isinstance(item.details, Dependence)
    assert item.details.along == (0, 1)
    assert not item.details.holes


def test_nothing_is_said_of_dependences_that_could_not_be_followed() -> None:
    access = load(20, 8)
    told = Told("tensor-core instructions", (INPUT,), (access,), (None,), of_results=True, lost=())
    asked = Asked(0, (1,), wrong=True, needs={"input 1": row(1, COLUMNS)}, way=NO_WAY)
    assert {item.code for item in evidence_of(told, [asked], "w")} == {"touched"}


def test_an_element_of_eight_bytes_read_in_halves_is_the_same_element() -> None:
    tensor = Tensor("input 2", "int64", 8, (6,), (1,), 4096)
    access = load(20, 3)
    told = Told("", (tensor,), (access,), (), of_results=True, lost=())
    halves = Reads(access, np.arange(6))
    assert told.elements_of(halves, tensor).tolist() == [0, 1, 2]


def test_elements_of_a_transposed_view_are_found_by_their_strides() -> None:
    tensor = Tensor("input 1", "float32", 4, (3, 2), (1, 3), 4096)
    access = load(20, 2)
    told = Told("", (tensor,), (access,), (), of_results=True, lost=())
    # Memory holds the second column behind the first one.
    assert told.elements_of(Reads(access, np.array([3])), tensor).tolist() == [1]


@given(st.lists(st.integers(0, 23), min_size=1, max_size=24, unique=True))
def test_a_box_holds_every_element_that_it_is_around(flat: list[int]) -> None:
    box = extents(np.array(sorted(flat)), (4, 6))
    for element in flat:
        for index, extent in zip(divmod(element, 6), box, strict=True):
            assert extent.first <= index <= extent.last
            assert not extent.step or (index - extent.first) % extent.step == 0


@pytest.mark.parametrize(
    ("gradient", "expected"),
    [([0.0, 1.0, 0.0, 1e-20], [1]), ([0.0, 0.0], []), ([float("nan"), 1.0], [])],
)
def test_what_is_needed_is_where_the_gradient_is_not_zero(
    gradient: list[float], expected: list[int]
) -> None:
    assert needed_elements(np.array(gradient)).tolist() == expected


def test_right_elements_are_asked_about_only_where_they_are_not_right_by_chance() -> None:
    mostly = np.ones(100, bool)
    mostly[50] = False
    assert all(wrong for _, wrong in choose_elements(mostly))
    half = np.arange(100) < 50
    picked = dict(choose_elements(half))
    assert picked[0]
    assert not picked[50]


def test_a_box_in_words_leaves_out_what_is_whole() -> None:
    box = extents(np.array([8, 9, 18, 19, 28, 29, 38, 39]), (ROWS, COLUMNS))
    assert in_words(box) == "columns 8 to 9"


def test_a_sum_whose_mean_the_reference_has_is_left_at_the_line_that_takes_it() -> None:
    """A tree adds up in line 10, line 12 takes the sum for the mean, line 13 goes on with it."""
    steps = (
        Step(at(10), 1.5, 1, frozenset(), floats=False, op="ld.shared.f32"),
        Step(at(10), 7.5, 2, frozenset({1}), floats=True, op="add.f32"),
        Step(at(10), 0.0, 3, frozenset({2}), floats=False, op="st.shared.f32", operands=(7.5,)),
        Step(at(12), 7.5, 4, frozenset({3}), floats=False, op="ld.shared.f32"),
        Step(at(13), -7.2, 5, frozenset({4}), floats=True, op="sub.f32", operands=(0.3, 7.5)),
        Step(at(14), -9.3, 6, frozenset({5}), floats=True, op="mul.f32"),
    )
    item = one(shown(COLUMNS, steps=steps, way=Way(np.array([0.75]))), "slice")
    assert item.place == at(12)


def test_a_result_with_the_other_sign_is_turned_where_something_is_subtracted_last() -> None:
    steps = (
        Step(at(10), 2.25, 1, frozenset(), floats=True, op="sub.f32"),
        Step(at(12), -3.75, 2, frozenset({1}), floats=True, op="add.f32"),
    )
    item = one(shown(COLUMNS, steps=steps, way=Way(np.array([3.75]))), "slice")
    assert item.place == at(10)


def test_what_lies_between_the_elements_that_one_line_takes_over_is_lost_there() -> None:
    """Line 30 takes over what line 25 gives for all of a chunk but its last element."""
    access = load(20, COLUMNS)
    chunk, rest = row(1, 4), row(1, COLUMNS)[5:]
    through = Reads(access, chunk, 4, frozenset({1, 2}))
    beside = Reads(access, rest, 5, frozenset({1}))
    steps = tuple(Step(at(20 + 5 * n), 1.0, n, frozenset(), floats=True) for n in (1, 2))
    told = Told(
        "", (INPUT,), (access,), (Origin((through, beside), steps),), of_results=True, lost=()
    )
    asked = Asked(0, (1,), wrong=True, needs={"input 1": row(1, COLUMNS)}, way=NO_WAY)
    got, origin = np.concatenate([chunk, rest]), told.origins[0]
    found = Difference(asked, INPUT, got, (through, beside), origin)
    assert takes_those_around(told, found) == at(30)
    everywhere = Difference(asked, INPUT, got[1::2], (through, beside), origin)
    assert takes_those_around(told, everywhere) != at(30)


@pytest.mark.parametrize(
    ("missing", "displaced"),
    [(4, False), (14, True), (1, True), (6, True)],
    ids=["a loop ends early", "another row", "begins too late", "far from it"],
)
def test_what_no_loop_that_ends_early_leaves_out_is_displaced(
    missing: int, *, displaced: bool
) -> None:
    """What it has are columns 2 and 3 of row 0."""
    asked = Asked(0, (0,), wrong=True, needs={"input 1": np.array([missing])}, way=NO_WAY)
    assert Difference(asked, INPUT, np.array([2, 3]), ()).displaced == displaced


@given(st.permutations(range(12)))
def test_right_elements_at_other_places_are_exchanged(order: list[int]) -> None:
    exact = np.arange(12.0) ** 2
    actual = exact[order]
    mask = actual != exact
    assert are_exchanged(actual, exact, mask) == (mask.sum() > 8)
    assert not are_exchanged(actual + 1.0, exact, np.ones(12, bool))


@pytest.mark.parametrize(
    ("got", "along"),
    [
        (np.concatenate([row(0, 8), row(1, 8)]), (0, 2)),
        (row(0, COLUMNS), (1, 2)),
        (np.concatenate([row(0, COLUMNS), row(1, COLUMNS)]), (0, 0)),
        (np.zeros(0, int), (0, 0)),
    ],
    ids=["columns", "rows", "nothing", "both"],
)
def test_a_sum_that_falls_short_says_along_which_of_its_dims(
    got: Flat, along: tuple[int, int]
) -> None:
    needs = np.concatenate([row(0, COLUMNS), row(1, COLUMNS)])
    asked = Asked(0, (1,), wrong=True, needs={"input 1": needs}, way=NO_WAY)
    assert Difference(asked, INPUT, got, ()).along == along

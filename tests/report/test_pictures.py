"""Pictures whatever was seen or measured: well formed, finite, within their frame, with words for those who can't see."""

import math
import re
from collections.abc import Iterable
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from markupsafe import Markup

from grader.compare import compare
from grader.judge.wrong_map import wrong_map
from grader.records import (
    AccessShape,
    Actor,
    Evidence,
    LaneMask,
    Launch,
    LineCount,
    MemoryAccess,
    Place,
    Race,
    Review,
    Timing,
    UnwrittenRead,
    Waiting,
    Work,
    WrongMap,
)
from grader.report.entry import entry
from grader.report.html import speed
from grader.report.html.moved import figures
from grader.report.html.pictures import pictures
from grader.report.html.plots import Plot, plots
from grader.report.html.roofline import roofline
from grader.report.times import point

from .conftest import Make, review

CODES = (
    "race", "race-volatile", "global-race", "uninit-shared-read", "deadlock", "grid-deadlock", "livelock",
    "barrier-exited", "barrier-divergence", "sync-exited-lanes", "out-of-bounds", "shared-out-of-bounds",
)  # fmt: skip
NUMBERS = st.integers(0, 5000) | st.sampled_from((2**32 - 1, 2**62))
WORDS = st.sampled_from(("", "words"))
TRIPLES = st.none() | st.tuples(*[st.integers(0, 1023)] * 3)
ACTORS = st.none() | st.builds(Actor, thread=TRIPLES, block=TRIPLES, did=WORDS)
DETAILS = st.one_of(
    st.none(),
    st.builds(Race, conflict=st.sampled_from(("write-read", "plain-atomic", "")) | WORDS),
    st.builds(LaneMask, mask=NUMBERS),
    st.builds(MemoryAccess, size=NUMBERS, offset=st.none() | st.integers(-(2**62), 2**62)),
    st.builds(UnwrittenRead, use=WORDS),
    st.builds(
        Waiting,
        at=st.sampled_from(("barrier", "warp")),
        threads=NUMBERS,
        exited=NUMBERS,
        blocks=NUMBERS,
    ),
)
PLACES = st.none() | st.builds(lambda n: Place(line=n, end_line=n), st.integers(1, 40))
EVIDENCE = st.builds(
    lambda code, details, actor, other, place, related: Evidence(
        kind="simulator",
        code=code,
        text="what was seen",
        place=place,
        related=(related,) if related else (),
        workload="w",
        kernel="k",
        actor=actor,
        other_actor=other,
        details=details,
    ),
    st.sampled_from(CODES),
    DETAILS,
    ACTORS,
    ACTORS,
    PLACES,
    PLACES,
)
TIMES = st.floats(1e-4, 1e4) | st.sampled_from((0.0, math.inf, math.nan))


def seen(evidence: list[Evidence], block: tuple[int, int, int]) -> Review:
    made = review()
    run = made.evaluation.runs[0].model_copy(
        update={
            "workload": "w",
            "evidence": tuple(evidence),
            "launches": (Launch(kernel="k", grid=(1, 1, 1), block=block, shared_bytes=0),),
            "counts": (LineCount(kernel="k", line=3, requests=7, sectors=90, ideal_sectors=3),),
        }
    )
    evaluation = made.evaluation.model_copy(update={"runs": (run,), "comparisons": ()})
    return made.model_copy(update={"evaluation": evaluation, "findings": ()})


def sound(picture: Markup) -> None:
    """Fail unless the picture is a whole one."""
    root = ET.fromstring(str(picture))
    assert root.get("role") == "img"
    assert root.get("aria-label")
    assert root.findtext("title") == root.get("aria-label")
    _, _, width, height = map(float, root.get("viewBox", "").split())
    assert 0 < width < 5000
    assert 0 < height < 5000
    for element in root.iter():
        for name, value in element.attrib.items():
            if name in {"x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "width", "height", "r"}:
                limit = width if name in {"x", "x1", "x2", "cx", "width"} else height
                assert -0.01 <= float(value) <= limit + 0.01, (element.tag, name, value)
            if name in {"points", "d"}:
                assert all(map(math.isfinite, map(float, re.findall(r"-?\d+\.?\d*", value))))
            assert "nan" not in value.lower() or name == "aria-label"
        if element.tag == "text" and element.text:
            fits(element, width)


def fits(element: ET.Element, width: float) -> None:
    """Fail where a text leaves its picture, at the width of an average letter."""
    long = len(element.text or "") * 5.6
    anchor, x = element.get("text-anchor"), float(element.get("x", "0"))
    left = x - {"start": 0.0, "middle": long / 2}.get(anchor or "start", long)
    assert left > -6, element.text
    assert left + long < width + 6, element.text


@settings(max_examples=25, deadline=None)
@given(
    st.lists(EVIDENCE, max_size=5),
    st.tuples(st.integers(1, 1024), st.integers(1, 4), st.integers(1, 2)),
)
def test_evidence_is_drawn_whole(evidence: list[Evidence], block: tuple[int, int, int]) -> None:
    for drawn in pictures(seen(evidence, block)):
        sound(drawn.picture)
        assert drawn.caption


def wrong_on(maps: list[WrongMap | None]) -> Review:
    made = review()
    (one,) = made.evaluation.comparisons
    assert one.mismatch is not None
    comparisons = tuple(
        one.model_copy(
            update={
                "workload": f"w{n}",
                "mismatch": one.mismatch.model_copy(update={"where": where}),
            }
        )
        for n, where in enumerate(maps)
    )
    evaluation = made.evaluation.model_copy(update={"comparisons": comparisons, "runs": ()})
    return made.model_copy(update={"evaluation": evaluation, "findings": ()})


@settings(max_examples=25, deadline=None)
@given(arrays(bool, array_shapes(max_dims=4, max_side=70)))
def test_a_wrong_part_is_drawn_whole(mask: np.ndarray) -> None:
    where = wrong_map(mask)
    drawn = pictures(wrong_on([where, where]))
    assert len(drawn) == (where is not None)
    for one in drawn:
        sound(one.picture)


def test_each_kind_of_wrong_part_is_drawn_once() -> None:
    tails = [
        WrongMap(rows=("0" * size + "9",) * 2, down="dim 0", across="dim 1") for size in (3, 7)
    ]
    head = WrongMap(rows=("9" + "0" * 5,) * 2, down="dim 0", across="dim 1")
    drawn = pictures(wrong_on([None, *tails, head]))
    assert [one.caption.split(" is wrong")[0][-2:] for one in drawn] == ["w1", "w3"]
    assert [drawn[n].picture.count('class="level') for n in (0, 1)] == [2 + 2, 2 + 2]


@settings(max_examples=12, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(("correct", "incorrect", "hung", "build_failed", "grader_error")),
            st.none() | st.floats(1e-5, 1e5),
            st.none() | st.floats(1e-5, 1e5),
        ),
        max_size=6,
    )
)
def test_runs_are_drawn_whole(rows: list[tuple[str, float | None, float | None]]) -> None:
    before = [make(n, "correct", old) for n, (_, old, _) in enumerate(rows)]
    after = [make(n, status, new) for n, (status, _, new) in enumerate(rows)]
    made = compare(before, after)
    for plot in [*plots(list(map(entry, after))), *figures(made)]:
        sound(plot.picture)
        assert plot.caption
        assert all(len(row) == len(plot.head) for row in plot.rows)


TEMPLATE = review()


def make(number: int, status: str, speedup: float | None) -> Review:
    verdict = TEMPLATE.verdict.model_copy(
        update={
            "status": status,
            "speedup": speedup,
            "speedup_low": speedup,
            "speedup_high": speedup,
        }
    )
    evaluation = TEMPLATE.evaluation.model_copy(update={"verdict": verdict})
    findings = TEMPLATE.findings if status != "correct" else ()
    changed = {"sample": f"s{number}", "evaluation": evaluation, "findings": findings}
    return TEMPLATE.model_copy(update=changed)


def timing(what: str, median: float) -> Timing:
    return Timing(
        what=what, workload="w", median=median, low=median, high=median, iqr=0.0, samples=9,
        converged=True, note="15 GB at the speed of a copy",
    )  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(("submission", "eager", "compile", "floor")), TIMES),
            max_size=5,
            unique_by=lambda pair: pair[0],
        ),
        max_size=5,
    )
)
def test_times_are_drawn_whole(samples: list[list[tuple[str, float]]]) -> None:
    reviews = [
        with_times(review(f"s{n}"), [timing(what, median) for what, median in times])
        for n, times in enumerate(samples)
    ]
    shown = [floors(reviews), *(speed.against_floor(r.evaluation) for r in reviews)]
    for plot in filter(None, shown):
        sound(plot.picture)


def floors(reviews: Iterable[Review]) -> Plot | None:
    return speed.floors([times for review in reviews if (times := point(review))])


def with_times(made: Review, timings: list[Timing]) -> Review:
    evaluation = made.evaluation.model_copy(update={"timings": tuple(timings)})
    return made.model_copy(update={"evaluation": evaluation})


def test_the_floor_stands_beside_the_times(make_review: Make) -> None:
    times = [timing("submission", 5.0), timing("eager", 10.0), timing("floor", 4.0)]
    made = with_times(make_review(), times)
    bars = speed.against_floor(made.evaluation)
    assert bars is not None
    assert "80% of the speed that the floor allows" in bars.caption
    peak = floors([made, with_times(make_review(), times[:2])])
    assert peak is not None
    assert "1 of 1 timed kernels take at most twice their floor" in peak.caption


OPERATIONS = st.integers(0, 1 << 50)


@settings(max_examples=25, deadline=None)
@given(moved=st.integers(1, 1 << 40), products=OPERATIONS, others=OPERATIONS, ms=TIMES)
def test_a_roofline_is_drawn_whole(moved: int, products: int, others: int, ms: float) -> None:
    work = Work(
        workload="w", bytes=moved, products=products, others=others, bandwidth=4e12,
        rate=5e13 if products else None,
    )  # fmt: skip
    made = with_times(review("s"), [timing("submission", ms), timing("eager", 10.0)])
    evaluation = made.evaluation.model_copy(update={"work": work})
    plot = roofline(made.model_copy(update={"evaluation": evaluation}))
    assert (plot is None) == (products + others == 0)
    if plot is not None:
        sound(plot.picture)


def test_a_product_has_arithmetic_for_its_roof(make_review: Make) -> None:
    work = Work(workload="w", bytes=10**9, products=10**12, bandwidth=4e12, rate=5e13)
    made = with_times(make_review(), [timing("submission", 40.0), timing("eager", 20.0)])
    evaluation = made.evaluation.model_copy(update={"work": work})
    plot = roofline(made.model_copy(update={"evaluation": evaluation}))
    assert plot is not None
    assert (
        "arithmetic is its peak on this GPU, and the submission reaches 50% of it" in plot.caption
    )
    assert [row[0] for row in plot.rows] == ["submission", "eager torch"]


def test_no_time_no_picture(make_review: Make) -> None:
    made = with_times(make_review(), [])
    assert speed.against_floor(made.evaluation) is None
    assert floors([made]) is None


def test_a_race_shows_both_lines_and_both_warps(make_review: Make) -> None:
    item = Evidence(
        kind="simulator",
        code="race",
        text="thread 0 reads what thread 128 wrote",
        place=Place(line=11, end_line=11),
        related=(Place(line=9, end_line=9),),
        workload="w",
        kernel="k",
        actor=Actor(thread=(0, 0, 0)),
        other_actor=Actor(thread=(128, 0, 0)),
        details=Race(conflict="write-read"),
    )
    drawn = str(pictures(seen([item], (256, 1, 1)))[0].picture)
    assert "8 warps: warp 4 writes, warp 0 reads, each at its own pace" in drawn
    assert "writes the word, line 9" in drawn
    assert "if (t &lt; s) sums[t] += sums[t + s];" in drawn
    one = str(pictures(seen([item], (32, 8, 1)))[0].picture)
    assert "warp 0" in one


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("grid-deadlock", "no thread that still runs does what they wait for"),
        ("livelock", "turns for ever, line 10"),
        ("deadlock", "no other thread will arrive"),
    ],
)
def test_who_waits_is_drawn(code: str, words: str) -> None:
    place = Place(line=10, end_line=10)
    details = Waiting(threads=256, blocks=4)
    item = Evidence(
        kind="simulator", code=code, text="they wait", place=place, workload="w", details=details
    )
    drawn = str(pictures(seen([item], (256, 1, 1)))[0].picture)
    assert words in drawn
    assert "256 threads of 4 blocks" in drawn
    assert "for (int s = 128; s &gt; 0; s /= 2) {" in drawn


def drawn_of(**changed: object) -> list[str]:
    made = review()
    return [str(one.picture) for one in pictures(made.model_copy(update=changed))]


def test_memory_is_a_strip_with_what_was_touched_beyond_it() -> None:
    access = MemoryAccess(size=4096, offset=4100, width=4, region="input 1")
    seen = Evidence(kind="simulator", code="out-of-bounds", text="beyond", details=access)
    found = review().findings[0].model_copy(update={"evidence": (seen,)})
    [picture] = [one for one in drawn_of(findings=(found,)) if "input 1" in one]
    assert "4 bytes beyond its end" in picture
    before = seen.model_copy(update={"details": access.model_copy(update={"offset": -8})})
    found = found.model_copy(update={"evidence": (before,)})
    assert any("8 bytes before its beginning" in one for one in drawn_of(findings=(found,)))


def test_lanes_lead_to_sectors_only_where_their_distance_is_known() -> None:
    made = review()
    poor = LineCount(kernel="k", line=9, requests=10, accesses=320, sectors=320, ideal_sectors=40)
    run = made.evaluation.runs[0].model_copy(update={"counts": (poor,)})
    evaluation = made.evaluation.model_copy(update={"runs": (run,)})
    assert not any("lane 31" in one for one in drawn_of(evaluation=evaluation))
    known = made.findings[1].model_copy(update={"access": AccessShape(stride=4095, lines=(9,))})
    [picture] = [
        one for one in drawn_of(evaluation=evaluation, findings=(known,)) if "lane 31" in one
    ]
    assert "32 lanes, each 4095 elements from the next" in picture
    few = run.model_copy(update={"counts": (poor.model_copy(update={"accesses": 0}),)})
    evaluation = evaluation.model_copy(update={"runs": (few,)})
    assert not any("lane 0" in one for one in drawn_of(evaluation=evaluation, findings=(known,)))


def test_words_of_one_bank_take_turns() -> None:
    found = review().findings[1].model_copy(update={"access": AccessShape(turns=8)})
    [picture] = [one for one in drawn_of(findings=(found,)) if "one bank" in one.lower()]
    assert picture.count("turn ") - picture.count("one word a turn ") >= 8
    assert "turn 8" in picture
    assert "turn 9" not in picture


def test_threads_that_returned_and_threads_that_wait_are_a_bar() -> None:
    waiting = Waiting(exited=32, threads=128)
    seen = Evidence(kind="simulator", code="barrier-exited", text="some wait", details=waiting)
    found = review().findings[0].model_copy(update={"evidence": (seen,)})
    assert any(
        "128 threads: 32 have returned, 96 wait" in one for one in drawn_of(findings=(found,))
    )

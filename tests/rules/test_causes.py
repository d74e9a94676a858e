"""What a run's observation means in a sentence: who does what to whom, without threads and bytes."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence, MemoryAccess, Place, Race
from grader.rules.causes import cause_of
from grader.source import parse
from tests.rules.examples import as_submission
from tests.rules.reviews import review_text


def _seen(details: MemoryAccess | Race, *lines: int, language: str = "cuda") -> Evidence:
    places = tuple(
        Place.model_validate({"line": line, "end_line": line, "language": language})
        for line in lines
    )
    return Evidence(
        kind="simulator",
        code="any",
        text="thread 0 ...",
        details=details,
        place=places[0],
        related=places[1:],
    )


@pytest.mark.parametrize(
    ("conflict", "lines", "language", "said"),
    [
        ("write-read", (9, 4), "cuda", "a thread reads what another thread writes on line 4"),
        ("write-write", (16, 16), "python", "a program overwrites what another program writes on the same line"),
    ],
)  # fmt: skip
def test_a_race_names_both_accesses(
    conflict: str, lines: tuple[int, int], language: str, said: str
) -> None:
    """The tool's own sentence names threads; the cause names who it is that conflicts, and where."""
    item = _seen(Race(conflict=conflict), *lines, language=language)
    assert cause_of(item) == f"{said}, and nothing makes one wait for the other"


@pytest.mark.parametrize(
    ("offset", "said"),
    [
        (400, "a thread reads past the end of `input 1`"),
        (398, "a thread reads past the end of `input 1`"),
        (-4, "a thread reads before the start of `input 1`"),
        (396, "thread 0 ..."),
    ],
)
def test_an_access_out_of_bounds_names_the_side(offset: int, said: str) -> None:
    """An access that lies inside is none of these: its own sentence stays."""
    access = MemoryAccess(access="read", offset=offset, size=400, width=4, region="input 1")
    assert cause_of(_seen(access, 5)) == said


def test_what_is_not_known_is_not_said() -> None:
    """A tool that names neither tensor nor kind of access keeps its own words."""
    assert cause_of(_seen(MemoryAccess(width=4), 5)) == "thread 0 ..."
    assert cause_of(_seen(Race(), 5, 6)) == "thread 0 ..."


def test_a_misaligned_access_is_not_said_to_be_outside() -> None:
    item = _seen(MemoryAccess(access="read", offset=257, size=257, width=4, region="input 1"), 9)
    said = "a thread reads 4 bytes at once, and the address is not a multiple of 4"
    assert cause_of(item.model_copy(update={"code": "misaligned"})) == said
    assert cause_of(item.model_copy(update={"code": "out-of-bounds"})) == (
        "a thread reads past the end of `input 1`"
    )


@pytest.mark.parametrize(
    ("declared", "used", "said"),
    [
        ("float s[64]", "s[threadIdx.x ^ 32]", "a thread reads a cell of `s` that another thread"),
        ("float s", "s", "a thread reads `s`, which another thread"),
    ],
)
def test_a_race_names_the_array_that_it_is_about(declared: str, used: str, said: str) -> None:
    stored = "s[threadIdx.x]" if "[" in declared else "s"
    code = as_submission(
        f"""
__global__ void k(const float* x, float* y) {{
    __shared__ {declared};
    {stored} = x[threadIdx.x];
    y[threadIdx.x] = {used};
}}
"""
    )
    lines = code.splitlines()
    store, read = (
        next(n for n, line in enumerate(lines, 1) if words in line)
        for words in (f"{stored} = x", f"= {used};")
    )
    item = _seen(Race(conflict="write-read"), read, store).model_copy(update={"code": "race"})
    found = review_text(parse(code), Context(evidence=(item,)), select=("SYN002",))
    assert [one.message.startswith(said) for one in found] == [True]

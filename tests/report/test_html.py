"""The pages as text: self-contained, within their budgets, and of one shape whatever the words."""

import base64
import gzip
import json
import random
import re
from html.parser import HTMLParser

import pytest

from grader.records import Review
from grader.report import html
from grader.report.html import highlight

from .conftest import CODE, Make, index_page
from .payloads import PAYLOADS

LOADS = {"src", "srcset", "srcdoc", "data", "action", "formaction", "poster", "background", "style"}
SYNTAX = {"i", "code"}


class Shape(HTMLParser):
    """The elements of a page in order, and whatever could load or run something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.active: list[tuple[str, str]] = []
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in SYNTAX:
            self.tags.append(tag)
        for name, value in attrs:
            if name in LOADS or name.startswith("on"):
                self.active.append((name, value or ""))
            if name in {"href", "xlink:href"}:
                self.links.add(value or "")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_words_never_become_elements(make_review: Make, payload: str) -> None:
    plain, hostile = (Shape(html.page(make_review(words=w))) for w in ("two words", payload))
    without_lines = [tag for tag in hostile.tags if tag not in {"div", "ins", "del", "span"}]
    assert without_lines == [t for t in plain.tags if t not in {"div", "ins", "del", "span"}]
    assert hostile.active == []
    assert hostile.links == plain.links


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_log_and_a_note_never_become_elements(make_review: Make, payload: str) -> None:
    def page(words: str) -> Shape:
        made = make_review(words=words, status="build_failed")
        return Shape(html.page(made.model_copy(update={"repairs": (), "repair_note": words})))

    plain, hostile = page("two words"), page(payload)
    lines = {"div", "ins", "del", "span"}
    assert [t for t in hostile.tags if t not in lines] == [t for t in plain.tags if t not in lines]
    assert hostile.active == []
    assert hostile.links == plain.links


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_code_stays_code(make_review: Make, payload: str) -> None:
    code = CODE.replace("float sums", f"{payload} float sums") + f"# {payload}\n"
    shape = Shape(html.page(make_review(code=code)))
    assert shape.tags.count("script") == 1
    assert shape.tags.count("style") == 1
    assert not {"iframe", "img", "object", "meta http-equiv", "base"} & set(shape.tags)
    assert shape.active == []


@pytest.mark.parametrize("payload", PAYLOADS)
def test_the_index_has_one_row_a_sample(make_review: Make, payload: str) -> None:
    reviews = [make_review(f"s{n}", words=payload, task=payload) for n in range(3)]
    shape, plain = (
        Shape(index_page(some)) for some in (reviews, [make_review(f"s{n}") for n in range(3)])
    )
    assert shape.tags == plain.tags
    assert shape.active == []


def test_the_policy_lets_nothing_in() -> None:
    policy = html.templates.policy()
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_a_page_is_a_function_of_its_review(make_review: Make) -> None:
    assert html.page(make_review()) == html.page(make_review())


def test_each_finding_stands_under_its_line(make_review: Make) -> None:
    page = html.page(make_review())
    line, card = page.index('id="L11"'), page.index('id="H1"')
    assert line < card < page.index('id="L12"')
    assert "launch-hygiene" in page
    assert page.count('class="finding') == 3


def test_a_large_sample_is_cut_to_the_budget(make_review: Make) -> None:
    code = CODE + "x = 1  # a line like any other, and another one after it\n" * 20000
    assert len(html.page(make_review(code=code)).encode()) < 300_000
    assert len(html.page(make_review(code=CODE + f"x = '{'a' * 1_000_000}'\n"))) < 150_000


def test_an_ordinary_page_is_within_the_budget(make_review: Make) -> None:
    code = CODE + "def f(x):\n    return torch.relu(x) + 1.0  # a comment\n" * 120
    assert len(html.page(make_review(code=code)).encode()) < 150_000


def many(make_review: Make, count: int) -> list[Review]:
    """Return reviews whose sentences all differ, as those of real runs do."""
    rng = random.Random(1)
    words = ("row", "column", "tile", "block", "is wrong by", "reads", "kernel_total", "shared")
    status = ("correct", "incorrect", "build_failed", "hung")
    made = [make_review("x", status=one, speedup=1.5) for one in status]

    def one(number: int) -> Review:
        review = made[number % 4]
        said = " ".join(rng.choice(words) + str(rng.randrange(999)) for _ in range(24))
        verdict = review.verdict.model_copy(update={"sentence": f"Wrong: {said}"})
        evaluation = review.evaluation.model_copy(update={"verdict": verdict})
        sample = f"level_{number % 3}_problem_{number // 8}_sample_{number % 8}_kernel"
        return review.model_copy(update={"sample": sample, "evaluation": evaluation})

    return [one(number) for number in range(count)]


@pytest.mark.parametrize(
    ("samples", "most", "sentence"),
    [(100, 120_000, 160), (400, 300_000, 160), (1000, 300_000, 160), (2000, 300_000, 100)],
)
def test_the_index_is_within_the_budget_and_says_why(
    make_review: Make, samples: int, most: int, sentence: int
) -> None:
    page = index_page(many(make_review, samples))
    assert len(page.encode()) < most
    said = [row[8] for row in rows(page)]
    assert len(said) == samples
    assert min(map(len, said)) >= sentence


def packed_text(page: str) -> str | None:
    found = re.search(r'<script type="text/plain" id="rows">(.*?)</script>', page, re.DOTALL)
    return found and found[1]


def rows(page: str) -> list[list[str]]:
    """Return the table's cells, from markup or unpacked."""
    packed = packed_text(page)
    if packed is None:
        table = page[page.index("<tbody>") : page.index("</tbody>")]
        return [re.split("<t[dh][^>]*>", row)[1:] for row in table.split("<tr data-s")[1:]]
    columns = json.loads(gzip.decompress(base64.b64decode(packed)))
    return [list(row) for row in zip(*columns, strict=True)]


def test_a_packed_table_has_the_words_of_a_plain_one(make_review: Make) -> None:
    reviews = many(make_review, 401)
    packed, plain = index_page(reviews), index_page(reviews[:400])
    assert "<noscript>" in packed
    assert "<noscript>" not in plain
    assert packed == index_page(reviews)  # whenever it is made
    shown = {re.sub("<[^>]*>", "", row[0]): row for row in rows(plain)}
    for row in rows(packed):
        if row[0] in shown:
            assert row[3] in shown[row[0]][3]
            assert row[7] in shown[row[0]][7]


def test_a_packed_table_is_letters_only(make_review: Make) -> None:
    made = [make_review(words=words, task=words) for words in PAYLOADS]
    reviews = [one.model_copy(update={"sample": f"s{n}"}) for n, one in enumerate(made * 6)]
    assert len(reviews) > 400
    shape = Shape(index_page(reviews))
    assert shape.active == []
    assert shape.tags.count("script") == 2
    assert not {"iframe", "img", "object", "base"} & set(shape.tags)
    assert re.fullmatch("[A-Za-z0-9+/=]+", packed_text(index_page(reviews)) or "")


def test_an_empty_run_has_an_index() -> None:
    assert "0 samples" in index_page([])


def test_speed_is_plotted_where_it_was_measured(make_review: Make) -> None:
    reviews = [make_review(f"s{n}", status="correct", speedup=0.5 + n / 4) for n in range(8)]
    page = index_page(reviews)
    assert "<h3>fast_p</h3>" in page
    assert "5 of 8 correct and measured kernels are faster than PyTorch." in page


def test_cuda_in_a_string_is_read_as_cuda() -> None:
    lines = highlight.lines(CODE)
    assert len(lines) == len(CODE.split("\n"))
    assert "<i class=k>int</i>" in lines[7]
    assert "<i class=s>&lt;torch/extension.h&gt;</i>" in lines[4]

"""The pages in a real browser: no errors, no requests, keys, filters, axe, hostile words."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.compare import compare
from grader.report import html
from grader.report.folder import RunFolder

from .conftest import CODE, index_page, review
from .payloads import PAYLOADS

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-playwright")
CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)
PATIENCE = 200_000
"""Milliseconds that a page may take on a machine that does much else."""
STATUSES = ("correct", "unsound", "incorrect", "build_failed", "hung", "grader_error", "no_code")


@pytest.fixture(scope="module")
def browser() -> Iterator["playwright.Browser"]:
    with playwright.sync_playwright() as driver:
        playwright.expect.set_options(timeout=PATIENCE)
        chromium = driver.chromium.launch(
            executable_path=CHROMIUM, args=FLAGS.split(), timeout=PATIENCE
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of twelve plain samples and one whose every word is hostile."""
    folder = RunFolder(tmp_path_factory.mktemp("run"))
    reviews = [
        review(f"sample_{n:02}", status=STATUSES[n % 6], speedup=[0.7, 2.1][n // 6])
        for n in range(12)
    ]
    hostile = "\n".join(PAYLOADS).replace("\ud800", "")
    reviews.append(review("zz_hostile", words=hostile, code=f"{CODE}# {hostile}\n", task=hostile))
    for one in reviews:
        folder.add(one, "key")
    folder.write_index()
    return folder.root


class Tab:
    """A page that remembers what went wrong in it."""

    def __init__(self, browser: "playwright.Browser", scheme: str = "light") -> None:
        self.context = browser.new_context(color_scheme=scheme)
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.trouble: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.trouble.append(message.text))
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("dialog", lambda dialog: self.trouble.append("a dialog") or dialog.dismiss())
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path: Path) -> "playwright.Page":
        self.page.goto(path.as_uri())
        return self.page

    def shown(self) -> list[str]:
        rows = self.page.locator("#table tbody tr:not([hidden]) a")
        return rows.all_text_contents()


def violations(page: "playwright.Page", scheme: str = "") -> list[Any]:
    """Return what axe finds wrong; dark and light differ in colours alone, so all else is looked at in light."""
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if scheme == "dark":
        options["runOnly"] = ["color-contrast"]
    return axe.Axe().run(page, options=options).response["violations"]


@pytest.fixture
def tab(browser: "playwright.Browser") -> Iterator[Tab]:
    made = Tab(browser)
    yield made
    made.context.close()
    assert made.trouble == []
    assert [url for url in made.requests if not url.startswith("file://")] == []


def test_chips_and_words_filter(tab: Tab, run: Path) -> None:
    page = tab.open(run / "index.html")
    assert len(tab.shown()) == 13
    page.get_by_role("button", name="hung").click()
    assert tab.shown() == ["sample_04", "sample_10"]
    page.get_by_label("Search").fill("sample_10")
    assert tab.shown() == ["sample_10"]
    page.get_by_label("Search").fill("no such words")
    assert page.get_by_text("Nothing matches.").is_visible()
    page.get_by_role("button", name="Clear").click()
    assert len(tab.shown()) == 13


def test_a_filter_is_part_of_the_address(tab: Tab, run: Path) -> None:
    page = tab.open(run / "index.html")
    page.get_by_role("button", name="hung").click()
    page.reload()
    assert tab.shown() == ["sample_04", "sample_10"]


def test_headings_sort(tab: Tab, run: Path) -> None:
    page = tab.open(run / "index.html")
    page.get_by_role("button", name="sample", exact=True).click()
    page.get_by_role("button", name="sample", exact=True).click()
    assert tab.shown()[0] == "zz_hostile"
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("sample")
    page.get_by_role("button", name="speed-up", exact=True).click()
    assert tab.shown()[-1] == "zz_hostile"  # it has none: blanks last


def test_keys_lead_from_the_list_through_the_samples(tab: Tab, run: Path) -> None:
    page = tab.open(run / "index.html")
    page.keyboard.press("/")
    page.keyboard.type("hung")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/sample_04.html")
    page.keyboard.press("]")
    page.wait_for_url("**/sample_10.html")
    page.keyboard.press("[")
    page.wait_for_url("**/sample_04.html")
    first = page.locator(".finding").first.get_attribute("id")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.id") == first
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.id") == first
    page.keyboard.press("u")
    page.wait_for_url("**/index.html**")


def test_a_question_mark_shows_the_keys(tab: Tab, run: Path) -> None:
    page = tab.open(run / "index.html")
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("?")
    assert not page.get_by_role("dialog").is_visible()


def test_a_rule_leads_to_its_samples(tab: Tab, run: Path) -> None:
    page = tab.open(run / "index.html")
    page.locator("figure", has_text="Findings by rule").get_by_text("Numbers").click()
    page.get_by_role("button", name="SYN002").first.click()
    assert len(tab.shown()) == 13
    assert page.get_by_label("Search").input_value() == "SYN002"


@pytest.mark.parametrize("name", ["index.html", "pages/sample_01.html", "pages/zz_hostile.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(
    browser: "playwright.Browser", run: Path, name: str, scheme: str
) -> None:
    made = Tab(browser, scheme)
    page = made.open(run / name)
    page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    found = violations(page, scheme)
    made.context.close()
    assert [
        (item["id"], node["html"][:200], node["failureSummary"][:300])
        for item in found
        for node in item["nodes"][:3]
    ] == []


def test_hostile_words_run_nothing(tab: Tab, run: Path) -> None:
    for name in ("pages/zz_hostile.html", "index.html"):
        page = tab.open(run / name)
        page.mouse.move(200, 200)
        page.wait_for_timeout(300)
        assert page.evaluate("window.pwned") is None
        assert page.evaluate("document.scripts.length") == 1
        assert (
            page.evaluate("document.querySelectorAll('iframe,img,object,embed,base').length") == 0
        )
        assert page.url == (run / name).as_uri() or page.url.startswith((run / name).as_uri() + "#")
    assert page.get_by_role("link", name="zz_hostile").is_visible()


@pytest.mark.parametrize("part", range(4))
def test_no_payload_runs(tab: Tab, tmp_path: Path, part: int) -> None:
    for number, words in enumerate(PAYLOADS[part::4]):
        path = tmp_path / f"{number}.html"
        code = CODE.replace("float sums", f"{words} float sums") + f"# {words}\n"
        made = html.page(review(words=words, code=code, task=words, status="build_failed"))
        path.write_bytes(made.encode("utf-8", "replace"))
        page = tab.open(path)
        assert page.evaluate("window.pwned") is None, words
        assert page.evaluate("document.scripts.length") == 1, words
        assert page.evaluate("getComputedStyle(document.body).display") == "block", words
        assert page.url == path.as_uri(), words


def test_a_page_reads_without_script(browser: "playwright.Browser", run: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto((run / "index.html").as_uri())
    assert page.locator("#table tbody tr").count() == 13
    page.goto((run / "pages" / "sample_01.html").as_uri())
    assert page.locator(".finding").count() == 3
    context.close()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of 2,000 samples, each with its page's address."""
    path = tmp_path_factory.mktemp("large") / "index.html"
    made = [review(status=status, speedup=1.25) for status in STATUSES]
    reviews = [
        made[n % 6].model_copy(update={"sample": f"level_1_problem_{n}"}) for n in range(2000)
    ]
    path.write_text(index_page(reviews), "utf-8")
    return path


def test_two_thousand_rows_filter(tab: Tab, large: Path) -> None:
    page = tab.open(large)
    shown = page.locator("#shown")
    playwright.expect(shown).to_have_text("2000 of 2000")
    page.get_by_label("Search").fill("problem_77")
    playwright.expect(shown).to_have_text("11 of 2000")
    assert tab.shown()[0] == "level_1_problem_770"  # incorrect: the worst of them
    page.get_by_role("button", name="hung").click()
    playwright.expect(shown).to_have_text("2 of 2000")
    assert tab.shown() == ["level_1_problem_772", "level_1_problem_778"]
    row = page.locator("#table tbody tr").first
    assert row.locator("td").all_text_contents()[:3] == ["total", "hung", "1.25x [1.12, 1.38]"]
    assert "fail" in (row.locator(".badge").get_attribute("class") or "")
    assert row.locator("a").get_attribute("href") == "pages/level_1_problem_772.html"
    assert "Wrong on 3 of 5 workloads" in row.locator("td").last.inner_text()


def test_two_thousand_rows_sort_and_answer_keys(tab: Tab, large: Path) -> None:
    page = tab.open(large)
    playwright.expect(page.locator("#shown")).to_have_text("2000 of 2000")
    page.get_by_role("button", name="sample", exact=True).click()
    assert tab.shown()[:3] == [f"level_1_problem_{n}" for n in range(3)]  # as numbers, not letters
    for _ in range(3):
        page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == "level_1_problem_2"
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.textContent") == "level_1_problem_1"


def test_rows_are_drawn_as_they_are_scrolled_to(tab: Tab, large: Path) -> None:
    page = tab.open(large)
    playwright.expect(page.locator("#shown")).to_have_text("2000 of 2000")
    first = len(tab.shown())
    assert first < 1000
    page.locator("#list").evaluate("(list) => list.scrollTo(0, list.scrollHeight)")
    playwright.expect(page.locator("#table tbody tr")).not_to_have_count(first)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert len(tab.shown()) == 2000


def test_a_large_index_says_what_it_needs(browser: "playwright.Browser", large: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(large.as_uri())
    assert page.get_by_role("link", name="README.md").is_visible()
    context.close()
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    context.add_init_script("delete globalThis.DecompressionStream")
    page = context.new_page()
    page.goto(large.as_uri())
    playwright.expect(page.get_by_role("alert")).to_contain_text("README.md holds the same rows")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_what_moved(
    browser: "playwright.Browser", tmp_path: Path, scheme: str
) -> None:
    before = [review(f"s{n}", status=STATUSES[n % 6], speedup=1.0) for n in range(12)]
    after = [review(f"s{n}", status=STATUSES[n % 5], speedup=0.6 + n / 8) for n in range(12)]
    after[0] = after[0].model_copy(update={"findings": ()})
    (tmp_path / "moved.html").write_text(html.moved(compare(before, after), "a", "b"), "utf-8")
    made = Tab(browser, scheme)
    page = made.open(tmp_path / "moved.html")
    assert page.locator("figure svg").count() == 3
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("?")
    page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    found = violations(page, scheme)
    made.context.close()
    assert made.trouble == []
    assert [url for url in made.requests if not url.startswith("file://")] == []
    assert [item["id"] for item in found] == []


def test_axe_finds_nothing_in_a_large_index(browser: "playwright.Browser", large: Path) -> None:
    """Its colours are the small one's, which is looked at in both schemes."""
    made = Tab(browser, "dark")
    page = made.open(large)
    playwright.expect(page.locator("#shown")).to_have_text("2000 of 2000")
    found = violations(page)
    made.context.close()
    assert [item["id"] for item in found] == []


def test_no_packed_payload_runs(tab: Tab, tmp_path: Path) -> None:
    made = [review(words=words, task=words) for words in PAYLOADS]
    reviews = [made[n % len(made)].model_copy(update={"sample": f"sample_{n}"}) for n in range(500)]
    path = tmp_path / "index.html"
    path.write_bytes(index_page(reviews).encode("utf-8", "replace"))
    page = tab.open(path)
    playwright.expect(page.locator("#shown")).to_have_text("500 of 500")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_timeout(300)
    assert len(tab.shown()) == 500
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.querySelectorAll('iframe,img,object,embed,base').length") == 0

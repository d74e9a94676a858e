"""The index of a large run in headless Chromium: bytes, time to make it, and time of a filter, a sort, a key.

    python benchmarks/report_index.py [--samples 2000] [RUN ...]

Takes the reviews of the run folders (by default `reviews/`), repeated under new names up to `--samples`, each
sentence made different by its number. A time is the median of 20 turns in the page, layout included; needs
Playwright and a Chromium (`$CHROMIUM`, or one on the path).
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from playwright.sync_api import Page, sync_playwright

from grader.records import Review
from grader.report import html
from grader.report.entry import Entry, entry
from grader.report.folder import RunFolder

TURNS = 20
ACTIONS = {
    "search": "search.value = words; search.dispatchEvent(new Event('input'))",
    "search, all": "search.value = ''; search.dispatchEvent(new Event('input'))",
    "chip": "document.querySelector('.chip').click()",
    "sort": "document.querySelector('.sort').click()",
    "key j": "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'j', bubbles: true}))",
}
"""What a reader does, as script."""
_TIMED = """([act, turns]) => {
  const search = document.getElementById('search'), times = [];
  const run = new Function('search', 'words', act);
  for (let turn = 0; turn < turns; turn++) {
    const begin = performance.now();
    run(search, `_${turn}`);
    document.body.getBoundingClientRect();
    times.push(performance.now() - begin);
  }
  return times;
}"""


def entries(reviews: Sequence[Review], count: int) -> list[Entry]:
    """Return that many entries, each with its own name and sentence."""
    found = list(map(entry, reviews))
    return [_another(found[number % len(found)], number) for number in range(count if found else 0)]


def _another(one: Entry, number: int) -> Entry:
    name = f"level_{number % 3 + 1}_problem_{number // 8 % 100}_sample_{number}"
    return one._replace(sample=name, sentence=f"{one.sentence} ({number})")


def measure(page: Page) -> dict[str, float]:
    """Return the median of each action in milliseconds."""
    page.wait_for_function("document.querySelectorAll('#table tbody tr').length > 0")
    return {
        name: statistics.median(page.evaluate(_TIMED, [act, TURNS]))
        for name, act in ACTIONS.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("runs", nargs="*", type=Path, default=[Path("reviews")])
    parser.add_argument("--samples", type=int, default=2000)
    options = parser.parse_args()
    found = [review for run in options.runs for review in RunFolder(run).reviews()]
    made = entries(found, options.samples)
    if not made:
        parser.error("no reviews there: name folders that a grading wrote")
    begin = time.perf_counter()
    text = html.index(made, found[0].environment)
    print(
        f"{len(made)} samples: {len(text.encode()):,} bytes, made in {time.perf_counter() - begin:.2f} s"
    )
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "index.html"
        path.write_text(text, "utf-8")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(path.as_uri())
        for name, milliseconds in measure(page).items():
            print(f"{name}: {milliseconds:.1f} ms")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

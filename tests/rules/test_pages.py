"""Each rule has its page beside it, and the index lists them all."""

from dataclasses import replace
from pathlib import Path

import pytest

import grader.rules
from grader.rules.page import INDEX, file_of, index_of_files, page, site_pages
from grader.rules.page_file import rule_of
from grader.rules.registry import all_rules, own_rules
from grader.rules.rule import Rule
from tests.rules.examples import examples_of

FOLDER = Path(grader.rules.__file__).parent
GOOD = """# SYN003 `its-name` (note)

What is
wrong.

Why.

More.

## Found

- from: text, evidence
- takes: long rows
- formerly: SYN007

## Not reported

Else.

## Bad

```cuda
a
```

beside

```python reference
b
```

```cuda
c
```

## Good

```cuda
d
```
"""


def test_the_index_is_fresh() -> None:
    assert INDEX.read_text("utf-8") == index_of_files(), "run python -m grader.rules.page"


def test_no_page_without_a_rule() -> None:
    written = {path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/*.md")}
    assert written == {file_of(rule) for rule in own_rules().values()}


@pytest.mark.parametrize("rule", own_rules().values(), ids=lambda rule: rule.code)
def test_the_site_shows_what_the_page_says(rule: Rule) -> None:
    assert site_pages()[f"{rule.code}.md"] == page(rule)
    shown = " ".join(page(rule).split())
    for paragraph in (rule.summary, rule.why, rule.guards, rule.fix):
        assert " ".join(paragraph.split()) in shown


def test_a_rule_without_a_page_shows_its_texts() -> None:
    rule = replace(all_rules()["SYN003"], code="HSE001", why="So it is.")
    assert page(rule).startswith("# HSE001 `barrier-in-divergent-code` (error)")
    assert "So it is." in page(rule)


def test_a_page_is_read(tmp_path: Path) -> None:
    (tmp_path / "its_name.md").write_text(GOOD)
    rule = rule_of(str(tmp_path / "its_name.py"), lambda _source, _context: ())
    assert (rule.code, rule.name, rule.severity) == ("SYN003", "its-name", "note")
    assert (rule.summary, rule.why) == ("What is wrong.", "Why.\n\nMore.")
    assert (rule.conditions, rule.formerly) == ("long rows", ("SYN007",))
    first, second = examples_of(GOOD, "Bad")
    assert [first.code, second.code] == ["a", "c"]
    assert (first.reference, second.reference) == ("b\n", "")


@pytest.mark.parametrize("gone", ["# SYN003", "(note)", "## Not reported", "## Bad"])
def test_a_page_that_lacks_something_is_refused(tmp_path: Path, gone: str) -> None:
    (tmp_path / "its_name.md").write_text(GOOD.replace(gone, ""))
    with pytest.raises(ValueError, match="lacks"):
        rule_of(str(tmp_path / "its_name.py"), lambda _source, _context: ())

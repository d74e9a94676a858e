"""Pages of rules, and the index of all rules.

`python -m grader.rules.page` writes the index that is read on GitHub, `docs/conf.py` the pages of the site.
"""

from collections.abc import Callable, Mapping
from itertools import groupby
from pathlib import Path

from grader.rules.families import family_of
from grader.rules.registry import own_rules
from grader.rules.rule import Rule

INDEX = Path(__file__).with_name("README.md")


def page(rule: Rule) -> str:
    """Return a rule's page in markdown: the file beside a rule of this package, or the texts of a plug-in's rule."""
    if rule.code in own_rules():
        return (INDEX.parent / file_of(rule)).read_text(encoding="utf-8")
    title = f"# {rule.code} `{rule.name}` ({rule.severity})"
    sections = {"Not reported": rule.guards, "Fix": rule.fix, "Bad": rule.bad, "Good": rule.good}
    parts = (f"## {name}\n\n{text}" for name, text in sections.items() if text)
    return "\n\n".join([title, rule.summary, rule.why, *parts]) + "\n"


def index(rules: Mapping[str, Rule], link: Callable[[Rule], str]) -> str:
    """Return the page that lists all rules by family."""
    lines = ["# Rules"]
    for family, members in groupby(rules.values(), key=lambda rule: rule.code[:3]):
        lines += ["", f"## {family} {family_of(family).title}".rstrip(), ""]
        lines += ["| rule | severity | what it says |", "|---|---|---|"]
        lines += [
            f"| [{rule.code}]({link(rule)}) `{rule.name}` | {rule.severity} | {rule.summary.replace('|', chr(92) + '|')} |"
            for rule in members
        ]
    return "\n".join(lines) + "\n"


def index_of_files() -> str:
    """Return the repository's index, with links to the pages beside the rules."""
    return index(own_rules(), file_of)


def file_of(rule: Rule) -> str:
    """Return the path of the page of a rule of this package, relative to the rules' folder."""
    return "/".join(rule.check.__module__.split(".")[2:]) + ".md"


def site_pages() -> dict[str, str]:
    """Return the pages of the documentation's site by file name."""
    rules = own_rules()
    listed = {"README.md": index(rules, lambda rule: f"{rule.code}.md")}
    return listed | {f"{code}.md": page(rule) for code, rule in rules.items()}


if __name__ == "__main__":
    INDEX.write_text(index_of_files(), encoding="utf-8")

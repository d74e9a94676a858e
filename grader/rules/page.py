"""A rule as it is shown: its page with what the engine knows of it, and the index of all rules.

`python -m grader.rules.page` writes the index that is read on GitHub, `docs/conf.py` the pages of the site.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from pathlib import Path

from grader.languages import languages
from grader.rules.families import family_of
from grader.rules.predictions import SENTENCES
from grader.rules.registry import own_rules
from grader.rules.rule import WHOLE, Example, Examples, Rule

INDEX = Path(__file__).with_name("README.md")
FOUND = {
    "text": "the submission's text",
    "build": "what the compilers and the loader said",
    "evidence": "what runs and probes showed",
}


def page(rule: Rule) -> str:
    """Return a rule's page in markdown."""
    found = ", ".join(FOUND[detector] for detector in rule.detects)
    parts = [
        f"# {rule.code} `{rule.name}` ({rule.severity})",
        rule.summary,
        rule.why,
        f"**Found from** {found}{_where(rule)}.",
        f"**What a run shows if it is right:** {_prediction(rule)}",
        f"**Not reported:** {rule.guards}",
        f"**Fix:** {rule.fix or 'none; it is explained only.'}",
        *([f"**Formerly also:** {', '.join(rule.formerly)}."] if rule.formerly else []),
        "## Bad",
        *_blocks(rule.bad),
        "## Good",
        *_blocks(rule.good),
    ]
    return "\n\n".join(parts) + "\n"


def _where(rule: Rule) -> str:
    """Return which languages' programs the rule is asked about, where it isn't all."""
    titles = [languages()[name].title for name in rule.languages if name in languages()]
    return f", in {' and '.join(titles)} programs" if titles else ""


def _prediction(rule: Rule) -> str:
    """Return what a build or a run shows, what else that takes, and what the text is worth alone."""
    said = SENTENCES[rule.prediction]
    if rule.conditions:
        said = f"{said.rstrip('.')}; it takes {rule.conditions}."
    by_text = "text" in rule.detects and rule.severity == "error"
    if by_text and rule.prediction != "nothing":
        alone = "an error" if rule.certain_from_text else "a warning"
        said = f"{said} From the text alone it is {alone}."
    return said


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
    """Return the index as it lies in the repository, with links to the pages beside the rules."""
    return index(own_rules(), file_of)


def file_of(rule: Rule) -> str:
    """Return where the page of a rule of this package lies, from the folder of the rules."""
    return "/".join(rule.check.__module__.split(".")[2:]) + ".md"


def site_pages() -> dict[str, str]:
    """Return the pages of the documentation's site by file name."""
    rules = own_rules()
    listed = {"README.md": index(rules, lambda rule: f"{rule.code}.md")}
    return listed | {f"{code}.md": page(rule) for code, rule in rules.items()}


def _blocks(examples: Examples) -> Iterable[str]:
    for item in examples if isinstance(examples, tuple) else (examples,):
        example = Example(item) if isinstance(item, str) else item
        language = "python" if any(mark in example.code for mark in WHOLE) else "cuda"
        fence = "````" if "```" in example.code else "```"
        block = f"{fence}{language}\n{example.code.strip(chr(10))}\n{fence}"
        if said := json.loads(example.known or "{}").get("evidence"):
            block += "\n\nwith the evidence " + "; ".join(f"`{one['text']}`" for one in said)
        yield block


if __name__ == "__main__":
    INDEX.write_text(index_of_files(), encoding="utf-8")

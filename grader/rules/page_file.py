"""A rule's page, `NAME.md` beside its `NAME.py`: the documentation of the rule, and its tested examples.

    # SYN003 `barrier-in-divergent-code` (error)

    What is wrong and what it does, in one sentence.

    Why it matters, and how it is put right.

    ## Found
    ## Not reported
    ## Fix
    ## Bad
    ## Good

*Found* lists facts, each of which may be left out: what it is found `from` (text, build, evidence; text where nothing is said), the
languages that it is found `in`, what else it `takes` to show, what it was `formerly`, and the rules that it is `explained by`.
The examples are for readers and tests: blocks of `cuda`, snippets that the tests make submissions of, or of `python`. What is known
beside an example's text follows it: the task's reference as a block `python reference`, other facts as a block `json known`.
"""

import re
from pathlib import Path

from pydantic import TypeAdapter

from grader.records import Prediction, Severity
from grader.rules.rule import Check, Rule

TITLE = re.compile(r"# (?P<code>\w+) `(?P<name>[\w-]+)` \((?P<severity>\w+)\)\n")
SECTION = re.compile(r"^## (Found|Not reported|Fix|Bad|Good)\n", re.MULTILINE)
FACT = re.compile(r"^- (from|in|takes|formerly|explained by): (.+)$", re.MULTILINE)
SEVERITY: TypeAdapter[Severity] = TypeAdapter(Severity)


def rule_of(
    file: str,
    check: Check,
    *,
    predicts: Prediction | None = None,
    certain_from_text: bool = False,
    effect: bool = False,
    catch_all: bool = False,
) -> Rule:
    """Return the rule of a Python file, with the texts of its page; raises ValueError for a page in another form."""
    path = Path(file).with_suffix(".md")
    first, *rest = SECTION.split(path.read_text(encoding="utf-8"))
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    title, facts = TITLE.match(first), dict(FACT.findall(sections.get("Found", "")))
    if title is None or {"Not reported", "Bad", "Good"} - sections.keys():
        raise ValueError(f"{path} lacks its title or a section; see {__name__}")
    summary, _, why = _paragraphs(first[title.end() :]).partition("\n\n")
    return Rule(
        code=title["code"],
        name=title["name"],
        severity=SEVERITY.validate_python(title["severity"]),
        summary=summary,
        why=why,
        guards=_paragraphs(sections["Not reported"]),
        fix=_paragraphs(sections.get("Fix", "")),
        languages=_listed_words(facts.get("in", "")),
        conditions=facts.get("takes", ""),
        formerly=_listed_words(facts.get("formerly", "")),
        explained_by=_listed_words(facts.get("explained by", "")),
        check=check,
        predicts=predicts,
        certain_from_text=certain_from_text,
        effect=effect,
        catch_all=catch_all,
    )


def _listed_words(words: str) -> tuple[str, ...]:
    return tuple(words.split(", ")) if words else ()


def _paragraphs(text: str) -> str:
    """Return a text with each paragraph on one line."""
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))

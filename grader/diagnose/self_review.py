"""The author's own doubts about the code, after it in the text, compared with the findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.diagnose.claims import DOUBT, sentences
from grader.diagnose.program import Program
from grader.records import Doubt, Extraction, Finding, SelfReview
from grader.rules.contract.author_admits_defect import admissions


@dataclass(frozen=True)
class Topic:
    """A topic of doubts, and the rules for such a defect."""

    what: str
    words: re.Pattern[str]
    rules: tuple[str, ...]


def _topic(what: str, words: str, *rules: str) -> Topic:
    return Topic(what, re.compile(words, re.IGNORECASE), rules)


TOPICS = (
    _topic("overflow", r"overflow|32-bit|int(?:64|32)_?t?\b.*index", "IDX001"),
    _topic("race", r"\brac(?:e|es|y)\b|barrier|synchroni[sz]|deadlock", "SYN"),
    _topic("reduction", r"\breduc(?:e|es|ed|ing|tion\w*)\b|partial (?:sum|result)", "RED", "SYN001", "SYN002", "SYN004"),
    _topic("moving data", r"\b(?:to|on) (?:the )?cpu\b|\.cpu\(|\bcop(?:y|ies|ied)\b|\bclone", "EXT005", "API001", "PRF004", "API001", "MEM003"),
    _topic("layout", r"contiguous|strided? (?:input|tensor)|row-major", "MEM004", "PRF004"),
    _topic("shared memory", r"shared[ _](?:mem\w*|data|array|alloc\w*)", "MEM002", "IDX006", "BLD009", "BLD010", "SYN001", "SYN002"),
    _topic("what the grid covers", r"\b(?:grid|blocks?|launch)\b.{0,80}\b(?:map|cover|all elements)", "IDX005", "IDX008", "MEM008", "MEM011"),
    _topic("size of the launch", r"\b(?:grid|block)[ -]?(?:size|dim\w*)|threads per block|number of (?:blocks|threads)", "IDX006", "RED004", "PRF005"),
    _topic("bounds", r"out[- ]of[- ](?:bound|range)|\bbounds?\b|past the end", "MEM002", "MEM011", "IDX008"),
    _topic("types", r"\b(?:scalar_t|dtypes?|data types?|half|double|bfloat16)\b", "API004", "API005", "BLD010", "BLD014", "NUM007", "PRF014"),
    _topic("formula", r"\bdivi(?:de|ding|sion)|\bmean\b|\beps(?:ilon)?\b|\bformula|\bvariance", "NUM"),
    _topic("build", r"\bcompil|#?include|\bheader|declar|namespace|\blink", "BLD", "EXT003"),
    _topic("speed", r"coalesc|bandwidth|\bslow|memory access pattern", "PRF"),
)  # fmt: skip
"""The more specific first: a sentence belongs to the first topic that it names."""


def self_review(
    extraction: Extraction, states: Sequence[Program], findings: Sequence[Finding]
) -> SelfReview | None:
    """Return the comparison, or None where the author admits no defect after the code."""
    if not any(admissions(extraction)):
        return None
    ran = any(run.status == "ran" for state in states for run in state.evaluation.runs)
    doubts: list[Doubt] = []
    named: set[str] = set()
    for line, sentence, topic in _doubt_sentences(extraction):
        of_it = [finding for finding in findings if finding.rule.startswith(topic.rules)]
        grave = [finding for finding in of_it if finding.severity != "note"]
        named |= {finding.rule for finding in grave}
        doubts.append(_doubt(line, sentence, topic, grave or of_it, ran))
    missed = [one for one in findings if one.severity != "note" and one.rule not in named]
    return SelfReview(doubts=tuple(doubts), missed=_list_rules(missed)) if doubts else None


def _doubt_sentences(extraction: Extraction) -> Iterator[tuple[int, str, Topic]]:
    """Yield the first sentence of doubt about each topic."""
    seen: set[str] = set()
    for line, sentence in sentences(extraction.prose):
        topic = next((one for one in TOPICS if one.words.search(sentence)), None)
        if topic is not None and topic.what not in seen and DOUBT.search(sentence):
            seen.add(topic.what)
            yield line, sentence, topic


def _doubt(line: int, quote: str, topic: Topic, found: Sequence[Finding], ran: bool) -> Doubt:
    if found:
        outcome = "found" if found[0].severity != "note" else "minor"
        return Doubt(line=line, quote=quote, outcome=outcome, because="; ".join(_list_rules(found)))
    if ran:
        because = f"it ran, and no defect of this kind was found ({topic.what})"
        return Doubt(line=line, quote=quote, outcome="imagined", because=because)
    because = "nothing ran that could show it"
    return Doubt(line=line, quote=quote, outcome="not checked", because=because)


def _list_rules(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return each rule with its first line, each once."""
    found: dict[str, str] = {}
    for one in findings:
        where = f" (line {one.place.line})" if one.place else ""
        found.setdefault(one.rule, f"{one.rule} {one.name}{where}")
    return tuple(found.values())

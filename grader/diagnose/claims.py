"""The transcript's own words against what was found: each claim that can be checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from grader.records import Claim, Evaluation, Extraction, Finding, Prose
from grader.source import Source

MAX_CLAIMS = 12
Outcome = tuple[Literal["true", "false", "not checked"], str]
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\w)|\n|$)")


@dataclass(frozen=True)
class Facts:
    """What a claim is held against."""

    source: Source
    evaluation: Evaluation
    findings: tuple[Finding, ...]

    def first(self, *codes: str) -> Finding | None:
        """Return the first error or warning of these rules."""
        return next(
            (item for item in self.findings if item.rule in codes and item.severity != "note"), None
        )

    def device_text(self) -> str:
        """Return all CUDA text."""
        return "\n".join(unit.text for unit in self.source.cuda)


@dataclass(frozen=True)
class Kind:
    """One kind of claim: how it's worded, and how it's checked."""

    words: re.Pattern[str]
    check: Callable[[Facts], Outcome]


def check_claims(
    extraction: Extraction,
    source: Source | None,
    evaluation: Evaluation,
    findings: tuple[Finding, ...],
) -> tuple[Claim, ...]:
    """Return the claims of the text after the code, one of each kind, in the order of the text."""
    if source is None:
        return ()
    facts = Facts(source, evaluation, findings)
    seen: set[int] = set()
    claims: list[Claim] = []
    for line, sentence in sentences(extraction.prose):
        for index, kind in enumerate(KINDS):
            if index not in seen and kind.words.search(sentence):
                seen.add(index)
                outcome, because = kind.check(facts)
                claims.append(Claim(line=line, quote=sentence, outcome=outcome, because=because))
                break
        if len(claims) >= MAX_CLAIMS:
            break
    return tuple(claims)


def sentences(prose: tuple[Prose, ...]) -> Iterator[tuple[int, str]]:
    """Yield the sentences after the code, each with its line in the sample."""
    for run in prose:
        if run.before_code:
            continue
        for match in _SENTENCE.finditer(run.text[:50_000]):
            text = " ".join(match.group().split())
            lead = len(match.group()) - len(match.group().lstrip())
            if len(text) > 15:
                yield run.line + run.text.count("\n", 0, match.start() + lead), text[:400]


def _against(codes: tuple[str, ...], holds: str) -> Callable[[Facts], Outcome]:
    """Check that no finding of these rules contradicts the claim."""

    def check(facts: Facts) -> Outcome:
        finding = facts.first(*codes)
        if finding is not None:
            where = f" (line {finding.place.line})" if finding.place else ""
            return "false", f"{finding.rule} {finding.name}{where}: {finding.message}"
        if any(run.status == "ran" for run in facts.evaluation.runs):
            return "true", holds
        return "not checked", "nothing ran that could show it"

    return check


def _contains(words: str, what: str) -> Callable[[Facts], Outcome]:
    pattern = re.compile(words)

    def check(facts: Facts) -> Outcome:
        if pattern.search(facts.device_text()):
            return "true", f"the CUDA code does use {what}"
        return "false", f"the CUDA code uses no {what}"

    return check


def _speed(facts: Facts) -> Outcome:
    speedup = facts.evaluation.verdict.speedup
    if speedup is None:
        return "not checked", "no time was measured: there is no GPU here, or the result is wrong"
    return ("true" if speedup > 1 else "false"), f"measured {speedup:.2f}x of eager torch"


def _any_size(facts: Facts) -> Outcome:
    verdict = facts.evaluation.verdict
    if verdict.general is None:
        return "not checked", "the other sizes were not run"
    if verdict.general:
        return "true", "right at every size that was tried"
    wrong = next(
        (
            item
            for item in facts.evaluation.comparisons
            if item.role == "general" and not item.equal
        ),
        None,
    )
    return "false", f"wrong at {wrong.workload}" if wrong else "wrong at other sizes"


def _right(facts: Facts) -> Outcome:
    verdict = facts.evaluation.verdict
    if verdict.correct is None:
        return "not checked", verdict.sentence
    return ("true" if verdict.correct else "false"), verdict.sentence


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


BLOCK_SUM = ("RED001", "RED002", "RED003", "RED004", "SYN001", "SYN002")
KINDS = (
    Kind(
        _words(r"\bcoalesc"),
        _against(("PRF001", "PRF002"), "no strided access between lanes was counted"),
    ),
    Kind(
        _words(
            r"(across|over|within) the (entire |whole )?(thread )?block|block[- ](level|wide) reduc"
        ),
        _against(BLOCK_SUM, "the block's reduction gave right results"),
    ),
    Kind(
        _words(r"divi(de|sion) by zero|zero[- ]norm|norm is zero"),
        _against(("NUM002",), "no zero denominator was left open"),
    ),
    Kind(
        _words(
            r"(any|arbitrary|all|different|various) (input |tensor |batch )?(dim|size|shape|length)"
        ),
        _any_size,
    ),
    Kind(_words(r"speed-?up|\bfaster\b|\d(\.\d+)?x\b|better performance|outperform"), _speed),
    Kind(
        _words(r"warp[- ](level|shuffle)|shuffle (instr|intrin)"),
        _contains(r"__shfl|__reduce_", "warp shuffle"),
    ),
    Kind(
        _words(r"vectori[sz]ed (load|memory|access)|float4|128-bit"),
        _contains(r"\b(float|int|double|half|uint)[248]\b|__half2|__nv_bfloat162", "vector type"),
    ),
    Kind(_words(r"shared memory"), _contains(r"__shared__", "shared memory")),
    Kind(
        _words(r"numerical(ly)? stab"),
        _against(("NUM008", "NUM004"), "no unstable formula was found"),
    ),
    Kind(
        _words(r"synchroni[sz]|race condition|thread[- ]safe"),
        _against(("SYN002", "SYN003", "SYN001"), "no race and no divergent barrier was seen"),
    ),
    Kind(
        _words(
            r"identical|same (result|output)|match(es)? the (original|reference|pytorch)|correct(ness|ly)?\b"
        ),
        _right,
    ),
)

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
DOUBT = re.compile(
    r"\b(?:incomplete|incorrect(?:ly)?|wrong(?:ly)?|buggy|broken|flawed|inefficient|suboptimal)\b"
    r"|\bunnecessar(?:y|ily)\b|\b(?:is|are|was|were|do|does|did|may|might|can|could)(?:n't| not)\b"
    r"|\b(?:may|might|could) (?:cause|lead|fail|race|overflow|deadlock|be (?:wrong|slow))"
    r"|\bwithout (?:stor|writ|synchroni|check|guard)\w+|\bnever (?:stored|written|read|set|used)\b"
    r"|\bneeds? to be\b|\bneeds? (?:another|a (?:second|closer|new)) \w+"
    r"|\bshould be (?:larger|smaller|bigger|fix|correct|rewrit|chang|stor|writ|replac|mov)\w*"
    r"|\bwould be (?:correct|right|better)\b|\bavoid moving\b",
    re.IGNORECASE,
)
"""A sentence that says what is wrong, or may be: no claim, but a part of a self-review."""
_NO = re.compile(
    r"\b(?:no|not|without|avoid\w*|instead of|rather than|n't)\b[^,;]{0,40}$", re.IGNORECASE
)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\w)|\n|$)")


@dataclass(frozen=True)
class Facts:
    """What a claim is held against."""

    source: Source
    evaluation: Evaluation
    findings: tuple[Finding, ...]

    def first(self, *codes: str, notes: bool = False) -> Finding | None:
        """Return the first error or warning of these rules; with `notes`, the first finding."""
        return next(
            (
                item
                for item in self.findings
                if item.rule in codes and (notes or item.severity != "note")
            ),
            None,
        )

    def device_text(self) -> str:
        """Return all CUDA text."""
        return "\n".join(unit.text for unit in self.source.cuda)


@dataclass(frozen=True)
class Kind:
    """One kind of claim: what it is about, how it's worded, and how it's checked."""

    about: str
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
    seen: set[str] = set()
    claims: list[Claim] = []
    for line, sentence in sentences(extraction.prose):
        kind = None if DOUBT.search(sentence) else _kind(sentence)
        if kind is not None and kind.about not in seen:
            seen.add(kind.about)
            outcome, because = kind.check(facts)
            because = f"{kind.about}: {because}"
            claims.append(Claim(line=line, quote=sentence, outcome=outcome, because=because))
        if len(claims) >= MAX_CLAIMS:
            break
    return tuple(claims)


def _kind(sentence: str) -> Kind | None:
    """Return the first kind of claim that a sentence makes; "no shared memory" is none about it."""
    for kind in KINDS:
        found = kind.words.search(sentence)
        if found and not (kind.about in DENIED and _NO.search(sentence[: found.start()])):
            return kind
    return None


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


def _against(codes: tuple[str, ...], holds: str, notes: bool = False) -> Callable[[Facts], Outcome]:
    """Check that no finding of these rules contradicts the claim."""

    def check(facts: Facts) -> Outcome:
        finding = facts.first(*codes, notes=notes)
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
        "coalescing",
        _words(r"\bcoalesc"),
        _against(("PRF001", "PRF002"), "no strided access between lanes was counted"),
    ),
    Kind(
        "passes over memory",
        _words(r"\bread\w* .{0,40}\b(?:exactly |only |just )?once\b|\bsingle pass\b"),
        _against(("PRF004",), "nothing is read a second time", notes=True),
    ),
    Kind(
        "the block's reduction",
        _words(
            r"(across|over|within) the (entire |whole )?(thread )?block|block[- ](level|wide) reduc"
        ),
        _against(BLOCK_SUM, "it gave right results"),
    ),
    Kind(
        "zero denominators",
        _words(r"divi(de|sion) by zero|zero[- ]norm|norm is zero"),
        _against(("NUM002",), "none was left open"),
    ),
    Kind(
        "other sizes",
        _words(
            r"(any|arbitrary|all|different|various) (input |tensor |batch )?(dim|size|shape|length)"
        ),
        _any_size,
    ),
    Kind(
        "speed",
        _words(r"speed-?up|\bfaster\b|(?<![\w.])\d+(\.\d+)?x\b|better performance|outperform"),
        _speed,
    ),
    Kind(
        "warp shuffles",
        _words(r"warp[- ](level|shuffle)|shuffle (instr|intrin)"),
        _contains(r"__shfl|__reduce_", "warp shuffle"),
    ),
    Kind(
        "vector types",
        _words(r"vectori[sz]ed (load|memory|access)|float4|128-bit"),
        _contains(r"\b(float|int|double|half|uint)[248]\b|__half2|__nv_bfloat162", "vector type"),
    ),
    Kind("shared memory", _words(r"shared memory"), _contains(r"__shared__", "shared memory")),
    Kind(
        "stability",
        _words(r"numerical(ly)? stab"),
        _against(("NUM008", "NUM004"), "no unstable formula was found"),
    ),
    Kind(
        "synchronisation",
        _words(r"synchroni[sz]|race condition|thread[- ]safe"),
        _against(("SYN002", "SYN003", "SYN001"), "no race and no divergent barrier was seen"),
    ),
    Kind(
        "results",
        _words(
            r"identical|same (result|output)|match(es)? the (original|reference|pytorch)|correct(ness|ly)?\b"
        ),
        _right,
    ),
)
DENIED = frozenset({"warp shuffles", "vector types", "shared memory"})
"""Kinds that a "no" or "without" before the words turns around."""

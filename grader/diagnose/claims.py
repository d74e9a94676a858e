"""The transcript's checkable claims, compared with evidence and findings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from grader.diagnose.claim_checks import (
    OUTSIDE,
    RACES,
    UNSET,
    Check,
    Facts,
    Outcome,
    against,
    any_size,
    stable,
    without,
)
from grader.records import Claim, Evaluation, Extraction, Finding, Prose
from grader.source import Source

MAX_CLAIMS = 12
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
"""Pattern of a sentence about a defect, which is part of a self-review and not a claim."""
ASSURED = re.compile(
    r"\b(?:no|never|free (?:of|from)|avoid\w*|prevent\w*|cannot|can't|(?:do|does|will|are|is)(?:n't| not))\b"
    r"(?!.{0,40}\b(?:check|handl|guard|consider|test|verif|protect|prevent))"
    r".{0,60}\b(?:(?:data )?races?\b|out[- ]of[- ](?:bounds?|range)|uninitiali[sz]ed|deadlock)",
    re.IGNORECASE,
)
"""Pattern of a sentence which says that a hazard is absent, though its words resemble a doubt."""
_NO = re.compile(
    r"\b(?:no|not|without|avoid\w*|instead of|rather than|n't)\b[^,;]{0,40}$", re.IGNORECASE
)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\w)|\n|$)")


@dataclass(frozen=True)
class Kind:
    """One kind of claim: what it is about, how it's worded, and how it's checked."""

    about: str
    words: re.Pattern[str]
    check: Check
    hazard: bool = False
    """Whether runs check for the hazard that it denies; a sentence may make such a claim beside another."""


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
    told: dict[tuple[int, str, Outcome], list[str]] = {}
    for line, sentence in sentences(extraction.prose):
        for kind in _kinds(sentence):
            if kind.about not in seen:
                seen.add(kind.about)
                told.setdefault((line, sentence, kind.check(facts)), []).append(kind.about)
    claims = (
        Claim(line=line, quote=quote, outcome=outcome, because=f"{' and '.join(about)}: {because}")
        for (line, quote, (outcome, because)), about in told.items()
    )
    return tuple(islice(claims, MAX_CLAIMS))


def _kinds(sentence: str) -> Iterator[Kind]:
    """Yield a sentence's claims: each absence of a hazard, and the first claim of another kind.

    "No shared memory" claims nothing about shared memory; "no thread reads out of bounds" is an assurance, no doubt.
    """
    if DOUBT.search(sentence) and not ASSURED.search(sentence):
        return
    made = [kind for kind in KINDS if _makes(sentence, kind)]
    hazards = [kind for kind in made if kind.hazard]
    yield from hazards
    others = [kind for kind in made if not kind.hazard and (not hazards or kind.check in _WHOLE)]
    yield from others[:1]


def _makes(sentence: str, kind: Kind) -> bool:
    found = kind.words.search(sentence)
    return bool(found and not (kind.about in DENIED and _NO.search(sentence[: found.start()])))


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


def _contains(words: str, what: str) -> Check:
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


def _is_right_outcome(facts: Facts) -> Outcome:
    verdict = facts.evaluation.verdict
    if verdict.correct is None:
        return "not checked", verdict.sentence
    return ("true" if verdict.correct else "false"), f"the verdict is `{verdict.status}`"


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_OF_A_LAUNCH = "block|thread|warp|lane|tile|grid"
"""Things with sizes that are not the task's."""
BLOCK_SUM = ("RED002", "RED004", "SYN001", "SYN002")
KINDS = (
    Kind(
        "races",
        _words(
            r"\bsynchroni[sz]|\bbarriers?\b|\b(?:data )?races?\b|race[- ]condition|race[- ]free|thread[- ]safe|deadlock"
        ),
        without(RACES, ("SYN002", "SYN003", "SYN001"), "no race and no divergent barrier was seen"),
        hazard=True,
    ),
    Kind(
        "bounds",
        _words(
            r"\b(?:bounds?|boundar(?:y|ies))[- ](?:are |is )?(?:check|guard|handl|condition|safe)|out[- ]of[- ](?:bounds?|range)"
            r"|\bin[- ]bounds\b|(?:check|guard|respect)\w* (?:the |all |every )*(?:tensor'?s? |array )?(?:bounds|boundar)"
        ),
        without(OUTSIDE, ("MEM002", "MEM011"), "no access out of bounds was seen"),
        hazard=True,
    ),
    Kind(
        "initial values",
        _words(
            r"\b(?:properly |correctly |always |fully )?initiali[sz]ed\b|\buninitiali[sz]ed\b|garbage values?"
        ),
        without(UNSET, ("SYN001", "MEM008"), "no unwritten memory was used"),
        hazard=True,
    ),
    Kind(
        "coalescing",
        _words(r"\bcoalesc"),
        against(("PRF002",), "no strided access between lanes was counted"),
    ),
    Kind(
        "passes over memory",
        _words(r"\bread\w* .{0,40}\b(?:exactly |only |just )?once\b|\bsingle pass\b"),
        against(("PRF004",), "nothing is read a second time", notes=True),
    ),
    Kind(
        "the block's reduction",
        _words(
            r"(across|over|within) the (entire |whole )?(thread )?block|block[- ](level|wide) reduc"
        ),
        against(BLOCK_SUM, "it gave right results"),
    ),
    Kind(
        "other sizes",
        _words(
            r"\b(any|arbitrary|all|different|various|irregular|odd|ragged|uneven|non[- ]\w+|every) "
            rf"(?!(\w+ )?({_OF_A_LAUNCH})\b)(\w+ ){{0,2}}(dim|size|shape|length)|\b(any|every) number of (?!({_OF_A_LAUNCH})s\b)|not (?:a )?(?:evenly )?(?:multiples?|divisible)|(all|every) (\w+ )?elements? (is|are) "
            r"(cover|process|handl)|(cover|process|handl)\w+ (all|every) (\w+ )?elements?|\btails?\b.{0,30}(cover|handl|process)"
        ),
        any_size,
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
        _words(
            r"numerical(?:ly)? (?:more )?(?:stab|safe|robust)|(?:subtract\w*|minus) (?:of )?(?:the |each |its )*"
            r"(?:row|block|global|running)?'?s? ?max|max[- ]?(?:imum)?[- ]subtract|overflow[- ]safe"
        ),
        stable,
    ),
    Kind(
        "results",
        _words(
            r"identical|same (result|output)|match(es)? (the )?(original|reference|(py)?torch)|correct(ness|ly)?\b"
            r"|exactly (as|like) (in )?(the )?(original|reference|(py)?torch)"
        ),
        _is_right_outcome,
    ),
)
_WHOLE = (any_size, _is_right_outcome)
"""Kinds of claims on the whole program, which may come beside the absence of a hazard."""
DENIED = frozenset({"warp shuffles", "vector types", "shared memory"})
"""Kinds that a "no" or "without" before the words negates."""

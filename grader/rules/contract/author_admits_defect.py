"""EXT006: the words around the code say that it is wrong or unfinished."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.records import Context, Evidence, Extraction, Finding, Place, Prose
from grader.records.observed import wrong_results
from grader.rules.rule import Example, Rule
from grader.source import Source
from grader.source.cuda_code import cuda_code, text, units

ADMITS = re.compile(
    r"\b(?:is|are|was|looks?|seems?|may be|might be|could be) (?:incomplete|incorrect|wrong|buggy|"
    r"broken|not correct|not right|not complete|flawed)\b"
    r"|\bis(?:n't| not) (?:being )?(?:correctly|properly|written|handled|correct|implemented)\b"
    r"|\bnot (?:being )?(?:correctly|properly) (?:\w+)"
    r"|\bshould be (?:fixed|corrected|rewritten)\b|\bneeds? to be (?:fixed|corrected|rewritten)\b"
    r"|\bplaceholder\b|\bin a real implementation\b|\bsimplified (?:version|implementation)\b"
    r"|\b(?:won't|will not|may not|might not|does not|doesn't) (?:work|compile|be correct)\b"
    r"|\bthere (?:is|are|might be) (?:some |an? )?(?:issues?|bugs?|errors?|problems?|mistakes?)\b",
    re.IGNORECASE,
)
IN_COMMENT = re.compile(
    r"\b(?:TODO|FIXME|XXX)\b|\bplaceholder\b|\bin a real implementation\b|\bnot implemented\b"
    r"|\bsimplified\b|\bfor simplicity\b|\bthis is (?:wrong|incorrect|incomplete)\b|\bdummy\b",
    re.IGNORECASE,
)
CODE_NOUN = re.compile(
    r"\b(?:code|kernel|implementation|reduction|shared|memory|loop|threads?|blocks?|index\w*|grid|"
    r"barrier|sync\w*|launch\w*|stride|tensor|output|allocation|warp)\b",
    re.IGNORECASE,
)
DOTS = re.compile(rb"<<<\s*(?:\.\.\.|\xe2\x80\xa6)\s*>>>")
SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|$)[^.!?\n]+)*[.!?]?")
MANY = 3


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Quote admissions in the prose after the code, and in the code's own comments."""
    by_line: dict[int, list[str]] = {}
    for line, sentence in admissions(context.extraction):
        by_line.setdefault(line, []).append(sentence)
    for line, sentences in list(by_line.items())[:MANY]:
        yield _prose(line, sentences)
    yield from _comments(source, wrong=bool(wrong_results(context)))
    yield from _left_empty(source)


def _left_empty(source: Source) -> Iterator[Finding]:
    """Report kernels without a statement, and launches whose sizes are three dots: the code is yet to be written."""
    for unit in source.cuda:
        empty = [
            kernel
            for kernel in unit.kernels
            if kernel.parameters
            and kernel.body is not None
            and all(child.type == "comment" for child in kernel.body.named_children)
        ]
        if empty:
            names = ", ".join(kernel.name for kernel in empty[:MANY])
            yield RULE.finding(
                unit.place(empty[0].node),
                f"there is no code in {names}: what it is to compute is left to be written",
                severity="error",
            )
        for dots in DOTS.finditer(unit.data):
            yield RULE.finding(
                unit.place_span(*dots.span()),
                "three dots stand for the sizes of this launch: they are left to be written",
                severity="error",
            )
            break


def admissions(extraction: Extraction | None) -> Iterator[tuple[int, str]]:
    """Yield the sentences after the code that say it is wrong, each with its line in the sample."""
    for prose in extraction.prose if extraction is not None else ():
        if not prose.before_code:
            yield from _sentences(prose)


def _sentences(prose: Prose) -> Iterator[tuple[int, str]]:
    for found in SENTENCE.finditer(prose.text):
        sentence = found.group().strip()
        if ADMITS.search(sentence) and CODE_NOUN.search(sentence) and len(sentence) < 600:
            line = prose.line + prose.text.count(
                "\n", 0, found.start() + len(found.group()) - len(found.group().lstrip())
            )
            yield line, sentence


def _prose(line: int, sentences: list[str]) -> Finding:
    place = Place(
        line=line, end_line=line, sample_line=line, language="text", excerpt=sentences[0][:200]
    )
    quotes = [one if len(one) <= 200 else f"{one[:197]}..." for one in sentences[:MANY]]
    said = " ... ".join(quotes)
    return RULE.finding(
        place,
        f'the author says of this code: "{said}"',
        confidence="possible",
        evidence=(Evidence(kind="text", code="admission", text=said, place=place),),
    )


def _comments(source: Source, *, wrong: bool) -> Iterator[Finding]:
    """Quote comments; where results are wrong, what they leave out may be why."""
    found = 0
    for unit in units(source):
        for node in cuda_code(unit).of("comment"):
            comment = " ".join(text(node).strip("/* \n").split())
            if IN_COMMENT.search(comment) and found < MANY:
                found += 1
                yield RULE.finding(
                    unit.place(node),
                    f'a comment says that something is left out: "{comment[:200]}"',
                    severity="warning" if wrong else "note",
                    confidence="possible",
                )


RULE = Rule(
    code="EXT006",
    name="author-admits-defect",
    severity="note",
    summary="The text around the code says that the code is wrong or unfinished; a hint, not proof.",
    why="Models often find their own mistake after they have written it down. It is quoted, "
    "and no proof: the prose also doubts what is right.",
    bad=(
        "__global__ void k(float* y) {\n    // implement the sum here\n}",
        Example(
            "__global__ void k(float* y) { y[threadIdx.x] = 1.0f; }",
            Context(
                extraction=Extraction(
                    submission=None,
                    prose=(
                        Prose(
                            line=40,
                            text="Wait.\nThe reduction loop is incorrect since it reads nothing.",
                            before_code=False,
                        ),
                    ),
                )
            ),
        ),
    ),
    good=Example(
        "// each thread sums its share\n__global__ void k(float* y) { y[threadIdx.x] = 1.0f; }",
        Context(
            extraction=Extraction(
                submission=None,
                prose=(
                    Prose(line=1, text="The code must not be incorrect.", before_code=True),
                    Prose(
                        line=40,
                        text="The kernel handles all sizes correctly. It should be fast.",
                        before_code=False,
                    ),
                ),
            )
        ),
    ),
    detects=("text",),
    guards="Only prose after the code, and only sentences that speak of code; what restates the task stands before it. A note; a comment "
    "of the code is a warning where results are wrong.",
    fix="",
    check=check,
    predicts="nothing",
)

"""EXT006: the prose around the code says that it is wrong or unfinished."""

import re
from collections.abc import Iterator

from grader.records import Extraction
from grader.records.observed import wrong_results
from grader.rules import Context, Evidence, Finding, Place, Source, Unit, rule_of
from grader.source.nodes import text

ADMITS = re.compile(
    r"\b(?:is|are|was|looks?|seems?|may be|might be|could be) (?:in(?:complete|correct)|wrong|buggy|broken|flawed|not (?:correct|right|complete))\b"
    r"|\bis(?:n't| not) (?:being )?(?:correctly|properly|written|handled|correct|implemented)\b"
    r"|\bnot (?:being )?(?:correctly|properly) \w+|\b(?:should|needs? to) be (?:fixed|corrected|rewritten)\b"
    r"|\bplaceholder\b|\bin a real implementation\b|\bsimplified (?:version|implementation)\b"
    r"|\b(?:won't|will not|may not|might not|does not|doesn't) (?:work|compile|be correct)\b"
    r"|\bthere (?:is|are|might be) (?:some |an? )?(?:issues?|bugs?|errors?|problems?|mistakes?)\b",
    re.IGNORECASE,
)
IN_COMMENT = re.compile(
    r"\b(?:TODO|FIXME|XXX|placeholder|in a real implementation|not implemented|simplified|for simplicity|dummy"
    r"|this is (?:wrong|incorrect|incomplete))\b",
    re.IGNORECASE,
)
CODE_NOUN = re.compile(
    r"\b(?:code|kernel|implementation|reduction|shared|memory|loop|threads?|blocks?|index\w*|grid|"
    r"barrier|sync\w*|launch\w*|stride|tensor|output|allocation|warp)\b",
    re.IGNORECASE,
)
DOTS = re.compile(rb"<<<\s*(?:\.\.\.|\xe2\x80\xa6)\s*>>>")
SENTENCE = re.compile(r"[^.!?\n\s][^.!?\n]*(?:[.!?](?!\s|$)[^.!?\n]+)*[.!?]?")
LONGEST, MANY = 600, 3


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Quote admissions in the prose after the code, and in the code's own comments."""
    by_line: dict[int, list[str]] = {}
    for line, sentence in admissions(context.extraction):
        by_line.setdefault(line, []).append(sentence)
    for line, sentences in list(by_line.items())[:MANY]:
        yield _prose(line, sentences)
    yield from _comments(source, wrong=bool(wrong_results(context)))
    for unit in source.cuda:
        yield from _left_empty(unit)


def _left_empty(unit: Unit) -> Iterator[Finding]:
    """Report empty kernels, and launches with `...` as sizes: unfinished code."""
    bodies = [
        (k, k.body.named_children) for k in unit.kernels if k.body is not None and k.parameters
    ]
    empty = [k for k, inside in bodies if all(child.type == "comment" for child in inside)]
    if empty:
        names = ", ".join(kernel.name for kernel in empty[:MANY])
        said = f"there is no code in {names}: what it is to compute is left to be written"
        yield RULE.finding(unit.place(empty[0].node), said, severity="error")
    dots = DOTS.search(unit.data)
    if dots:
        said = "three dots stand for the sizes of this launch: they are left to be written"
        yield RULE.finding(unit.place_span(*dots.span()), said, severity="error")


def admissions(extraction: Extraction | None) -> Iterator[tuple[int, str]]:
    """Yield the sentences after the code that say it is wrong, each with its line in the sample."""
    for prose in extraction.prose if extraction is not None else ():
        for found in SENTENCE.finditer(prose.text) if not prose.before_code else ():
            said = found.group().strip()
            if ADMITS.search(said) and CODE_NOUN.search(said) and len(said) < LONGEST:
                yield prose.line + prose.text.count("\n", 0, found.start()), said


def _prose(line: int, sentences: list[str]) -> Finding:
    place = Place(
        line=line, end_line=line, sample_line=line, language="text", excerpt=sentences[0][:200]
    )
    quotes = (one if len(one) <= 200 else f"{one[:197]}..." for one in sentences[:MANY])
    said = " ... ".join(quotes)
    return RULE.finding(
        place,
        f'the author says of this code: "{said}"',
        confidence="possible",
        evidence=(Evidence(kind="text", code="admission", text=said, place=place),),
    )


def _comments(source: Source, *, wrong: bool) -> Iterator[Finding]:
    """Quote comments on omissions, which may be the cause of wrong results."""
    every = ((unit, node) for unit in source.units for node in unit.nodes("comment"))
    found = [(unit, node) for unit, node in every if IN_COMMENT.search(text(node))]
    for unit, node in found[:MANY]:
        comment = " ".join(text(node).strip("/* \n").split())
        yield RULE.finding(
            unit.place(node),
            f'a comment says that something is left out: "{comment[:200]}"',
            severity="warning" if wrong else "note",
            confidence="possible",
        )


RULE = rule_of(__file__, check, predicts="nothing")

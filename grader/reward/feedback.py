"""Feedback to a model on its answer before its next turn, at a level of detail.

    verdict   the status, in words that are the same for every answer
    cause     which kinds of defect were found, with the rule's general explanation; the compiler's errors
    line      the lines of the answer that they stand at
    review    the findings in full: values, evidence, fixes

Below `review` nothing is passed on that a run said or that was computed from expected values: every
word comes from the answer itself, from the compiler (which sees neither inputs nor references), or from
tables of this package. So it can hold no expected value, no input, no seed, no fix and no reference kernel,
whatever a submission prints, raises, or calls its kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from grader.records import Assessment, Evidence, Finding, Record, Status
from grader.report.escape import clean
from grader.report.findings import rank_findings
from grader.rules.registry import all_rules

Level = Literal["verdict", "cause", "line", "review"]
LEVELS: tuple[Level, ...] = get_args(Level)
MOST = 5
"""Most causes in one feedback."""
BUILD_TOOLS = frozenset({"compiler", "ptxas", "link"})
"""Kinds of evidence from a build, which has neither inputs nor references."""
SENTENCES: dict[Status, str] = {
    "no_code": "No code was found in the answer: put one whole Python module with `ModelNew` into a code block.",
    "no_task": "The task that this answers is unknown.",
    "rejected": "Rejected: the text shows a way around the task instead of a kernel for it.",
    "build_failed": "It does not build.",
    "build_timeout": "Its build did not finish in time.",
    "crashed": "It builds, and stops with an error when it is called.",
    "hung": "It builds, and a kernel of it never ends.",
    "timeout": "It builds, and is too slow to be judged.",
    "not_run": "It could not be run here, which is not its fault.",
    "incorrect": "It builds and runs, and its results differ from the reference's.",
    "dishonest": "Its results are right, but were not computed honestly.",
    "unsound": "Its values came out right only by luck: a run proved undefined behaviour.",
    "correct": "It is correct.",
    "grader_error": "The grader itself failed, which is not the answer's fault.",
}


class Cause(Record):
    """One cause of a failure."""

    rule: str = ""
    name: str = ""
    """Name of the rule or the tool."""
    summary: str
    """General description of the defect, by the rule or the compiler."""
    line: int | None = None
    """Line of the answer; None below the level `line`, and where unknown."""
    code: str = ""
    """Text of that line."""
    details: tuple[str, ...] = ()
    """Only in a `review`: the finding's own sentence, its evidence, and its fix."""


class Feedback(Record):
    """The feedback on an answer."""

    level: Level
    status: Status
    sentence: str
    causes: tuple[Cause, ...] = ()
    left_out: int = 0
    """Number of further causes."""

    @property
    def text(self) -> str:
        """Return it as a message for the model."""
        return "\n".join((self.sentence, *map(_tell_cause, self.causes), *_rest(self.left_out)))


def feedback(made: Assessment, level: Level, answer: str) -> Feedback:
    """Return the feedback on an answer at this level."""
    status = made.evaluation.verdict.status
    said = made.evaluation.verdict.sentence if level == "review" else SENTENCES[status]
    plain = Feedback(level=level, status=status, sentence=clean(said))
    if level == "verdict":
        return plain
    causes = _causes(made, level, answer.splitlines())
    return plain.model_copy(
        update={"causes": causes[:MOST], "left_out": max(len(causes) - MOST, 0)}
    )


def _causes(made: Assessment, level: Level, lines: Sequence[str]) -> tuple[Cause, ...]:
    found = [
        one for one in rank_findings(made.findings) if not one.folded and one.severity != "note"
    ]
    rules = all_rules()
    of_rules = (
        _of_finding(one, rules[one.rule].summary, level, lines)
        for one in found
        if one.rule in rules
    )
    said = (_of_build(one, level, lines) for one in _build_errors(made))
    return tuple(dict.fromkeys((*of_rules, *said)))


def _build_errors(made: Assessment) -> Iterable[Evidence]:
    """Return the compiler errors of a build that failed before any inputs existed."""
    build = made.evaluation.build
    if build is None or made.evaluation.verdict.status != "build_failed":
        return ()
    return [one for one in build.errors if one.kind in BUILD_TOOLS][:3]


def _of_finding(finding: Finding, summary: str, level: Level, lines: Sequence[str]) -> Cause:
    line, code = _line(finding.place.sample_line if finding.place else 0, level, lines)
    return Cause(
        rule=finding.rule,
        name=finding.name,
        summary=summary,
        line=line,
        code=code,
        details=tuple(_details(finding)) if level == "review" else (),
    )


def _of_build(error: Evidence, level: Level, lines: Sequence[str]) -> Cause:
    line, code = _line(error.place.sample_line if error.place else 0, level, lines)
    return Cause(name=error.kind, summary=clean(error.said, 400), line=line, code=code)


def _line(number: int, level: Level, lines: Sequence[str]) -> tuple[int | None, str]:
    if level not in {"line", "review"} or not 0 < number <= len(lines):
        return None, ""
    return number, clean(lines[number - 1].strip(), 200)


def _details(finding: Finding) -> Iterable[str]:
    yield clean(finding.message)
    yield from (clean(item.text, 600) for item in finding.evidence[:4])
    yield from (f"to fix it: {clean(fix.label, 300)}" for fix in finding.fixes[:2])


def _tell_cause(cause: Cause) -> str:
    head = f"- {cause.rule} {cause.name}".rstrip() if cause.rule else f"- {cause.name}"
    where = f"\n  line {cause.line}: `{cause.code}`" if cause.line is not None else ""
    return f"{head}: {cause.summary}{where}" + "".join(f"\n  {one}" for one in cause.details)


def _rest(count: int) -> tuple[str, ...]:
    return (f"- and {count} more",) if count else ()

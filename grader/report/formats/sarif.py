"""SARIF 2.1.0: findings for code scanning, editors and viewers.

Standard: https://docs.oasis-open.org/sarif/sarif/v2.1.0/. GitHub matches alerts between two runs by
`partialFingerprints.primaryLocationLineHash`, so that is made of the rule, the line's own text and
which of several equal lines it is: it survives lines added above.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import quote

from grader.records import Edit, Evidence, Finding, Fix, JsonValue, Place, Review
from grader.report.escape import clean, one_line
from grader.report.findings import shown_findings
from grader.report.formats import Format
from grader.report.places import FilePlace, in_file, is_text_file, same_line
from grader.report.spill import Piece, SpillFile

SCHEMA_URI = "https://json.schemastore.org/sarif-2.1.0.json"
PRECISION = {"proven": "very-high", "likely": "high", "possible": "medium"}
MOST_RESULTS = 25_000
"""The most results that GitHub accepts from one run."""
RANK = {"proven": 95.0, "likely": 70.0, "possible": 40.0}
Json = dict[str, JsonValue]


class _Result(NamedTuple):
    sample: str
    rule: str
    rest: Piece
    """The result as JSON but for its rule, whose index is known at the end."""


class Log:
    """One log with one run: every finding but those that nearly all kernels share.

    Reviews come one at a time, and their results wait in the spill. A run with more findings than GitHub accepts holds
    the first MOST_RESULTS of them, and a note.
    """

    def __init__(self, spill: SpillFile) -> None:
        self._spill = spill
        self._first: dict[str, Finding] = {}
        self._results: list[_Result] = []
        self._files: set[str] = set()
        self._notices: list[Json] = []

    def add(self, review: Review) -> None:
        """Take the review's part of the log."""
        self._files.add(_uri(in_file(review, None).path))
        if review.verdict.status == "grader_error":
            self._notices.append(_notice(f"{review.sample}: {review.verdict.sentence}"))
        for finding in shown_findings(review.findings):
            self._first.setdefault(finding.rule, finding)
        if len(self._results) < MOST_RESULTS:
            for finding, result in _results(review):
                piece = self._spill.add(_json(result))
                self._results.append(_Result(review.sample, finding.rule, piece))

    def parts(self) -> Iterator[str]:
        """Yield the log's text, sorted by sample."""
        codes = sorted(self._first)
        index = {code: number for number, code in enumerate(codes)}
        head, tail = _json(self._log_without_results(codes)).rsplit("[]", 1)
        yield f"{head}["
        ordered = sorted(self._results, key=lambda result: result.sample)
        for number, result in enumerate(ordered):
            rule = _json({"ruleId": result.rule, "ruleIndex": index[result.rule]})
            rest = self._spill.get(result.rest)
            yield f"{',' if number else ''}{rule.removesuffix('}')},{rest.removeprefix('{')}"
        yield f"]{tail}\n"

    def _log_without_results(self, codes: Sequence[str]) -> Json:
        """Return the log without results."""
        notices = list(self._notices)
        if len(self._results) >= MOST_RESULTS:
            text = f"only the findings of the first samples: {len(self._results)}"
            notices.append(_notice(text))
        invocation = {
            "executionSuccessful": not self._notices,
            "toolExecutionNotifications": notices,
        }
        run: Json = {
            "tool": {"driver": _driver(self._first, codes)},
            "columnKind": "unicodeCodePoints",
            "invocations": [invocation],
            "artifacts": [{"location": {"uri": uri}} for uri in sorted(self._files)],
            "results": [],
        }
        return {"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]}


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _notice(text: str) -> Json:
    return {"level": "error", "message": {"text": one_line(text, 1000)}}


def _driver(first: Mapping[str, Finding], codes: Sequence[str]) -> Json:
    try:
        number = version("kernel-grader")
    except PackageNotFoundError:
        number = "0"
    return {
        "name": "kernel-grader",
        "semanticVersion": number,
        "rules": [_rule(code, first[code]) for code in codes],
    }


def _rule(code: str, finding: Finding) -> Json:
    from grader.rules import (
        all_rules,  # imported only when a log is written: every run reads this module's FORMAT
    )

    rule = all_rules().get(code)
    if rule is None:
        return {"id": code, "name": finding.name}
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.why}\n\nFix: {rule.fix or 'none; it is explained only.'}"},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {
            "precision": PRECISION[finding.confidence],
            "problem.severity": {"note": "recommendation"}.get(rule.severity, rule.severity),
            "tags": ["cuda", code[:3]],
        },
    }


def _results(review: Review) -> Iterator[tuple[Finding, Json]]:
    seen: Counter[str] = Counter()
    for finding in shown_findings(review.findings):
        digest = _line_hash(review, finding)
        seen[digest] += 1
        yield finding, _result(review, finding, f"{digest}:{seen[digest]}")


def _result(review: Review, finding: Finding, fingerprint: str) -> Json:
    result: Json = {
        "level": finding.severity,
        "rank": RANK[finding.confidence],
        "message": {"text": _message(finding)},
        "locations": [_location(review, finding.place)],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint},
        "properties": {
            "sample": review.sample,
            "verdict": review.verdict.status,
            "confidence": finding.confidence,
            "precision": PRECISION[finding.confidence],
        },
    }
    related = [place for item in finding.evidence for place in item.related]
    if related:
        result["relatedLocations"] = [
            {**_location(review, place), "id": number}
            for number, place in enumerate(dict.fromkeys(related), start=1)
        ]
    flows = [flow for item in finding.evidence if (flow := _flow(review, item))]
    if flows:
        result["codeFlows"] = flows
    fixes = [made for fix in finding.fixes if (made := _fix(review, fix))]
    if fixes:
        result["fixes"] = fixes
    return result


def _message(finding: Finding) -> str:
    proofs = [f"{item.kind}: {item.text}" for item in finding.evidence[:4]]
    follows = [f"follows: {text}" for text in finding.consequences]
    after = [f"shows after: {label}" for label in finding.after_fix]
    return "\n".join(clean(text, 2000) for text in (finding.message, *after, *proofs, *follows))


def _location(review: Review, place: Place | None) -> Json:
    where = in_file(review, place)
    physical: Json = {"artifactLocation": {"uri": _uri(where.path)}}
    if where.line:
        physical["region"] = _region(review, place, where)
    logical = {"name": review.sample, "kind": "module"}
    return {"physicalLocation": physical, "logicalLocations": [logical]}


def _region(review: Review, place: Place | None, where: FilePlace) -> Json:
    region: Json = {"startLine": where.line, "endLine": where.end_line}
    exact = place is not None and is_text_file(review) and where.line == place.sample_line
    if exact and place is not None and place.end_column > 0:
        region |= {"startColumn": place.column + 1, "endColumn": place.end_column + 1}
    return region


def _flow(review: Review, evidence: Evidence) -> Json | None:
    """Return the places of one piece of evidence in the order in which they happened."""
    if evidence.place is None or not evidence.related:
        return None
    earlier = (evidence.other_actor.did if evidence.other_actor else "") or "before"
    steps = [(place, earlier) for place in evidence.related]
    steps.append((evidence.place, evidence.text))
    return {
        "message": {"text": one_line(evidence.text, 1000)},
        "threadFlows": [
            {
                "locations": [
                    {"location": {**_location(review, place), "message": {"text": one_line(text)}}}
                    for place, text in steps
                ]
            }
        ],
    }


def _fix(review: Review, fix: Fix) -> Json | None:
    """Return the fix against the sample's file, or None where its lines are not the file's."""
    if not is_text_file(review) or not review.code or not fix.edits:
        return None
    regions = [_deleted_region(review, review.code, edit) for edit in fix.edits]
    if None in regions:
        return None
    change = {
        "artifactLocation": {"uri": _uri(in_file(review, None).path)},
        "replacements": [
            {"deletedRegion": region, "insertedContent": {"text": edit.text}}
            for region, edit in zip(regions, fix.edits, strict=True)
        ],
    }
    return {"description": {"text": one_line(fix.label)}, "artifactChanges": [change]}


def _deleted_region(review: Review, code: str, edit: Edit) -> Json | None:
    ends = [_file_point(review, code, offset) for offset in (edit.start, edit.end)]
    if ends[0] is None or ends[1] is None:
        return None
    (line, column), (end_line, end_column) = ends[0], ends[1]
    lines = code.count("\n", edit.start, edit.end)
    if end_line - line != lines:  # the sample has lines in between that the submission hasn't
        return None
    return {
        "startLine": line,
        "startColumn": column,
        "endLine": end_line,
        "endColumn": end_column,
    }


def _file_point(review: Review, code: str, offset: int) -> tuple[int, int] | None:
    """Return the file's line and column (1-based), if that line holds the same text."""
    mapped = same_line(review, code.count("\n", 0, offset) + 1)
    start = code.rfind("\n", 0, offset) + 1
    return (mapped, offset - start + 1) if mapped else None


def _line_hash(review: Review, finding: Finding) -> str:
    lines = (review.code or "").split("\n")
    place = finding.place
    line = lines[place.line - 1] if place and 1 <= place.line <= len(lines) else ""
    key = "\0".join((review.sample, finding.rule, "".join(line.split())))
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:16]


def _uri(path: str) -> str:
    """Return a URI reference: relative as the user gave it, absolute as a file URI."""
    pure = PurePath(path)
    quoted = quote(clean(pure.as_posix(), 4000), safe="/")
    return f"file://{quoted}" if pure.is_absolute() else quoted


FORMAT = Format("results.sarif", Log)

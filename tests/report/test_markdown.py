"""The markdown review: what stands first, how long it is, and that words stay words."""

import re
from collections.abc import Sequence

import pytest
from markdown_it import MarkdownIt

from grader.records import Evidence, Finding, Launch, Place, Review, Run
from grader.report import index, markdown
from grader.report.entry import entry
from grader.report.log import readable
from grader.report.markdown import _launch
from grader.report.proofs import proofs
from grader.report.reasons import reasons as reasons_of

from .conftest import CODE, Make
from .payloads import PAYLOADS

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
PLAIN = {"text", "text_special", "softbreak", "code_inline"}
OURS = ("<details>", "</details>", "<summary>", "</summary>")


def shape(text: str) -> list[str]:
    """Return the kinds of all blocks and of what stands in them, but for text and code."""
    found: list[str] = []
    for token in MARKDOWN.parse(text):
        found.append(f"{token.type} {token.tag}")
        found += [child.type for child in token.children or () if child.type not in PLAIN]
    return found


def raw_html(text: str) -> list[str]:
    return [
        child.content.strip()
        for token in MARKDOWN.parse(text)
        for child in (token, *(token.children or ()))
        if child.type in {"html_block", "html_inline"}
    ]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_words_never_become_markup(make_review: Make, payload: str) -> None:
    reviews = [make_review(words=words, status="build_failed") for words in ("two words", payload)]
    for size in (markdown.SIZES[0], markdown.SIZES[-1]):
        plain, hostile = (markdown.markdown_of_size(one, size) for one in reviews)
        assert shape(hostile) == shape(plain)
        assert raw_html(hostile) == raw_html(plain)
        assert all(html.startswith(OURS) for html in raw_html(hostile))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_the_index_has_one_row_a_sample(make_review: Make, payload: str) -> None:
    plain, hostile = (
        index.render([entry(make_review(f"s{n}", words=words, task=words)) for n in range(3)])
        for words in ("two words", payload)
    )
    assert shape(hostile) == shape(plain)
    assert raw_html(hostile) == []


@pytest.mark.parametrize(
    ("form", "origin", "said"),
    [
        ("transcript", "a/b.md", "`python grade.py a/b.md`"),
        ("transcript", "a b; rm x.md", "`python grade.py 'a b; rm x.md'`"),
        ("transcript", "$(touch x).md", "`python grade.py '$(touch x).md'`"),
        ("jsonl", "a/b.jsonl:7", "`python grade.py a/b.jsonl --only total_race`"),
        ("parquet", "a/b.parquet#7", "`python grade.py a/b.parquet --only total_race`"),
    ],
)
def test_the_command_to_grade_again_is_one_whatever_a_file_is_called(
    make_review: Make, form: str, origin: str, said: str
) -> None:
    assert f"- again: {said}\n" in markdown.render(make_review(form=form, origin=origin))


def test_the_verdict_stands_first(make_review: Make) -> None:
    lines = markdown.render(make_review()).splitlines()
    assert lines[0] == "# total_race: `incorrect`"
    assert lines[2].startswith("**Wrong on 3 of 5 workloads.")
    assert lines[7].startswith(
        "task **total** · device **simulator** · builds **yes** · right **no**"
    )


def test_the_gravest_finding_stands_first(make_review: Make) -> None:
    review = make_review()
    review = review.model_copy(update={"findings": review.findings[::-1]})
    text = markdown.render(review)
    assert text.index("SYN002") < text.index("NUM001") < text.index("STY001")
    assert "11 |         if (t < s) sums[t] += sums[t + s];" in text
    assert "   |                    ^^^^" in text


def swollen(made: Review, times: int) -> Review:
    """Return the review with this many of everything that it lists."""
    evaluation, build = made.evaluation, made.evaluation.build
    assert build is not None
    assert made.self_review is not None
    log = "\n".join(f"cuda.cu({n}): error: no such name" for n in range(10 * times))
    diff = "\n".join(f"+line {n}\r+and {n}" for n in range(30 * times))
    evaluation = evaluation.model_copy(
        update={
            "build": build.model_copy(update={"resources": build.resources * times, "log": log}),
            "runs": evaluation.runs * times,
            "comparisons": evaluation.comparisons * times,
            "timings": evaluation.timings * times,
        }
    )
    findings = [f.model_copy(update={"evidence": f.evidence * times}) for f in made.findings]
    doubts = made.self_review.model_copy(update={"doubts": made.self_review.doubts * times})
    return made.model_copy(
        update={
            "evaluation": evaluation,
            "findings": tuple(findings) * times,
            "claims": made.claims * times,
            "self_review": doubts,
            "fixes": tuple(f.model_copy(update={"diff": diff}) for f in made.fixes) * times,
            "repairs": tuple(r.model_copy(update={"diff": diff}) for r in made.repairs),
            "notes": made.notes * times,
        }
    )


@pytest.mark.parametrize("status", ["correct", "incorrect", "unsound", "build_failed", "hung"])
@pytest.mark.parametrize("times", [1, 3, 30])
def test_a_review_is_at_most_150_lines(make_review: Make, status: str, times: int) -> None:
    text = markdown.render(swollen(make_review(status=status), times))
    assert text.count("\n") <= 150


def test_diff_and_lines_of_the_finding_are_not_folded(make_review: Make) -> None:
    for times in (1, 30):
        text = markdown.render(swollen(make_review(), times))
        visible = re.sub("<details>.*?</details>", "", text, flags=re.DOTALL)
        assert " 9 |     sums[t] = t < n ? x[t] : 0.0f;" in visible
        assert "11 |         if (t < s) sums[t] += sums[t + s];" in visible
        assert "```diff\n" in visible


def test_the_finding_of_the_headline_is_first_and_said_once(make_review: Make) -> None:
    made = make_review()
    said = made.findings[1].message  # of a warning: the order is the headline's
    verdict = made.verdict.model_copy(update={"sentence": f"{said}.", "cause": 1})
    made = made.model_copy(
        update={"evaluation": made.evaluation.model_copy(update={"verdict": verdict})}
    )
    text = markdown.render(made)
    assert text.index("### ⚠️ warning, likely: NUM001") < text.index("SYN002 missing-barrier")
    heading = text.index("NUM001 other-operation")
    assert text[heading:].splitlines()[2].startswith("Shows after")


def test_numbers_that_a_table_holds_are_not_listed_above_it(make_review: Make) -> None:
    made = make_review()
    mismatch = made.evaluation.comparisons[0].mismatch
    assert mismatch is not None
    numbers = f"Incorrect: on 4x1000, {mismatch.text}"
    reasons = (numbers, f"4x1000 (nominal): {mismatch.text}", "something else", numbers)
    verdict = made.verdict.model_copy(update={"reasons": reasons, "cause": 0})
    evaluation = made.evaluation.model_copy(update={"verdict": verdict})
    shown, more = reasons_of(made.model_copy(update={"evaluation": evaluation}))
    assert (shown, more) == ([numbers, "something else"], 0)


def test_a_reason_that_another_holds_is_not_said_again(make_review: Make) -> None:
    made = make_review()
    why = "its results depend on the calls before"
    update = {"reasons": (f"Incorrect: {why}", why, "something else"), "cause": 0}
    verdict = made.verdict.model_copy(update=update)
    evaluation = made.evaluation.model_copy(update={"verdict": verdict})
    shown, _ = reasons_of(made.model_copy(update={"evaluation": evaluation}))
    assert shown == [f"Incorrect: {why}", "something else"]


def finding_of(
    evidence: Sequence[Evidence], message: str = "a thread reads past the end"
) -> Finding:
    return Finding(
        rule="MEM001",
        name="read-out-of-bounds",
        severity="error",
        confidence="proven",
        message=message,
        evidence=tuple(evidence),
    )


def test_what_the_message_says_is_not_listed_again() -> None:
    seen = Evidence(kind="simulator", code="sectors", text="32.0 sectors where 4.0 would do.")
    assert not proofs(finding_of([seen], "far apart: 32.0 sectors where 4.0 would do"))
    [proof] = proofs(finding_of([seen], "far apart"))
    assert proof.text == seen.text


def test_one_thing_seen_on_many_workloads_is_one_line() -> None:
    seen = [
        Evidence(
            kind="simulator",
            code="out-of-bounds",
            text=f"thread ({n},0,0) reads past the end of {n * 1024} bytes",
            place=Place(line=25, end_line=25),
            workload=f"{n}x1024",
            count=n,
        )
        for n in range(1, 9)
    ]
    [proof] = proofs(finding_of(seen))
    assert proof.on == "1x1024, 2x1024, 3x1024 and 5 more"
    assert proof.times == 8
    assert len(proofs(finding_of([*seen, seen[0].model_copy(update={"code": "race"})]))) == 2
    elsewhere = seen[0].model_copy(update={"place": Place(line=31, end_line=31)})
    assert len(proofs(finding_of([*seen, elsewhere]))) == 1


def test_the_same_results_give_the_same_bytes(make_review: Make) -> None:
    review = make_review()
    elsewhere = review.model_copy(update={"machine": {"host": "another", "seconds": 99}})
    assert markdown.render(review) == markdown.render(elsewhere)


def test_what_every_workload_raises_is_said_once(make_review: Make) -> None:
    review = make_review()
    runs = tuple(
        Run(workload=name, device="sim", status="raised", reason=reason)
        for name, reason in (("a", "TypeError: x"), ("b", "TypeError: x"), ("c", "IndexError: y"))
    )
    evaluation = review.evaluation.model_copy(update={"runs": runs, "comparisons": ()})
    task = review.task.model_copy(update={"roles": {"a": "nominal", "b": "general"}})
    rows = markdown.workloads(review.model_copy(update={"evaluation": evaluation, "task": task}))
    assert [row["role"] for row in rows] == ["nominal", "general", ""]
    assert [row["detail"] for row in rows] == ["TypeError: x", "as above", "IndexError: y"]


def test_a_log_says_what_the_tools_said() -> None:
    log = "\n".join(
        (
            "[1/2] /x/kg-nvcc -c cuda.cu -o cuda.o",
            "FAILED: [code=1] cuda.o",
            "/x/bin/kg-nvcc -c cuda.cu -o cuda.o",
            "cuda.cu(3): error: expected a `;`",
            "ptxas info    : Compile time = 78.228 ms",
            "ninja: build stopped: subcommand failed.",
        )
    )
    assert readable(log) == "FAILED: [code=1] cuda.o\ncuda.cu(3): error: expected a `;`"


def test_what_is_not_folded_fits_a_screen_or_two(make_review: Make) -> None:
    made = make_review(code=CODE * 12)
    findings = [f.model_copy(update={"fixes": ()}) for f in made.findings[:2] for _ in range(20)]
    diff = "\n".join(f"+line {n}" for n in range(300))
    repairs = [r.model_copy(update={"diff": diff}) for r in made.repairs]
    text = markdown.render(
        made.model_copy(update={"findings": tuple(findings), "repairs": tuple(repairs)})
    )
    folded = re.sub("<details>.*?</details>", "", text, flags=re.DOTALL)
    assert folded.count("\n") < 120
    assert re.search(r"<summary>3\d more findings</summary>", text)
    assert "more on the page" in text


def test_a_launch_is_written_as_its_language_writes_it() -> None:
    launch = Launch(kernel="add_kernel", grid=(4, 1, 1), block=(128, 1, 1), shared_bytes=16)
    assert _launch(launch, "__global__ void add_kernel(") == (
        "`add_kernel` &lt;&lt;&lt;4x1x1, 128x1x1, 16 B>>>"
    )
    said = _launch(launch, "@triton.jit\ndef add_kernel(x_ptr):\n")
    assert said == "`add_kernel[(4,)]` with num_warps=4 and 16 B of shared memory"

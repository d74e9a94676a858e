"""Answers that stand in JSON strings: tool calls, objects with a field for the code."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.ingest import extract
from grader.ingest.completions import read_record
from grader.ingest.escaped import quoted_texts
from grader.records import Extraction

from .programs import CODE, OTHER, REFERENCE, sample


def block(code: str, field: str = "content") -> str:
    """Return a fenced JSON object that holds some code, as trajectories show a call of a tool."""
    return "```json\n" + json.dumps({"path": "model.py", field: code}, indent=2) + "\n```\n"


FENCED = f"```python\n{CODE}```\n"
SHAPES = {
    "one object": json.dumps({"reasoning": 'I say "done"', "code": CODE}),
    "a block of JSON": f"Here it is:\n{block(CODE, 'code')}Bye.",
    "the last of two calls": f"### Turn 1\n{block(OTHER)}It failed.\n### Turn 2\n{block(CODE)}Done.",
    "a call after an example": f"For example:\n```python\n{OTHER}```\nMy call:\n{block(CODE)}",
    "a block after a call": f"{block(OTHER)}Better, by hand:\n{FENCED}",
    "JSON in JSON": json.dumps({"arguments": json.dumps({"code": CODE})}),
    "markdown in JSON": json.dumps({"answer": f"So:\n{FENCED}"}),
    "without its quotes": json.dumps(f"Hi\n{FENCED}bye")[1:-1],
    "without its quotes, those inside as they were": f"Hi\n{FENCED}bye".replace("\n", "\\n"),
    "a skeleton in a call": f"{FENCED}{block('class ModelNew(nn.Module):' + chr(10) + '    ...')}",
}


def code_of(extraction: Extraction) -> str:
    assert extraction.submission is not None, extraction.found
    return extraction.submission.code


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_the_code_is_taken_out_of_its_string(text: str) -> None:
    assert code_of(extract(sample(text))) == CODE


def test_its_lines_stand_where_the_string_stands() -> None:
    text = f"Here:\n\n{block(CODE, 'code')}Why: it's fast."
    extraction = extract(sample(text))
    assert extraction.submission is not None
    (line,) = set(extraction.submission.line_map)
    assert "class ModelNew" in text.split("\n")[line - 1]
    assert f"line {line}" in extraction.submission.how
    assert [one.text.strip() for one in extraction.prose][-1] == "Why: it's fast."


def test_a_reference_beside_it_is_kept() -> None:
    text = f"Given:\n```python\n{REFERENCE}```\n{block(CODE)}"
    assert extract(sample(text, prompt=text)).reference == REFERENCE


@pytest.mark.parametrize(
    "text", ['"\\nclass ModelNew', '"\\nclass ModelNew:\\ud800"', '"a\\n class ModelNew(x)\\q"']
)
def test_a_string_that_does_not_read_is_no_code(text: str) -> None:
    assert extract(sample(text)).submission is None


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet='"\\n{}: classModelNew(\n', max_size=200))
def test_any_text_is_searched(text: str) -> None:
    for one in quoted_texts(text, "ModelNew"):
        assert json.loads(text[one.start : one.end]) is not None


CALLS = {
    "openai": {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"function": {"name": "submit", "arguments": json.dumps({"code": CODE})}}],
    },
    "anthropic": {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Here."},
            {"type": "tool_use", "name": "write", "input": {"path": "m.py", "content": CODE}},
        ],
    },
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_of_a_tool_in_a_chat_is_an_answer(call: dict[str, object]) -> None:
    closing = {"role": "assistant", "content": "The file is written."}
    record = read_record(
        {"id": "a", "messages": [{"role": "user", "content": "Do"}, call, closing]}
    )
    assert record is not None
    assert code_of(extract(sample(record.texts[0]))) == CODE


def test_thanks_after_the_answer_do_not_hide_it() -> None:
    turns = [FENCED, "You're welcome."]
    messages = [{"role": "assistant", "content": text} for text in turns]
    record = read_record({"messages": messages})
    assert record is not None
    assert record.texts == (FENCED,)

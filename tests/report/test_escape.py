"""A sample's words never become markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from grader.report import escape

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
HOSTILE = st.text(
    alphabet=st.sampled_from(list("ab_*`[]()<>&|#-!:/\\~$@.\n\t\x1b\u202e0")) | st.characters(),
    max_size=80,
)


def tokens(text: str) -> set[str]:
    """Return the kinds of all inline tokens of the rendered text."""
    return {
        child.type
        for token in MARKDOWN.parse(f"x {text} y")
        for child in (token.children or (token,))
        if not token.type.startswith("paragraph")
    }


@given(HOSTILE)
def test_inline_text_stays_text(text: str) -> None:
    assert tokens(escape.inline(text)) <= {"text", "text_special", "softbreak"}


@given(HOSTILE)
def test_prose_has_no_markup_but_code(text: str) -> None:
    assert tokens(escape.prose(text)) <= {"text", "text_special", "softbreak", "code_inline"}


@pytest.mark.parametrize(
    "text", ["1. x", "2) x", "- x", "+ x", "---", "> x", "- - -", "1.", "-", "# x", "=== x", "* x"]
)
def test_a_sentence_begins_no_list_and_no_quotation(text: str) -> None:
    for made in (escape.prose(text), escape.inline(text)):
        blocks = [token.type for token in MARKDOWN.parse(f"- {made}")]
        assert blocks == [
            *("bullet_list_open", "list_item_open", "paragraph_open", "inline"),
            *("paragraph_close", "list_item_close", "bullet_list_close"),
        ]
    assert escape.prose("1.5 of 2") == "1.5 of 2"
    assert escape.prose("-3 to 4") == "-3 to 4"


@given(HOSTILE)
def test_a_fence_holds_whatever_is_in_it(text: str) -> None:
    parsed = MARKDOWN.parse(f"before\n\n{escape.fence(text)}\n\nafter")
    assert [token.type for token in parsed if token.type == "fence"] == ["fence"]
    assert parsed[-2].content == "after"


@given(HOSTILE)
def test_nothing_reaches_a_terminal_but_text(text: str) -> None:
    cleaned = escape.clean(text)
    assert "\x1b" not in cleaned
    assert "\u202e" not in cleaned


def test_long_text_is_cut_in_the_middle_and_says_so() -> None:
    cut = escape.clean("a" * 5000 + "b" * 5000, 1000)
    assert "9000 characters left out" in cut
    assert cut.startswith("a")
    assert cut.endswith("b")


def test_names_with_underscores_stay_readable() -> None:
    assert escape.inline("l2_norm_kernel") == "l2_norm_kernel"


def test_a_cut_never_makes_a_text_longer() -> None:
    assert escape.clean("x" * 302, 300) == "x" * 302
    assert len(escape.clean("x" * 400, 300)) < 400

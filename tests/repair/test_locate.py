"""A finding without a cause is placed at the line that its verified fix changes."""

from __future__ import annotations

import pytest

from grader.records import Evaluation, Finding, Place, Repair, Submission, Verdict
from grader.repair import locate_by_repairs

CODE = "a\nfor (int k = 0; k <= n; ++k)\nb\n"
SUBMISSION = Submission(sample="s", code=CODE, line_map=(5, 6, 7), how="")


def fixed(code: str, rule: str, label: str = "it") -> Repair:
    verdict = Verdict(status="correct", sentence="")
    evaluation = Evaluation(submission="x", device="sim", sandbox="none", verdict=verdict)
    return Repair(
        kind="fix",
        code=code,
        settles=(("BLD001", "include it"), (rule, label)),
        evaluation=evaluation,
    )


def finding(rule: str, line: int | None) -> Finding:
    place = Place(line=line, end_line=line) if line else None
    return Finding(
        rule=rule, name="n", severity="error", confidence="proven", message="Wrong.", place=place
    )


@pytest.mark.parametrize("line", [None, 3])
def test_the_changed_line_is_the_place(line: int | None) -> None:
    repair = fixed(CODE.replace("<=", "<"), "MEM011")
    (found,) = locate_by_repairs((finding("MEM011", line),), SUBMISSION, [repair])
    assert found.place is not None
    assert (found.place.line, found.place.sample_line) == (2, 6)
    assert "k < n" in found.message


def test_a_statement_ends_where_the_fix_ends_it_and_not_where_the_compiler_stops() -> None:
    repair = fixed(CODE.replace("++k)", "++k);"), "BLD015")
    (found,) = locate_by_repairs((finding("BLD015", 3),), SUBMISSION, [repair])
    assert found.place is not None
    assert found.place.line == 2
    assert found.message == "it has to be `for (int k = 0; k <= n; ++k);`: Wrong"


def test_a_guard_that_a_statement_lacks_is_missing_before_it() -> None:
    repair = fixed(CODE.replace("\nb", "\nif (k < n) b"), "MEM011")
    (found,) = locate_by_repairs((finding("MEM011", None),), SUBMISSION, [repair])
    assert found.message == "`if (k < n)` is missing before it: Wrong"


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        (CODE.replace("<=", "<").replace("b", "c"), "MEM011"),
        (CODE.replace("<=", "<"), "SYN002"),
        ("new\n" + CODE, "MEM011"),
    ],
)
def test_nothing_moves_where_the_fix_does_not_say_where(code: str, rule: str) -> None:
    before = (finding(rule, 3),)
    assert locate_by_repairs(before, SUBMISSION, [fixed(code, rule)]) == before


@pytest.mark.parametrize(
    ("label", "line"),
    [("line 3: `<` in the place of `<=`", 2), ("line 5: `c` in the place of `b`", 4), ("it", 1)],
)
def test_among_several_changes_the_label_says_which(label: str, line: int) -> None:
    code = CODE.replace("b", "\nb")
    spaced = Submission(sample="s", code=code, line_map=(5, 6, 7, 8), how="")
    changed = "new\n" + code.replace("<=", "<").replace("b", "c")
    (found,) = locate_by_repairs((finding("NUM001", 1),), spaced, [fixed(changed, "NUM001", label)])
    assert found.place is not None
    assert found.place.line == line


def test_a_change_of_several_lines_is_placed_at_the_one_that_its_label_says() -> None:
    code = CODE.replace("<=", "<").replace("b", "c")
    repair = fixed(code, "NUM001", "line 2: `<` in the place of `<=`, and what goes with it")
    (found,) = locate_by_repairs((finding("NUM001", 1),), SUBMISSION, [repair])
    assert found.place is not None
    assert found.place.line == 2


def test_a_line_of_forward_is_python() -> None:
    code = "class ModelNew:\n    def forward(self, x):\n        return x.permute(1, 2, 0)\n"
    submission = Submission(sample="s", code=code, line_map=(1, 2, 3), how="")
    repair = fixed(code.replace("1, 2, 0", "1, 0, 2"), "NUM001")
    (found,) = locate_by_repairs((finding("NUM001", 1),), submission, [repair])
    assert found.place is not None
    assert (found.place.line, found.place.language) == (3, "python")


def test_several_changes_of_one_line_are_one_cause() -> None:
    code = CODE.replace("k <= n", "k < m")
    labels = ("line 2: `<` in the place of `<=`", "line 2: `m` in the place of `n`")
    verdict = Verdict(status="correct", sentence="")
    evaluation = Evaluation(submission="x", device="sim", sandbox="none", verdict=verdict)
    settles = (("DEP006", labels[0]), ("NUM001", labels[1]))
    repair = Repair(kind="fix", code=code, settles=settles, evaluation=evaluation)
    (found,) = locate_by_repairs((finding("DEP006", 2),), SUBMISSION, [repair])
    assert "`k <= n` has to be `k < m`" in found.message

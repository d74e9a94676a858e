"""A folder of problems, and what wrong programs would get on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.execution.audit import KINDS, AuditRow
from grader.execution.folder_audit import AuditedProblem, audit_folder
from grader.execution.strong_sizes import Audited
from grader.sandbox import Limits, strongest

PROBLEM = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return {result}

batch_size, dim = 16, 1024

def get_inputs():
    return [torch.rand(batch_size, dim)]

def get_init_inputs():
    return []
"""


def test_a_weak_problem_is_told_from_a_sound_one(tmp_path: Path) -> None:
    (tmp_path / "1_sound.py").write_text(
        PROBLEM.format(result="x * 3 - x.mean(dim=1, keepdim=True)")
    )
    (tmp_path / "2_weak.py").write_text(PROBLEM.format(result="x * 0"))
    (tmp_path / "notes.py").write_text("x = 1\n")
    told: list[tuple[int, int, str]] = []
    sound, weak = audit_folder(
        tmp_path, strongest(), Limits(wall=120.0), lambda *said: told.append(said)
    )
    assert told == [(1, 2, "1_sound.py"), (2, 2, "2_weak.py")]
    assert (sound.name, sound.weak) == ("1_sound.py", ())
    assert {sound.cell(program) for program in KINDS} <= {"caught", "-"}
    assert weak.cell("zeros") == "passes"
    assert weak.cell("the answer to other inputs") == "passes"
    assert any("zeros" in reason for reason in weak.weak)


def test_a_folder_without_problems_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no problem files"):
        list(audit_folder(tmp_path, strongest(), Limits()))


def test_what_kernelbench_would_let_pass_is_said() -> None:
    row = AuditRow("zeros", passes=(), fails=("n",), kernelbench=True)
    assert (
        AuditedProblem("p", Audited((), rows=(row,))).cell("zeros")
        == "caught, passes KernelBench's"
    )
    assert AuditedProblem("p", Audited((), rows=(row,))).cell("the input") == "-"

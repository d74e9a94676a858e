"""Records of agents and of preference data: attempts in order, pairs, tables by level and problem."""

from __future__ import annotations

import json
from pathlib import Path

from grader.ingest import read_samples
from grader.ingest.completions import read_record
from grader.records import JsonValue

from .programs import CODE, OTHER

FENCED = f"```python\n{CODE}```\n"
OTHERS = f"```python\n{OTHER}```\n"


def texts(record: JsonValue) -> tuple[str, ...]:
    found = read_record(record)
    return found.texts if found else ()


def named(path: Path, text: str) -> list[tuple[str, str]]:
    path.write_text(text)
    return [(sample.id, sample.text) for sample in read_samples([str(path)])]


def test_both_answers_of_a_pair_are_samples() -> None:
    assert texts({"prompt": "faster!", "chosen": FENCED, "rejected": OTHERS}) == (FENCED, OTHERS)
    said: JsonValue = [{"role": "user", "content": "?"}, {"role": "assistant", "content": OTHERS}]
    assert texts({"chosen": FENCED, "rejected": said}) == (FENCED, OTHERS)


def test_a_program_and_what_its_author_made_of_it_are_two_samples() -> None:
    reflection = {"code": FENCED, "feedback": "it is slow", "diagnosis": "?"}
    assert texts({**reflection, "improved_code": OTHERS}) == (FENCED, OTHERS)
    assert texts(reflection) == (FENCED,)


def test_the_message_of_an_error_is_no_answer() -> None:
    said = "cuda.cu(45): error: identifier is undefined"
    assert not texts({"runnable": False, "error_type": "CompilationError", "message": said})
    assert texts({"error_type": "CompilationError", "message": said, "code": FENCED}) == (FENCED,)
    assert texts({"message": FENCED}) == (FENCED,)


def test_an_agents_last_attempt_that_names_the_class_counts() -> None:
    turns: list[JsonValue] = [
        {"turn": 0, "raw_response": OTHERS, "eval": {"compiled": False}},
        {"turn": 1, "raw_response": FENCED, "diagnosis": {"raw": "slow"}},
        {"turn": 2, "raw_response": "I can do no better."},
    ]
    assert texts({"problem_id": 2, "turns": turns}) == (FENCED,)
    assert texts({"problem_id": 2, "turns": turns, "final_code": OTHER}) == (OTHER,)
    assert texts({"turns": [{"raw_response": "no code"}]}) == ()


def test_programs_in_a_table_by_level_and_problem(tmp_path: Path) -> None:
    table = {
        "meta": {"model": "m", "output": "runs/1"},
        "levels": {"1": {"19": {"problem_id": 19, "generated_kernel": CODE}}, "2": {}},
    }
    assert named(tmp_path / "gen.json", json.dumps(table)) == [("gen_levels_1_19", CODE)]


def test_lines_of_records_under_the_name_of_json(tmp_path: Path) -> None:
    lines = [json.dumps({"task_id": n, "custom_code": CODE}) for n in (1, 2)]
    found = named(tmp_path / "h100.json", "\n".join(lines) + "\n")
    assert [text for _, text in found] == [CODE, CODE]
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "answer.txt").write_text(FENCED)
    (tmp_path / "folder" / "notes.json").write_text('{"text": 1}\nnot JSON\n')
    (sample,) = read_samples([str(tmp_path / "folder")])
    assert sample.id == "answer"

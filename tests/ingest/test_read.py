"""Files, folders, streams and records, well-formed and hostile."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grader.errors import UsageError
from grader.ingest import Skipped, extract, kernelbench, read_samples
from grader.ingest.completions import read_record
from grader.ingest.decode import clean, decode
from grader.ingest.names import UniqueNames, slug
from grader.records import KernelBenchId, Sample

from .programs import CODE, OTHER, REFERENCE

FENCED = f"Sure.\n```python\n{CODE}```\n"
SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,119}")


def read(*paths: Path | str) -> list[Sample]:
    return list(read_samples([str(path) for path in paths]))


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def code_of(sample: Sample) -> str:
    submission = extract(sample).submission
    assert submission is not None
    return submission.code


def test_a_folder_of_everything(tmp_path: Path) -> None:
    write(tmp_path / "b.txt", FENCED)
    write(tmp_path / "a.md", FENCED)
    write(tmp_path / "sub" / "c.py", CODE)
    write(tmp_path / "d.jsonl", json.dumps({"id": "x", "completion": FENCED}) + "\n")
    write(tmp_path / "level_2_problem_7_sample_3_kernel.py", CODE)
    write(tmp_path / "level_2_problem_7_sample_3_prompt.txt", f"Given\n```\n{REFERENCE}```")
    write(tmp_path / "eval_results.json", '{"7": [{"correct": true}]}')
    write(tmp_path / ".hidden.txt", FENCED)
    write(tmp_path / "picture.png", b"\x89PNG")
    write(tmp_path / "__pycache__" / "c.py", CODE)
    samples = read(tmp_path)
    assert [(one.id, one.format) for one in samples] == [
        ("a", "transcript"),
        ("b", "transcript"),
        ("x", "jsonl"),
        ("level_2_problem_7_sample_3_kernel", "kernelbench"),
        ("sub__c", "python"),
    ]
    assert all(code_of(one) == CODE for one in samples)
    bench = samples[3]
    assert bench.kernelbench == KernelBenchId(level=2, problem=7, sample=3)
    assert extract(bench).reference == REFERENCE
    assert read(tmp_path) == samples


@pytest.mark.parametrize(
    ("path", "ident"),
    [
        ("level_1_problem_39_sample_2_kernel.py", (1, 39, 2)),
        ("gpt/level_1/problem_39/sample_2/kernel.py", (1, 39, 2)),
        ("gpt/level1/problem_39/sample_2.py", (1, 39, 2)),
        ("level_2/task_7.py", (2, 7, 0)),
        ("level_1_problem_3_solution_5_kernel.py", (1, 3, 5)),
        ("level_1_problem_3_solution_5_response.txt", (1, 3, 5)),
        ("level3/7_Deep_Net_.py", (3, 7, 0)),
        ("level3/7_Deep_Net_/solution.txt", (3, 7, 0)),
        ("model_level-2_problem-7_sample-1.txt", (2, 7, 1)),
        ("next_level_problem.py", None),
        ("level_1_problem_39_notes.py", None),
        ("sublevel1/helper.py", None),
    ],
)
def test_level_and_problem_in_a_path(path: str, ident: tuple[int, int, int] | None) -> None:
    found = kernelbench.identify(Path("/runs") / path)
    assert (found and (found.level, found.problem, found.sample)) == ident


def test_a_task_is_named_beside_or_on_top(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", FENCED)
    write(tmp_path / "a.task", "softmax\n")
    write(tmp_path / "b.py", CODE)
    write(tmp_path / "b.py.task", "task: relu\nmore")
    write(tmp_path / "c.txt", "Task: l2-norm\n" + FENCED)
    write(tmp_path / "d.txt", "Task: make this fast.\n" + FENCED)
    assert [one.task_hint for one in read(tmp_path)] == ["softmax", "relu", "l2-norm", None]


ENCODINGS = {
    "utf-8": FENCED.encode(),
    "utf-8 with mark": b"\xef\xbb\xbf" + FENCED.encode(),
    "utf-16": FENCED.encode("utf-16"),
    "utf-16 without mark": FENCED.encode("utf-16-le"),
    "utf-16 big": FENCED.encode("utf-16-be"),
    "utf-32": FENCED.encode("utf-32"),
    "dos": FENCED.replace("\n", "\r\n").encode(),
    "old mac": FENCED.replace("\n", "\r").encode(),
    "windows-1252": ("Voilà \u2013 that\u2019s it.\n" + FENCED).encode("cp1252"),
    "broken utf-8": ("Voilà, ça marche.\n" + FENCED).encode() + "é".encode()[:1],
}


@pytest.mark.parametrize("data", ENCODINGS.values(), ids=ENCODINGS)
def test_any_encoding(tmp_path: Path, data: bytes) -> None:
    (one,) = read(write(tmp_path / "a.txt", data))
    assert code_of(one) == CODE
    assert "\r" not in one.text
    assert "\ufeff" not in one.text


def test_binary_data_is_no_text(tmp_path: Path) -> None:
    (one,) = read(write(tmp_path / "a.txt", bytes(range(256)) * 40))
    assert one.text == ""
    assert "10240 bytes of binary data" in extract(one).found


def test_what_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to grade"):
        read(tmp_path)
    with pytest.raises(UsageError, match="can't be read"):
        read(tmp_path / "missing.txt")
    with pytest.raises(UsageError):
        read("a\0b")
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(UsageError, match="nothing to grade"):
        read(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "a\nb.txt",
        "[/red].txt",
        "<b>.txt",
        "..txt",
        "-rf.txt",
        "README.md",
        "é" * 80 + ".txt",
        "x.txt.txt",
    ],
)
def test_names_are_made_safe(tmp_path: Path, name: str) -> None:
    (one,) = read(write(tmp_path / name, FENCED))
    assert SAFE.fullmatch(one.id)
    assert one.id.lower() != "readme"
    assert code_of(one) == CODE


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", FENCED)
    path = os.fsencode(tmp_path) + b"/\xff\xfe.txt"
    os.rename(tmp_path / "a.txt", path)  # noqa: PTH104
    (one,) = read(tmp_path)
    assert SAFE.fullmatch(one.id)
    one.origin.encode()


def test_loops_of_links_end(tmp_path: Path) -> None:
    write(tmp_path / "one" / "a.txt", FENCED)
    (tmp_path / "one" / "up").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    samples = read(tmp_path)
    assert sorted(one.id for one in samples) == ["gone", "one__a"]
    gone = next(one for one in samples if one.id == "gone")
    assert "No such file" in gone.unreadable
    assert "could not be read" in extract(gone).found


def test_no_link_out_of_the_folder_is_followed(tmp_path: Path) -> None:
    secret = write(tmp_path / "home" / "secret.txt", "the user's own")
    write(tmp_path / "home" / "more" / "a.txt", FENCED)
    run = tmp_path / "run"
    write(run / "kept" / "a.txt", FENCED)
    (run / "inside.txt").symlink_to(run / "kept" / "a.txt")
    (run / "outside.txt").symlink_to(secret)
    (run / "folder").symlink_to(tmp_path / "home" / "more")
    (run / "endless.txt").symlink_to("/dev/zero")
    skipped: list[Skipped] = []
    samples = {one.id: one for one in read_samples([str(run)], None, skipped.append)}
    assert sorted(samples) == ["inside", "kept__a"]
    assert [Path(one.origin).name for one in skipped] == ["folder", "outside.txt"]
    assert all("which is not followed" in one.reason for one in skipped)
    assert samples["inside"].text == FENCED
    (named,) = read(run / "outside.txt")  # by the user
    assert named.text == "the user's own"


def test_no_link_beside_a_sample_is_followed_out(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret", "softmax")
    run = tmp_path / "run"
    write(run / "level_1_problem_2_sample_0_kernel.py", "import torch\n")
    (run / "level_1_problem_2_sample_0_prompt.txt").symlink_to(secret)
    write(run / "a.txt", FENCED)
    (run / "a.task").symlink_to(secret)
    for one in read(run):
        assert (one.prompt, one.task_hint) == (None, None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", FENCED)
    path.chmod(0)
    (one,) = read(tmp_path)
    assert one.unreadable


def test_equal_names_stay_apart(tmp_path: Path) -> None:
    for name in ("a.txt", "a.md", "A.py", "sub/a.txt", "sub__a.txt"):
        write(tmp_path / name, CODE)
    names = [one.id for one in read(tmp_path, tmp_path / "a.txt")]
    assert len({name.lower() for name in names}) == 6
    assert names == [one.id for one in read(tmp_path, tmp_path / "a.txt")]


def test_fifty_megabytes(tmp_path: Path) -> None:
    filler = "A line of prose that goes on and on, and doesn't end.\n" * 480_000
    path = write(tmp_path / "big.txt", filler + FENCED + filler)
    (one,) = read(path)
    assert len(one.text) > 50_000_000
    assert code_of(one) == CODE


def test_code_beyond_all_bounds(tmp_path: Path) -> None:
    (one,) = read(write(tmp_path / "a.txt", f"```python\n{CODE}x = 1\n" * 5_000 + "```"))
    assert code_of(one) == CODE + "x = 1\n"
    (one,) = read(write(tmp_path / "b.txt", f"```python\n{CODE}s = '{'x' * 3_000_000}'\n```"))
    extraction = extract(one)
    assert extraction.submission is None
    assert "more than 2 MB" in extraction.found


def test_ten_thousand_fences(tmp_path: Path) -> None:
    text = (
        "```python\nprint(1)\n```\nprose\n" * 5_000 + FENCED + "~~~\n" * 999 + "```\nclass Model:\n"
    )
    (one,) = read(write(tmp_path / "a.txt", text))
    assert code_of(one) == CODE


# JSONL

RECORDS = {
    "plain": {"id": "a", "completion": FENCED},
    "response": {"id": "a", "response": FENCED},
    "text": {"sample_id": "a", "text": FENCED},
    "output": {"uuid": "a", "output": FENCED},
    "generated": {"name": "a", "generated": FENCED},
    "code": {"id": "a", "code": CODE},
    "upper case": {"ID": "a", "Completion": FENCED},
    "chat": {"id": "a", "choices": [{"message": {"role": "assistant", "content": FENCED}}]},
    "completions": {"id": "a", "choices": [{"text": FENCED, "index": 0}]},
    "batch": {
        "custom_id": "a",
        "response": {"status_code": 200, "body": {"choices": [{"message": {"content": FENCED}}]}},
    },
    "responses": {
        "id": "a",
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "content": [{"type": "output_text", "text": FENCED}]},
        ],
    },
    "batch of responses": {
        "custom_id": "a",
        "response": {"body": {"output": [{"type": "message", "content": [{"text": FENCED}]}]}},
    },
    "anthropic": {
        "id": "a",
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": OTHER}, {"type": "text", "text": FENCED}],
    },
    "anthropic batch": {
        "custom_id": "a",
        "result": {"type": "succeeded", "message": {"content": [{"type": "text", "text": FENCED}]}},
    },
    "gemini": {"id": "a", "candidates": [{"content": {"parts": [{"text": FENCED}]}}]},
    "vllm": {"id": "a", "prompt": "p", "outputs": [{"text": FENCED}]},
    "messages": {
        "id": "a",
        "messages": [
            {"role": "user", "content": "Do it"},
            {"role": "assistant", "content": f"```python\n{OTHER}```"},
            {"role": "user", "content": "Again"},
            {"role": "assistant", "content": FENCED},
        ],
    },
    "sharegpt": {
        "id": "a",
        "conversations": [{"from": "human", "value": "Do it"}, {"from": "gpt", "value": FENCED}],
    },
}


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_records_of_all_kinds(tmp_path: Path, record: dict[str, object]) -> None:
    (one,) = read(write(tmp_path / "r.jsonl", json.dumps(record)))
    assert code_of(one) == CODE
    assert one.id == "a"


def test_prompt_task_and_number_of_a_record(tmp_path: Path) -> None:
    records = [
        {"id": 7, "prompt": f"```\n{REFERENCE}```", "completion": FENCED, "task": "relu"},
        {"completion": FENCED, "level": 1, "problem_id": 19, "sample_id": 4},
        {"completions": [FENCED, f"```python\n{OTHER}```"], "id": "n"},
        {"id": "q", "messages": [{"role": "user", "content": REFERENCE}], "completion": FENCED},
        {"id": "t", "ref_arch_src": REFERENCE, "kernel": CODE},
        {"level_id": 1, "task_id": 6, "ref_code": REFERENCE, "custom_code": CODE},
        {"custom_id": "level_1_problem_19_sample_3", "completion": FENCED},
        {"task_id": "level_2_problem_8", "completion": FENCED, "id": "u"},
        {"id": "s", "problem": REFERENCE, "completion": FENCED},
    ]
    samples = read(write(tmp_path / "r.jsonl", "\n\n".join(map(json.dumps, records))))
    assert [one.id for one in samples] == [
        *("r_7", "r_4", "n_0", "n_1", "q", "t"),
        *("r_00011", "level_1_problem_19_sample_3", "u", "s"),
    ]
    assert samples[0].task_hint == "relu"
    assert [extract(samples[i]).reference for i in (0, 4, 5, 6, 9)] == [REFERENCE] * 5
    assert samples[1].kernelbench == KernelBenchId(level=1, problem=19, sample=4)
    assert [code_of(samples[i]) for i in (2, 3)] == [CODE, OTHER]
    assert [samples[i].kernelbench for i in (6, 7, 8)] == [
        KernelBenchId(level=1, problem=6, sample=0),
        KernelBenchId(level=1, problem=19, sample=3),
        KernelBenchId(level=2, problem=8, sample=0),
    ]


def test_lines_that_are_no_records_are_named_and_no_samples(tmp_path: Path) -> None:
    lines = ["{broken", '{"id": "e", "response": null, "error": {"code": 500}}', "[1, 2]", '"text"']
    deep = "[" * 100_000
    path = write(tmp_path / "r.jsonl", "\n".join([*lines, deep, json.dumps({"text": FENCED})]))
    skipped: list[Skipped] = []
    samples = list(read_samples([str(path)], None, skipped.append))
    assert [one.origin for one in samples] == [f"{path}:{number}" for number in (2, 4, 6)]
    assert "completion is empty" in extract(samples[0]).found
    assert code_of(samples[2]) == CODE
    assert [one.origin for one in skipped] == [f"{path}:{number}" for number in (1, 3, 5)]
    assert "not a JSON record" in skipped[0].reason
    assert "`completion`" in skipped[1].reason


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig"])
def test_records_in_any_form_of_unicode(tmp_path: Path, encoding: str) -> None:
    lines = "".join(json.dumps({"text": FENCED}) + "\r\n" for _ in range(3))
    data = lines.encode(encoding)
    found = read(write(tmp_path / "r.jsonl", data))
    assert [code_of(one) for one in found] == [CODE] * 3
    assert len(list(read_samples(["-"], io.BytesIO(data)))) == 3


def test_lone_surrogates_can_be_written(tmp_path: Path) -> None:
    (one,) = read(
        write(tmp_path / "r.jsonl", '{"id": "\\ud800", "text": "a \\ud83d\\ude00 \\udfff"}')
    )
    assert one.text.encode().decode() == "a \U0001f600 \ufffd"
    assert SAFE.fullmatch(one.id)


def test_zipped_and_lists(tmp_path: Path) -> None:
    write(tmp_path / "z.jsonl.gz", gzip.compress(json.dumps({"text": FENCED}).encode()))
    write(tmp_path / "l.json", json.dumps([{"text": FENCED}, {"id": "b", "text": FENCED}]))
    write(tmp_path / "broken.jsonl.gz", b"no gzip")
    samples = {one.id: one for one in read(tmp_path)}
    assert set(samples) == {"z_00001", "l_00001", "b", "broken"}
    assert samples["broken"].unreadable


def test_standard_input() -> None:
    def one(data: bytes) -> list[Sample]:
        return list(read_samples(["-"], io.BytesIO(data)))

    assert [s.format for s in one(FENCED.encode())] == ["transcript"]
    assert code_of(one(CODE.encode())[0]) == CODE
    lines = b"".join(json.dumps({"text": FENCED}).encode() + b"\n" for _ in range(3))
    assert [s.id for s in one(lines)] == ["stdin_00001", "stdin_00002", "stdin_00003"]
    assert [s.text for s in one(b"")] == [""]


def test_jsonl_is_streamed(tmp_path: Path) -> None:
    """The first sample is there before the last line has been written."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as source, os.fdopen(writing, "wb", 0) as sink:
        sink.write(json.dumps({"text": FENCED}).encode() + b"\n")
        stream = read_samples(["-"], io.BufferedReader(source))
        assert code_of(next(stream)) == CODE


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
    from pyarrow import parquet

    rows = {"id": ["a", "b"], "completion": [FENCED, None], "level": [1, 2], "problem_id": [3, 4]}
    parquet.write_table(pyarrow.table(rows), tmp_path / "p.parquet")
    write(tmp_path / "q.parquet", b"PAR1 no")
    samples = read(tmp_path)
    assert [one.id for one in samples] == ["a", "p_00002", "q"]
    assert code_of(samples[0]) == CODE
    assert samples[0].kernelbench == KernelBenchId(level=1, problem=3, sample=0)
    assert samples[2].unreadable


# properties

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["id", "text", "content", "message", "messages", "choices", "role", "response", "body",
             "output", "type", "parts", "level", "problem_id", "prompt", "completion", "request"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@example({"text": [{"id": None, "type": []}]})
@given(json_values)
def test_any_record_is_read_or_refused(value: object) -> None:
    record = read_record(value)
    assert record is None or all(isinstance(text, str) for text in record.texts)


@pytest.mark.parametrize("field", ["completion", "content", "messages", "level", "request"])
@pytest.mark.parametrize("depth", [50, 300, 900, 5000])
def test_a_record_of_lists_within_lists_stops_no_run(
    tmp_path: Path, field: str, depth: int
) -> None:
    deep = f'{{"{field}": {"[" * depth}"x"{"]" * depth}, "answer": "hidden"}}'
    plain = json.dumps({"id": "plain", "completion": FENCED})
    *_, last = read(write(tmp_path / "r.jsonl", f"{deep}\n{plain}\n"))
    assert (last.id, code_of(last)) == ("plain", CODE)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_decoded(data: bytes) -> None:
    text, _ = decode(data)
    assert clean(text) == text
    text.encode()


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab\n`~ #é", max_size=80))
def test_line_ends_do_not_matter(text: str) -> None:
    plain = decode(text.encode()).text
    assert decode(text.replace("\n", "\r\n").encode()).text == plain


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(max_size=200), max_size=12))
def test_names_are_safe_and_unique(wanted: list[str]) -> None:
    names = UniqueNames()
    taken = [names.take(one) for one in wanted]
    assert len({name.lower() for name in taken}) == len(taken)
    assert all(SAFE.fullmatch(name) for name in taken)


@given(st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,60}[A-Za-z0-9])?", fullmatch=True))
def test_a_good_name_stays(name: str) -> None:
    if name.lower() not in {"readme", "index", "results", "con", "nul", "aux", "prn"}:
        assert slug(name) == name

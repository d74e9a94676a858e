"""The GitHub Action: pinned, nothing of an event in its scripts, and its steps run as GitHub runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.service.played_github import NUMBER, REPOSITORY, TOKEN, PlayedGitHub, measured
from tests.whole import ROOT

TEXT = (ROOT / "action.yml").read_text("utf-8")
ACTION: dict[str, Any] = yaml.safe_load(TEXT)
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
SCRIPTS = {step["name"]: step for step in STEPS if "run" in step}
KERNEL = re.search(
    r"^```python\n(.*?)^```$",
    (ROOT / "samples" / "mean_dim_dispatch.txt").read_text("utf-8"),
    re.MULTILINE | re.DOTALL,
)


def test_actions_are_pinned_by_commit() -> None:
    used = re.findall(r"uses: (.*)", TEXT)
    assert len(used) >= 3
    for line in used:
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_no_expression_stands_in_a_script() -> None:
    for step in SCRIPTS.values():
        assert "${{" not in step["run"], step["name"]
        assert step["shell"] == "bash"


def test_the_page_of_the_action_gives_it_what_it_takes() -> None:
    page = (ROOT / "docs" / "how-to" / "github.md").read_text("utf-8")
    (workflow,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (job,) = yaml.safe_load(workflow)["jobs"].values()
    (step,) = (step for step in job["steps"] if "kernel-grader@" in step["uses"])
    assert set(step["with"]) <= set(ACTION["inputs"])
    told = set(
        re.findall(r"`([a-z-]+)`", " ".join(re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)))
    )
    assert told == set(ACTION["inputs"])


def test_every_input_is_used_and_explained() -> None:
    for name, given in ACTION["inputs"].items():
        assert given["description"], name
        assert f"inputs.{name}" in TEXT, name


def test_the_secret_of_the_inputs_is_in_no_cache() -> None:
    (cache,) = (step for step in STEPS if "actions/cache@" in step.get("uses", ""))
    folders = {Path(line).name for line in cache["with"]["path"].split()}
    assert folders == {"builds", "prepared", "simulator"}


class Job:
    """A runner: its folders, and the steps of the action that are scripts."""

    def __init__(self, room: Path, github: PlayedGitHub) -> None:
        self.workspace, self.temporary = room / "workspace", room / "temporary"
        self.outputs: dict[str, str] = {}
        self._files = {name: room / name for name in ("event.json", "output", "summary.md")}
        programs = self.temporary / "kernel-grader" / "bin"
        for folder in (self.workspace / "kernels", programs):
            folder.mkdir(parents=True)
        program = programs / "kernel-grader"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT / "grade.py"}" "$@"\n')
        program.chmod(0o755)
        event = {"pull_request": {"number": NUMBER, "head": {"sha": "c0ffee"}}}
        self._files["event.json"].write_text(json.dumps(event))
        self._own = {
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_API_URL": github.root,
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_EVENT_PATH": str(self._files["event.json"]),
            "GITHUB_OUTPUT": str(self._files["output"]),
            "GITHUB_STEP_SUMMARY": str(self._files["summary.md"]),
            "KERNEL_GRADER_CACHE": str(room / "cache"),
        }

    def run(self, name: str, **given: str) -> subprocess.CompletedProcess[str]:
        """Run a step as GitHub does; `given` are the values of its expressions."""
        step = SCRIPTS[name]
        assert set(step["env"]) == set(given), "every variable of the step has a value"
        script = self.temporary / "step.sh"
        script.write_text(step["run"])
        told = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            check=False,
            cwd=self.workspace,
            env={**os.environ, **self._own, **given},
            capture_output=True,
            text=True,
        )
        output = self._files["output"]
        if output.exists():
            self.outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return told

    def grade(self, paths: str = "kernels", fail_on: str = "error", form: str = "table") -> Any:
        options = "--device none --seed 7"
        return self.run("Grade", PATHS=paths, OPTIONS=options, FAIL_ON=fail_on, FORMAT=form)


@pytest.fixture
def github() -> Iterator[PlayedGitHub]:
    with measured() as found:
        yield found


@pytest.fixture
def job(github: PlayedGitHub, tmp_path: Path) -> Job:
    assert KERNEL is not None
    made = Job(tmp_path, github)
    (made.workspace / "kernels" / "mean_dim.py").write_text(KERNEL[1])
    count = KERNEL[1].count("\n")
    added = "".join(f"+{line}\n" for line in KERNEL[1].splitlines())
    github.files = {"kernels/mean_dim.py": f"@@ -0,0 +1,{count} @@\n{added}"}
    return made


def test_a_pull_request_is_graded_commented_on_and_gated(job: Job, github: PlayedGitHub) -> None:
    graded = job.grade(fail_on="incorrect")  # read, not run: no error is certain
    assert graded.returncode == 0, graded.stderr
    assert job.outputs["status"] == "1", "the gate tripped, and the reviews are still brought"
    commented = job.run(
        "Comment",
        GITHUB_TOKEN=TOKEN,
        AUTHOR=ACTION["inputs"]["author"]["default"],
        REVIEWS=job.outputs["reviews"],
    )
    assert commented.returncode == 0, commented.stderr
    assert len(github.summaries) == 1
    (refused,) = [item for item in github.comments if "BLD007" in item["body"]]
    assert refused["path"] == "kernels/mean_dim.py"
    assert "x.scalar_type()" in refused["body"].partition("```suggestion")[2]
    assert job.run("Gate", STATUS=job.outputs["status"]).returncode == 1


def test_outside_of_a_pull_request_findings_are_annotations(job: Job) -> None:
    graded = job.grade(fail_on="never", form="github")
    assert re.search(r"^::warning file=kernels/mean_dim.py,line=\d+", graded.stdout, re.MULTILINE)
    assert job.run("Gate", STATUS=job.outputs["status"]).returncode == 0


def test_wrong_input_ends_the_job_at_once(job: Job) -> None:
    graded = job.grade(paths="kernles")
    assert graded.returncode == 2
    assert "no file or folder kernles" in graded.stderr


def test_inputs_are_words_and_no_script(job: Job) -> None:
    graded = job.grade(paths="kernels;touch pwned $(touch pwned)\nkernels/mean_dim.py")
    assert graded.returncode == 2
    assert not (job.workspace / "pwned").exists()

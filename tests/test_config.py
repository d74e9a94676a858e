"""Flags over environment over file over default."""

from pathlib import Path

import pytest

from grader import config
from grader.errors import UsageError


def test_each_layer_wins_over_the_one_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.kernel-grader]\njobs = 3\ngpu = "a100"\nignore = ["PRF"]\n'
    )
    monkeypatch.setenv("KERNEL_GRADER_GPU", "t4")
    options, settings = config.load({"jobs": 7, "task": None}, tmp_path)
    assert (options.jobs, options.gpu, options.ignore) == (7, "t4", ("PRF",))
    origins = {setting.name: setting.origin for setting in settings}
    assert origins["jobs"] == "flag"
    assert origins["gpu"] == "environment"
    assert origins["ignore"].endswith("pyproject.toml")
    assert origins["device"] == "default"


def test_an_unknown_key_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.kernel-grader]\njbos = 3\n")
    with pytest.raises(UsageError, match="did you mean 'jobs'"):
        config.load({}, tmp_path)


@pytest.mark.parametrize("line", ["unsafe_no_sandbox = true", 'cache = "here"', "seed = 1"])
def test_a_folder_does_not_say_what_is_to_be_believed(tmp_path: Path, line: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.kernel-grader]\n{line}\n")
    with pytest.raises(UsageError, match="may not set"):
        config.load({}, tmp_path)


def test_a_value_that_does_not_fit_names_its_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNEL_GRADER_DEVICE", "tpu")
    with pytest.raises(UsageError, match="option 'device' from environment"):
        config.load({}, tmp_path)

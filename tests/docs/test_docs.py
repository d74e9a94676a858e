"""The documentation is a site without a warning, and what it tells readers to do works."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.cli import main
from tests.docs.pages import ROOT, RUN, Command, File, steps


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """All pages are read and their references followed; writing them is four fifths of the time, so one is written."""
    docs, site = str(ROOT / "docs"), str(tmp_path / "site")
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-d", str(tmp_path / "read")]
    # One page alone has an incomplete search index, which is a warning.
    for more in (
        ["-W", "--keep-going", "-b", "dummy", docs, site],
        [docs, site, f"{docs}/index.md"],
    ):
        done = subprocess.run([*sphinx, *more], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
    assert "Grades and reviews" in Path(site, "index.html").read_text()


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", RUN)
def test_what_a_page_tells_readers_to_do_works(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Commands in `console` blocks; `bash` blocks need a network, a key, a watcher or a checkout."""
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    # With one seed, what several pages have graded is graded once.
    monkeypatch.setenv("KERNEL_GRADER_SEED", "7")
    monkeypatch.chdir(tmp_path)
    count = 0
    for step in steps(page):
        if isinstance(step, File):
            path = tmp_path / step.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text)
        else:
            run(step, tmp_path)
            capsys.readouterr()
            count += 1
    assert count


def run(command: Command, folder: Path) -> None:
    """Run it in this process, which has all loaded; in one of its own where a page installs a package."""
    program, *arguments = shlex.split(command.line)
    assert program == "kernel-grader"
    package = installed(folder)
    if package.exists():
        run_beside(package, arguments, folder)
    else:
        assert main(arguments) == 0, command.line
    for review in folder.rglob("*.md"):
        assert "failed in the grader" not in review.read_text("utf-8"), review


def run_beside(package: Path, arguments: list[str], folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "grader", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{package}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{arguments}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def installed(folder: Path) -> Path:
    """Return where the package that a page writes is installed, without pip and its network."""
    target = folder / "installed"
    if (folder / "house_rules.py").exists() and not target.exists():
        target.mkdir()
        shutil.copy(folder / "house_rules.py", target)
        metadata = target / "house_rules-1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: house-rules\nVersion: 1\n")
        toml = (folder / "pyproject.toml").read_text()
        entry = toml.split('entry-points."kernel_grader.rules"]')[1].split("[")[0]
        (metadata / "entry_points.txt").write_text(
            "[kernel_grader.rules]\n" + entry.replace('"', "")
        )
    return target

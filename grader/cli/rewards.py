"""Commands for training and evaluating agents: one answer's reward, tasks in other programs' formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from grader import config
from grader.cli.app import FAILED, GRADED, HiddenFlags, app, errors, given_options, out, plain
from grader.cli.checks import check_options, plural
from grader.errors import UsageError


@app.command(name="reward")
def print_reward(answer: Path, *, to: Path | None = None, options: HiddenFlags = None) -> int:
    """Grade one answer and print its reward as JSON; exit 3 where the grader itself failed.

    Takes the grading options as well (--task, --device, --policy, ...): see the main help. --task may also name a
    problem file.

    Parameters
    ----------
    answer
        A file with what a model wrote: a transcript, or the module.
    to
        A folder for reward.txt (the number), reward.json (its parts) and details.json (everything).
    options
        What may be set for a grading.

    """
    from grader.reward import Answer, Grader, shown_to_trainer

    chosen, _ = config.load(given_options(options))
    task = chosen.task
    if task is None:
        raise UsageError("a reward needs a task", "--task NAME, or --task problem.py")
    if task.endswith(".py"):
        task = _read_text(Path(task))
        chosen = chosen.model_copy(update={"task": None})
    check_options(chosen)
    with Grader(chosen.model_copy(update={"jobs": 1})) as grader:
        reward = grader.look(Answer(text=_read_text(answer), task=task, id=answer.stem)).reward
    said = json.dumps(shown_to_trainer(reward), indent=2)
    out.print(plain(said), highlight=False, soft_wrap=True)
    if reward.value is None:
        errors.print(plain(f"no reward: {reward.sentence}"), soft_wrap=True)
        return FAILED
    if to is not None:
        to.mkdir(parents=True, exist_ok=True)
        (to / "details.json").write_text(said, "utf-8")
        (to / "reward.json").write_text(json.dumps({"reward": reward.value, **reward.signals}))
        (to / "reward.txt").write_text(f"{reward.value}\n")
    return GRADED


@app.command(name="export")
def export_tasks(
    form: Literal["harbor"], folder: Path, *, ask: str | None = None, options: HiddenFlags = None
) -> int:
    """Write tasks in another program's format: a folder each, in the Harbor (Terminal-Bench) form.

    Parameters
    ----------
    form
        The format.
    folder
        Where the tasks' folders are made.
    ask
        Names of built-in tasks, separated by commas; else the problems of --tasks, else all of them.
    options
        What may be set for a grading: --device says where the exported tests grade.

    """
    from grader.reward import questions
    from grader.trainers.harbor import export

    chosen, _ = config.load(given_options(options))
    device = "sim" if chosen.device in {"auto", "none"} else chosen.device
    made = export(questions(ask or chosen.tasks), folder, device)
    out.print(f"{plural(len(made), 'task')} in the form of {form} in {plain(str(folder))}")
    return GRADED


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}") from error

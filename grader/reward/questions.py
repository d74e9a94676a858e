"""The prompt for a task, and the tasks of an environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from grader import tasks
from grader.errors import UsageError
from grader.records import Record

QUESTION = """Write a fast CUDA kernel for this PyTorch module.

```python
{reference}
```

Answer with one whole Python module in a code block. It defines `ModelNew` with the constructor and `forward` of `Model`, \
and builds its own CUDA kernels with `torch.utils.cpp_extension.load_inline`. Results must be right for any values of the \
inputs, at these sizes and at others."""
Tasks = str | Path | Mapping[str, str] | Iterable[str] | None


class Question(Record):
    """One task with its prompt."""

    name: str
    task: str
    """Value for `Answer.task`: the name of a built-in task, or a problem's source."""
    prompt: str


def questions(asked: Tasks = None) -> tuple[Question, ...]:
    """Return the questions for names of built-in tasks, a folder of problem files, or sources by name.

    None means all built-in tasks. Raises UsageError for anything that is not a task.
    """
    found = tuple(_question(name, task) for name, task in _named_tasks(asked))
    if not found:
        raise UsageError(
            f"{asked} holds no task", "a folder of KernelBench-style .py files, or names"
        )
    return found


def _named_tasks(asked: Tasks) -> Iterable[tuple[str, str]]:
    if asked is None:
        return [(name, name) for name in sorted(tasks.builtin_tasks())]
    if isinstance(asked, Mapping):
        return asked.items()
    if isinstance(asked, Path):
        return [(path.stem, path.read_text("utf-8")) for path in sorted(asked.rglob("*.py"))]
    names = asked.split(",") if isinstance(asked, str) else asked
    return [(name.strip(), name.strip()) for name in names]


def _question(name: str, task: str) -> Question:
    from grader.reward.grader import task_of

    known = task_of(task)
    if known is None:
        raise UsageError(f"{name} is not a task")
    return Question(name=name, task=task, prompt=QUESTION.format(reference=known.reference.strip()))

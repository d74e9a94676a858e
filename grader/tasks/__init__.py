"""Built-in tasks, KernelBench problems, and the choice of the task that a sample answers."""

from grader.tasks.backward import as_asked
from grader.tasks.choose import choose, task_named
from grader.tasks.entry import Entry
from grader.tasks.infer import infer
from grader.tasks.own_inputs import own_inputs
from grader.tasks.problem import from_reference
from grader.tasks.registry import builtin_tasks, entries

__all__ = [
    "Entry",
    "as_asked",
    "builtin_tasks",
    "choose",
    "entries",
    "from_reference",
    "infer",
    "own_inputs",
    "task_named",
]

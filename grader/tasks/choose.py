"""The choice of the task that a sample answers, from the surest source to the least sure one."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from grader.errors import UsageError
from grader.records import Extraction, KernelBenchId, Sample, Task, TaskChoice
from grader.tasks import problem
from grader.tasks.backward import SUFFIX, with_backward
from grader.tasks.clues import gather, words_of
from grader.tasks.entry import Entry
from grader.tasks.infer import ENOUGH, infer_from
from grader.tasks.own_inputs import own_reference
from grader.tasks.precision import in_precision, split_name
from grader.tasks.registry import builtin_tasks, entries
from grader.tasks.sizes import fit_sizes

FOLDERS = 4
"""Folders around a sample's file that may have a problem's name, as in `39_L2Norm_/code/1.py`."""
NAMES = 20
"""Names in a text that are looked up among the problems."""
FORM = frozenset(
    re.findall(
        r"\w+",
        "2d 3d 4d a an and asymmetric batched conv convolution dimension dimensions for input irregular k kernel large matmul "
        "matrices matrix multiplication over reduction scalar shapes skinny small square standard tall tensor the vector with",
    )
)
"""Words of KernelBench's names that say of which form a problem is, and nothing of another operation."""
_CALLED = re.compile(r"(?<![\w.])\d{1,3}_[A-Za-z]\w+")
_MODEL = re.compile(r"^[ \t>]*class[ \t]+Model\b", re.MULTILINE)
_NUMBERED = re.compile(r"(?:level_?1[/_-])?(?:problem_?)?(?P<number>\d{1,3})[_-](?P<name>\w+)")


def choose(
    sample: Sample,
    extraction: Extraction,
    *,
    task: str | None,
    tasks_dir: Path | None,
    drafts: bool = True,
    dtype: str | None = None,
) -> TaskChoice:
    """Return the task of a sample, in the requested dtype; see `_as_written`. Raises UsageError."""
    choice = _as_written(sample, extraction, task=task, tasks_dir=tasks_dir, drafts=drafts)
    if dtype is None or choice.task is None or choice.task.precision:
        return choice
    cast = in_precision(choice.task, dtype)
    if cast is None and task is not None:
        raise UsageError(f"{choice.task.name} has no form in {dtype}", "see `tasks` for the types")
    reason = (
        f"{choice.reason}, in {dtype}" if cast else f"{choice.task.name} has no form in {dtype}"
    )
    return choice.model_copy(
        update={"task": cast, "reason": reason, "how": choice.how if cast else "none"}
    )


def _as_written(
    sample: Sample,
    extraction: Extraction,
    *,
    task: str | None,
    tasks_dir: Path | None,
    drafts: bool,
) -> TaskChoice:
    """Return the task of a sample: by option, side file, KernelBench id, prompt, or inference.

    A task of a problem file or of a prompt comes without workloads (`grader.execution.describe` fills
    them in); where that fails, a second call with `drafts` false takes built-in tasks only. Raises UsageError for an
    option that names no task.
    """
    if task is not None:
        reason = "the problem's text was given" if _is_text(task) else f"--task {task}"
        return TaskChoice(task=asked_for(task, tasks_dir), how="option", reason=reason)
    if not drafts:
        tasks_dir, extraction = None, extraction.model_copy(update={"reference": None})
    bound = _by_reference(sample, extraction) if extraction.bound_to_reference else None
    return (
        bound
        or _by_hint(sample, tasks_dir)
        or _by_kernelbench_file(sample.kernelbench, tasks_dir)
        or _by_problem_name(sample, tasks_dir)
        or _by_prompt(sample, extraction)
        or _by_similar_hint(sample)
        or _by_reference(sample, extraction)
        or _by_problem_said(sample, extraction, tasks_dir)
        or _by_kernelbench_number(sample.kernelbench)
        or _by_file_name(sample)
        or (_by_own_reference(sample, extraction) if drafts else None)
        or _by_inference(sample, extraction, tasks_dir)
    )


def asked_for(name: str, tasks_dir: Path | None) -> Task:
    """Return the task that the user names: as `named`, by a problem file's path, or by its text."""
    if _is_text(name):
        found = problem.from_reference(name)
        if found is None:
            raise UsageError("the task's text defines no `Model` and `get_inputs`")
        return found
    if name not in builtin_tasks() and name.endswith(".py") and Path(name).is_file():
        return problem.load(Path(name))
    return task_named(name, tasks_dir)


def _is_text(task: str) -> bool:
    """Whether the option's value is the text of a problem file: a name or a path is one line."""
    return "\n" in task


def task_named(name: str, tasks_dir: Path | None) -> Task:
    """Return the task of that name: built-in, or a file of `tasks_dir`.

    The name is never opened as a path, since a sample may give it. Raises UsageError, with the nearest names, where
    there is none.
    """
    found = _exactly(name, tasks_dir) or _by_alias(name)
    if found is not None:
        return found
    raise UsageError(f"there is no task called {name!r}", _nearest(name))


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, builtin_tasks(), n=3)
    return f"did you mean {', '.join(near)}?" if near else "`tasks` lists the built-in ones"


def _exactly(name: str, tasks_dir: Path | None) -> Task | None:
    """Return the task of exactly that name: built-in, or a file of `tasks_dir`. Raises UsageError."""
    if name in builtin_tasks():
        return builtin_tasks()[name]
    if name.endswith(SUFFIX):
        plain = _exactly(name.removesuffix(SUFFIX), None)
        return with_backward(plain) if plain else None
    split = split_name(name)
    plain = _exactly(split[0], None) if split else None
    if split and plain:
        return in_precision(plain, split[1])
    path = problem.find_by_name(tasks_dir, name) if tasks_dir else None
    return problem.load(path) if path is not None else None


def _by_hint(sample: Sample, tasks_dir: Path | None) -> TaskChoice | None:
    if not sample.task_hint:
        return None
    try:
        found = _exactly(sample.task_hint, tasks_dir)
    except UsageError:
        return None
    return _named_so(sample, found)


def _by_similar_hint(sample: Sample) -> TaskChoice | None:
    """Return the built-in task for the sample's own name of its task; the prompt's reference comes first."""
    return _named_so(sample, _by_alias(sample.task_hint) if sample.task_hint else None)


def _named_so(sample: Sample, found: Task | None) -> TaskChoice | None:
    if found is None:
        return None
    return TaskChoice(task=found, how="side-file", reason=f"the sample names {sample.task_hint!r}")


def _by_alias(name: str) -> Task | None:
    """Return the built-in task of another spelling: `L2Norm`, `39_L2Norm_`, `level1/39_L2Norm_`."""
    stem = name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".py")
    numbered = _NUMBERED.fullmatch(stem)
    if numbered:
        entry = _of_problem(int(numbered["number"]))
        words = set(words_of(numbered["name"]).split())
        if entry and words & set(words_of(entry.task.title + " " + entry.task.name).split()):
            return entry.task
    plain = words_of(stem).replace(" ", "")
    found = [e.task for n, e in entries().items() if words_of(n).replace(" ", "") == plain]
    return found[0] if found else None


def _of_problem(number: int) -> Entry | None:
    return next((entry for entry in entries().values() if number in entry.problems), None)


def _by_kernelbench_file(ident: KernelBenchId | None, tasks_dir: Path | None) -> TaskChoice | None:
    path = problem.find(tasks_dir, ident.level, ident.problem) if ident and tasks_dir else None
    return _of_file(path, f"the file name says {_say_problem(ident)}")


def _by_problem_name(sample: Sample, tasks_dir: Path | None) -> TaskChoice | None:
    if tasks_dir is None:
        return None
    origin = Path(sample.origin)
    found = _of_file(problem.find_within(tasks_dir, origin.name), "the file name holds its name")
    folders = (place.name for place in (*origin.parents,)[:FOLDERS])
    named_so = (path for name in folders if (path := problem.find_called(tasks_dir, name)))
    return found or _of_file(next(named_so, None), "a folder around the file has its name")


def _of_file(path: Path | None, reason: str) -> TaskChoice | None:
    if path is None:
        return None
    try:
        draft = problem.load(path)
    except UsageError:
        return None
    return TaskChoice(task=draft, how="kernelbench", reason=f"{reason}: {path.name}")


def _say_problem(ident: KernelBenchId | None) -> str:
    return f"level {ident.level}, problem {ident.problem}" if ident else ""


def _by_prompt(sample: Sample, extraction: Extraction) -> TaskChoice | None:
    """Return the task of the reference in the prompt, which an answer can't change."""
    asked = sample.prompt and _MODEL.search(sample.prompt)
    return _by_reference(sample, extraction) if asked else None


def _by_reference(sample: Sample, extraction: Extraction) -> TaskChoice | None:
    if not extraction.reference:
        return None
    draft = problem.from_reference(extraction.reference)
    if draft is None:
        return None
    brought = sample.prompt and not _MODEL.search(sample.prompt)
    reason = (
        "the answer holds a reference `Model`, and the prompt none: the author chose it"
        if brought
        else "the prompt holds the reference `Model`"
    )
    return TaskChoice(task=draft, how="embedded", reason=reason)


def _by_own_reference(sample: Sample, extraction: Extraction) -> TaskChoice | None:
    """Return the task of a file with reference and answer; None where a prompt asked for something."""
    submission = None if sample.prompt else extraction.submission
    draft = own_reference(submission) if submission else None
    why = "the answer's own file holds a reference `Model`: the author chose it"
    return TaskChoice(task=draft, how="embedded", reason=why) if draft else None


def _by_kernelbench_number(ident: KernelBenchId | None) -> TaskChoice | None:
    entry = _of_problem(ident.problem) if ident and ident.level == 1 else None
    if entry is None:
        return None
    reason = (
        f"the file name says {_say_problem(ident)}, which the built-in {entry.task.name} stands for"
    )
    return TaskChoice(task=entry.task, how="kernelbench", reason=reason)


def _by_problem_said(
    sample: Sample, extraction: Extraction, tasks_dir: Path | None
) -> TaskChoice | None:
    """Return the one problem of `tasks_dir` whose numbered name the text mentions: `8_Softmax`, `level1/8_Softmax.py`."""
    if tasks_dir is None:
        return None
    said = (sample.prompt or "", *(prose.text for prose in extraction.prose))
    names = dict.fromkeys(name for text in said for name in _CALLED.findall(text))
    called = (problem.find_called(tasks_dir, name) for name in (*names,)[:NAMES])
    found = {path for path in called if path is not None}
    return _of_file(found.pop(), "the text calls it by its name") if len(found) == 1 else None


def _by_file_name(sample: Sample) -> TaskChoice | None:
    """Return the built-in task of a file with KernelBench's name for it: `34_InstanceNorm.py`."""
    numbered = _NUMBERED.fullmatch(Path(sample.origin).stem)
    entry = _of_problem(int(numbered["number"])) if numbered else None
    known = words_of(f"{entry.task.title} {entry.task.name}").split() if entry else ()
    if (
        entry is None
        or numbered is None
        or set(words_of(numbered["name"]).split()) - {*known, *FORM}
    ):
        return None
    reason = f"the file has the name of KernelBench's problem {numbered['number']}"
    return TaskChoice(task=entry.task, how="kernelbench", reason=reason)


def _by_inference(sample: Sample, extraction: Extraction, tasks_dir: Path | None) -> TaskChoice:
    clues = gather(sample, extraction)
    found = infer_from(clues)
    if found.best is None or found.confidence < ENOUGH:
        why = f"too uncertain: {found.reason}" if found.best else found.reason
        if sample.task_hint:
            why = f"it asks for {sample.task_hint!r}, which is not a task ({_nearest(sample.task_hint)}); {why}"
        return TaskChoice(task=None, how="none", reason=why, confidence=found.confidence)
    entry = found.best.entry
    task = _own_problem(entry, tasks_dir) or fit_sizes(entry.task, clues.sizes)
    return TaskChoice(task=task, how="inferred", reason=found.reason, confidence=found.confidence)


def _own_problem(entry: Entry, tasks_dir: Path | None) -> Task | None:
    """Return the user's own file for a built-in task's one KernelBench problem, if there is such a file."""
    if tasks_dir is None or len(entry.problems) != 1:
        return None
    found = _of_file(problem.find(tasks_dir, 1, entry.problems[0]), "")
    words = set(words_of(f"{entry.task.title} {entry.task.name}").split())
    if found is None or found.task is None or not words & set(words_of(found.task.name).split()):
        return None
    return found.task

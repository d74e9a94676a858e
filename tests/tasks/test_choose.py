"""From the surest source to the least sure one."""

from __future__ import annotations

import pytest

from grader.errors import UsageError
from grader.ingest import extract
from grader.records import Extraction, KernelBenchId, Sample, Submission
from grader.tasks import builtin_tasks, choose, problem
from grader.tasks.sizes import fit_sizes

PROBLEM = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return x * 2

def get_inputs():
    return [torch.rand(4, 4)]

def get_init_inputs():
    return []
"""
CODE = '''
import torch
from torch.utils.cpp_extension import load_inline
src = """__global__ void l2_norm_kernel(const float* x, float* y, int n) {}"""
l2_norm = load_inline(name="l2_norm", cpp_sources="", cuda_sources=src, functions=["l2_norm_cuda"])
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return l2_norm.l2_norm_cuda(x)
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1" / "39_L2Norm_.py").write_text(PROBLEM)
    (tmp_path / "level1" / "7_Broken.py").write_text("def (")
    return tmp_path


def chosen(*, task=None, tasks_dir=None, reference=None, code=CODE, drafts=True, **more):
    sample = Sample(id="s", origin="s", format="python", text=code, **more)
    submission = Submission(sample="s", code=code, line_map=(), how="")
    extraction = Extraction(submission=submission, reference=reference)
    return choose(sample, extraction, task=task, tasks_dir=tasks_dir, drafts=drafts)


def test_an_option_beats_all(folder):
    found = chosen(task="relu", tasks_dir=folder, task_hint="softmax", reference=PROBLEM)
    assert (found.how, found.task.name) == ("option", "relu")
    found = chosen(task="39_L2Norm_", tasks_dir=folder)
    assert found.task.source == "kernelbench"
    assert found.task.reference == PROBLEM
    found = chosen(task=str(folder / "level1" / "39_L2Norm_.py"))
    assert found.task.reference == PROBLEM


def test_an_unknown_option_names_the_nearest():
    with pytest.raises(UsageError, match="softmax"):
        chosen(task="softmaxx")
    with pytest.raises(UsageError):
        chosen(task="../../etc/passwd")


def test_a_hint_is_next(folder):
    found = chosen(task_hint="softmax", tasks_dir=folder, reference=PROBLEM)
    assert (found.how, found.task.name) == ("side-file", "softmax")
    assert chosen(task_hint="L2Norm", code="x").task.name == "l2-norm"
    assert chosen(task_hint="level1/39_L2Norm_.py", code="x").task.name == "l2-norm"
    # A hint that names nothing is no error: the next source decides.
    assert chosen(task_hint="nothing of the kind").how == "inferred"
    # A sample's own words open no file of the machine's; the user's do.
    path = folder / "own.py"
    path.write_text(PROBLEM)
    assert chosen(task_hint=str(path), code="x").how == "none"
    assert chosen(task=str(path), code="x").task.reference == PROBLEM


def test_a_prompts_reference_comes_before_a_name_that_is_only_like_a_task_s():
    """An archive's row names its problem, of sizes that are its own; an answer's reference is not asked."""
    asked = f"Make this faster.\n{PROBLEM}"
    found = chosen(task_hint="39_L2Norm_", prompt=asked, reference=PROBLEM)
    assert (found.how, found.task.reference) == ("embedded", PROBLEM)
    assert chosen(task_hint="39_L2Norm_", reference=PROBLEM).task.name == "l2-norm"
    assert chosen(task_hint="l2-norm", prompt=asked, reference=PROBLEM).task.name == "l2-norm"


def test_an_answers_own_reference_is_said_to_be_one():
    assert "the author chose it" in chosen(prompt="Write softmax.", reference=PROBLEM).reason
    for prompt in (None, f"Make this faster.\n{PROBLEM}"):
        assert "the prompt holds" in chosen(prompt=prompt, reference=PROBLEM).reason


def test_an_answer_completed_from_a_reference_answers_no_other_task(folder):
    ident = KernelBenchId(level=1, problem=39, sample=0)
    own = PROBLEM.replace("x * 2", "x * 3")
    given = Sample(id="s", origin="s.txt", format="jsonl", text="", kernelbench=ident)
    for bound, how in ((True, "embedded"), (False, "kernelbench")):
        extraction = Extraction(submission=None, reference=own, bound_to_reference=bound)
        found = choose(given, extraction, task=None, tasks_dir=folder)
        assert found.how == how
        assert found.task is not None
        assert (found.task.reference == own) == bound


def test_kernelbench_names(folder):
    ident = KernelBenchId(level=1, problem=39, sample=0)
    found = chosen(kernelbench=ident, tasks_dir=folder, reference=PROBLEM)
    assert (found.how, found.task.reference) == ("kernelbench", PROBLEM)
    assert found.task.workloads == ()
    found = chosen(kernelbench=ident)
    assert (found.how, found.task.name) == ("kernelbench", "l2-norm")
    broken = KernelBenchId(level=1, problem=7, sample=0)
    assert chosen(kernelbench=broken, tasks_dir=folder).task.name == "matmul"
    unknown = KernelBenchId(level=2, problem=7, sample=0)
    assert chosen(kernelbench=unknown, tasks_dir=folder, code="x = 1").task is None


@pytest.mark.parametrize(
    ("origin", "found"),
    [
        ("runs/gpt5_H100_39_L2Norm_.py.txt", "39_L2Norm_"),
        ("runs/39_l2norm-solution.py", "39_L2Norm_"),
        ("runs/139_L2Norm_.py", None),
        ("runs/L2Norm.py", None),
        ("39_L2Norm_/answer.py", "39_L2Norm_"),
        ("run/39_l2norm/code/kernel_20250822.py", "39_L2Norm_"),
        ("run/of_39_L2Norm_/code/kernel.py", None),
        ("39_L2Norm_/a/b/c/d/kernel.py", None),
    ],
)
def test_a_problem_named_within_a_longer_name(folder, origin, found):
    sample = Sample(id="s", origin=origin, format="python", text="x = 1")
    choice = choose(sample, extract(sample), task=None, tasks_dir=folder)
    assert (choice.task.name if choice.task else None) == found


@pytest.mark.parametrize(
    ("origin", "task"),
    [("34_InstanceNorm.py", "instance-norm"), ("34_ConvTranspose3d_LayerNorm_GELU_Scaling.py", None)],
)  # fmt: skip
def test_a_file_with_the_name_of_a_built_in_problem(origin, task):
    sample = Sample(id="s", origin=origin, format="python", text="x = 1")
    choice = choose(sample, extract(sample), task=None, tasks_dir=None)
    assert (choice.task.name if choice.task else None) == task


def test_a_folder_with_the_name_of_a_problem_that_has_no_number(tmp_path):
    (tmp_path / "gelu_softmax_small.py").write_text(PROBLEM)
    (tmp_path / "mm.py").write_text(PROBLEM)
    found = problem.find_called(tmp_path, "Gelu-Softmax-Small")
    assert found is not None
    assert found.stem == "gelu_softmax_small"
    assert problem.find_called(tmp_path, "gelu_softmax") is None
    assert problem.find_called(tmp_path, "mm") is None


def test_two_problems_in_one_name_are_none(tmp_path):
    for name in ("1_Relu_", "2_Gelu_"):
        (tmp_path / f"{name}.py").write_text(PROBLEM)
    assert problem.find_within(tmp_path, "1_relu_and_2_gelu.py") is None
    assert problem.find_within(tmp_path, "1_relu_.py").stem == "1_Relu_"
    assert problem.find_by_name(tmp_path, "level1/1_relu").stem == "1_Relu_"


def test_a_reference_in_the_prompt():
    found = chosen(reference=PROBLEM)
    assert (found.how, found.task.source) == ("embedded", "embedded")
    assert chosen(reference=PROBLEM, drafts=False).how == "inferred"
    assert chosen(reference="class Model: pass").how == "inferred"
    assert chosen(reference="not python at all (").how == "inferred"


def test_inference_and_none():
    found = chosen()
    assert (found.how, found.task.name) == ("inferred", "l2-norm")
    assert 0.6 < found.confidence < 1
    none = chosen(code="print('hello')")
    assert (none.how, none.task) == ("none", None)
    assert none.reason


def test_nothing_raises_on_an_empty_sample():
    sample = Sample(id="s", origin="s", format="transcript", text="")
    assert choose(sample, extract(sample), task=None, tasks_dir=None).task is None


def test_sizes_of_the_text_decide_what_is_nominal():
    task = builtin_tasks()["l2-norm"]
    fit = fit_sizes(task, {16384, 64})
    for workload in fit.workloads:
        if workload.role in {"nominal", "stress"}:
            assert all(n % 32 == 0 or n < 32 for n in workload.inputs[0].shape[1:])
    general = {w.inputs[0].shape for w in fit.workloads if w.role == "general"}
    assert (3, 65535) in general
    assert len({w.name for w in fit.workloads}) == len(fit.workloads)
    assert fit_sizes(task, {32768, 65535}) is task
    assert fit_sizes(task, ()) is task


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("dim = 16384", (3, 65536)),
        ("dim = 65535", (3, 65535)),
        ("block_size = 256", (3, 65535)),
        ("", (3, 65535)),
    ],
)
def test_sizes_are_read_from_the_text_but_not_from_launches(text, shape):
    found = chosen(code=f"{CODE}\n{text}\n")
    assert found.task.workloads[0].inputs[0].shape == shape
    assert found.task.workloads[0].name == "x".join(map(str, shape))


def test_a_problem_that_the_text_calls_by_its_name(folder):
    """An agent's log names the file that it was given; a cut-off prompt holds no reference."""
    (folder / "level1" / "40_LayerNorm.py").write_text(PROBLEM)
    log = "wafer evaluate --reference /root/KernelBench/level1/39_L2Norm_.py"
    found = chosen(tasks_dir=folder, prompt=log, code="x")
    assert (found.how, found.task.name) == ("kernelbench", "39_L2Norm_")
    assert "calls it by its name" in found.reason
    assert chosen(tasks_dir=folder, prompt=f"{log}, then 40_LayerNorm", code="x").how == "none"
    assert chosen(tasks_dir=folder, prompt=log, code="x", reference=PROBLEM).how == "embedded"
    assert chosen(prompt=log, code="x").how == "none"


def test_the_users_own_file_of_an_inferred_problem_is_taken(folder):
    """Who gives a folder of problems is graded by them, not by a built-in task of the same kind."""
    found = chosen(tasks_dir=folder)
    assert (found.how, found.task.name) == ("inferred", "39_L2Norm_")
    assert found.task.reference == PROBLEM
    (folder / "level1" / "39_L2Norm_.py").rename(folder / "level1" / "39_Else.py")
    assert chosen(tasks_dir=folder).task.name == "l2-norm"
    assert chosen(tasks_dir=folder, drafts=False).task.name == "l2-norm"


def test_a_name_that_is_no_task_counts_as_a_word_and_is_said():
    bare = CODE.replace("l2_norm", "kernel_of_mine")
    found = chosen(code=bare, task_hint="sofmax")
    assert found.task is None
    assert "it asks for 'sofmax', which is not a task (did you mean softmax" in found.reason
    loss = CODE.replace("l2_norm", "loss").replace(
        "forward(self, x)", "forward(self, predictions, targets)"
    )
    assert chosen(code=loss).task is None
    assert chosen(code=loss, task_hint="cross-entropy").task.name == "cross-entropy-loss"

"""Tasks as folders of the Harbor format (Terminal-Bench's successor): `kernel-grader export harbor DIR`.

NAME/task.toml              names, limits
NAME/instruction.md         what the agent is asked
NAME/environment/Dockerfile where it works: a compiler, PyTorch, no GPU, nothing of the grader's
NAME/tests/test.sh          installs the grader where the agent could not reach, and grades /app/answer.py
NAME/tests/problem.py       the problem, where it is none of the built-in tasks
NAME/solution/solve.sh      a kernel of ours that passes, where there is one; only an oracle run sees it
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from grader.errors import UsageError
from grader.repair.reference import reference_code
from grader.reward import Question, task_of

ANSWER = "/app/answer.py"
INSTRUCTION = """{prompt}

Write the module to `{answer}`. It is graded on {device}: it must build, be right for any inputs, and do the work in its own kernels. \
There is no GPU in this environment; `nvcc` compiles.
"""
TOML = """version = "1.0"
artifacts = ["/app/answer.py"]

[task]
name = "kernel-grader/{name}"
description = "A CUDA kernel for {title}"
keywords = ["cuda", "pytorch", "kernels"]

[metadata]
category = "gpu-kernels"
grader = "kernel-grader {version}"

[agent]
timeout_sec = 1800.0

[verifier]
timeout_sec = 1800.0
environment_mode = "separate"

[environment]
build_timeout_sec = 1800.0
cpus = 2
memory_mb = 8192
storage_mb = 20480
"""
DOCKERFILE = """FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu torch ninja \\
    'nvidia-cuda-nvcc>=13,<14' 'nvidia-cuda-runtime>=13,<14' 'nvidia-cuda-cccl>=13,<14'
WORKDIR /app
"""
TEST = """#!/bin/bash
# Grades the agent's answer. Without a reward file the trial is an error: a failure of the grader is not charged to the
# agent.
set -u
mkdir -p /logs/verifier
python3 -m venv --system-site-packages /opt/kernel-grader || exit 1
/opt/kernel-grader/bin/pip install -q 'kernel-grader=={version}' || exit 1
/opt/kernel-grader/bin/kernel-grader reward {answer} --task {task} --device {device} --to /logs/verifier
"""
SOLUTION = """#!/bin/bash
# A kernel for the task that has passed the grader's own examination.
cat > {answer} <<'END_OF_KERNEL'
{code}
END_OF_KERNEL
"""


def export(asked: Iterable[Question], folder: Path, device: str = "sim") -> tuple[Path, ...]:
    """Write a folder for each question; return them. Raises UsageError where one already exists."""
    return tuple(_write_folder(one, folder / one.name, device) for one in asked)


def _write_folder(question: Question, folder: Path, device: str) -> Path:
    if folder.exists():
        raise UsageError(f"{folder} already exists", "name a new folder")
    task = task_of(question.task)
    if task is None:
        raise UsageError(f"{question.name} is not a task")
    given = "\n" in question.task
    known, where = version("kernel-grader"), {"sim": "a simulator of a GPU"}.get(device, "a GPU")
    texts = {
        "task.toml": TOML.format(name=question.name, title=_quote_text(task.title), version=known),
        "instruction.md": INSTRUCTION.format(prompt=question.prompt, answer=ANSWER, device=where),
        "environment/Dockerfile": DOCKERFILE,
        "tests/test.sh": TEST.format(
            version=known,
            answer=ANSWER,
            task="/tests/problem.py" if given else task.name,
            device=device,
        ),
    }
    if given:
        texts["tests/problem.py"] = question.task
    code = reference_code(task)
    if code is not None:
        texts["solution/solve.sh"] = SOLUTION.format(answer=ANSWER, code=code.rstrip())
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        path.chmod(0o755 if path.suffix == ".sh" else 0o644)
    return folder


def _quote_text(text: str) -> str:
    return text.replace("\\", " ").replace('"', "'").replace("\n", " ")

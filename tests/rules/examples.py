"""A rule's examples, as whole submissions with what is known of them."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from pydantic import TypeAdapter

from grader.records import Context, Evidence, KernelResources, Launch, LineCount, Task
from grader.rules.page import INDEX, file_of
from grader.rules.page_file import SECTION
from grader.rules.registry import own_rules
from tests.rules.known_gradients import context_of_gradients

WHOLE = ("import torch", "load_inline", "class ModelNew", "def get_inputs")
"""What a whole submission has one of; another example is a CUDA snippet."""
BLOCK = re.compile(
    r"^(?P<fence>`{3,})(?P<kind>\w[\w ]*)\n(?P<text>.*?)\n(?P=fence)$", re.MULTILINE | re.DOTALL
)
EVIDENCE: TypeAdapter[tuple[Evidence, ...]] = TypeAdapter(tuple[Evidence, ...])
COUNTS: TypeAdapter[tuple[LineCount, ...]] = TypeAdapter(tuple[LineCount, ...])
LAUNCHES: TypeAdapter[tuple[Launch, ...]] = TypeAdapter(tuple[Launch, ...])
RESOURCES: TypeAdapter[tuple[KernelResources, ...]] = TypeAdapter(tuple[KernelResources, ...])
HOST_FUNCTION = re.compile(
    r"^((?:std::vector<)?(?:torch|at)::Tensor>?|void|int64_t|double)\s+(\w+)\s*\(([^{;]*)\)\s*\{",
    re.MULTILINE,
)
TEMPLATE = '''import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
{includes}{text}
"""

cpp_source = """
{prototypes}
"""

extension = load_inline(
    name="example_rows_extension",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions={names},
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return {call}
'''
INCLUDES = "#include <torch/extension.h>\n#include <cuda_runtime.h>\n"


@dataclass(frozen=True)
class Submitted:
    """An example as a whole submission."""

    code: str
    context: Context


@dataclass(frozen=True)
class Example:
    """A submission or a CUDA snippet as a page has it, with what is known of it."""

    code: str
    reference: str = ""
    """The text of the task's reference."""
    known: str = ""
    """Other facts, as JSON: evidence, a task, counts."""


def each(code: str, kind: Literal["Bad", "Good"]) -> tuple[Submitted, ...]:
    """Return the examples of a rule's page, snippets wrapped into submissions."""
    page = (INDEX.parent / file_of(own_rules()[code])).read_text(encoding="utf-8")
    every = examples_of(page, kind)
    return tuple(Submitted(as_submission(one.code), context_of(one)) for one in every)


def examples_of(page: str, kind: Literal["Bad", "Good"]) -> Iterator[Example]:
    """Yield the examples of a section, each with the blocks of what is known beside it."""
    _, *sections = SECTION.split(page)
    section = dict(zip(sections[::2], sections[1::2], strict=True))[kind]
    blocks = [(one["kind"].partition(" ")[2], one["text"]) for one in BLOCK.finditer(section)]
    starts = [at for at, (fact, _) in enumerate(blocks) if not fact]
    for start, end in pairwise([*starts, len(blocks)]):
        facts = {fact: f"{text}\n" for fact, text in blocks[start + 1 : end]}
        yield Example(blocks[start][1], **facts)


def context_of(example: Example) -> Context:
    """Return what is known beside an example's text: the task's reference, or what a block of JSON says."""
    facts = json.loads(example.known or "{}")
    if "gradients" in facts:
        return context_of_gradients(**facts["gradients"])
    task = Task.model_validate(facts["task"]) if "task" in facts else None
    return Context(
        task=beside(example.reference).task if example.reference else task,
        evidence=EVIDENCE.validate_python(facts.get("evidence", ())),
        counts=COUNTS.validate_python(facts.get("counts", ())),
        launches=LAUNCHES.validate_python(facts.get("launches", ())),
        resources=RESOURCES.validate_python(facts.get("resources", ())),
    )


def beside(reference: str) -> Context:
    """Return the context of an example whose task has this reference."""
    return Context(task=Task(name="t", title="t", source="file", reference=reference, workloads=()))


def as_submission(code: str) -> str:
    """Wrap a CUDA snippet into a submission with `load_inline`; leave a submission as it is.

    Host functions of the snippet that start a line are declared and bound; the first of them is
    what `forward` calls, with one `x` for each tensor and `1` for each number. Snippets without an
    include get torch's and CUDA's.
    """
    if any(mark in code for mark in WHOLE):
        return code
    hosts = [match.groups() for match in HOST_FUNCTION.finditer(code)]
    prototypes = "\n".join(f"{kind} {name}({_one_line(args)});" for kind, name, args in hosts)
    names = [name for _, name, _ in hosts]
    call = f"extension.{names[0]}({_arguments(hosts[0][2])})" if names else "extension"
    text = code.strip("\n")
    includes = "" if "#include" in text else INCLUDES
    return TEMPLATE.format(
        includes=includes, text=text, prototypes=prototypes, names=names, call=call
    )


def _one_line(arguments: str) -> str:
    return " ".join(arguments.split())


def _arguments(parameters: str) -> str:
    parts = [part.strip() for part in parameters.split(",") if part.strip()]
    return ", ".join("x" if "Tensor" in part else "1" for part in parts)

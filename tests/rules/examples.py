"""A rule's examples, as whole submissions with what is known of them."""

import json
import re
from dataclasses import dataclass

from pydantic import TypeAdapter

from grader.records import Context, Evidence, KernelResources, Launch, LineCount, Task
from grader.rules.rule import WHOLE, Example, Examples
from tests.rules.known_gradients import context_of_gradients

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


def each(examples: Examples) -> tuple[Submitted, ...]:
    """Return the examples one by one, snippets wrapped into submissions."""
    several = examples if isinstance(examples, tuple) else (examples,)
    every = (Example(one) if isinstance(one, str) else one for one in several)
    return tuple(Submitted(as_submission(one.code), context_of(one)) for one in every)


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

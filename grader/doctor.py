"""What this machine has, and what each missing piece costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from grader import sandbox
from grader.build.toolchain import discover
from grader.config import Options
from grader.devices import cuda_gpus
from grader.errors import GraderError


@dataclass(frozen=True)
class Item:
    """One thing that a machine may have."""

    what: str
    ok: bool
    found: str
    advice: str = ""


def examine(options: Options) -> Iterator[Item]:
    """Yield what was looked for, in the order in which a grading needs it."""
    toolchain = discover()
    for what, found in toolchain.found:
        yield Item(what, ok=True, found=found)
    for what, costs, hint in toolchain.missing:
        yield Item(what, ok=False, found="", advice=f"{costs} {hint}".strip())
    yield _gpu()
    yield from _sandboxes(options)


def _gpu() -> Item:
    gpus = cuda_gpus()
    if gpus:
        return Item("GPU", ok=True, found=", ".join(gpus))
    return Item(
        "GPU",
        ok=False,
        found="none",
        advice="Kernels run on the CPU simulator; no times are measured.",
    )


def _sandboxes(options: Options) -> Iterator[Item]:
    try:
        best = sandbox.strongest(unsafe=options.unsafe_no_sandbox)
    except GraderError as error:
        yield Item("sandbox", ok=False, found="", advice=str(error))
        return
    lacks = f"not covered: {', '.join(best.lacks)}" if best.lacks else ""
    yield Item("sandbox", ok=True, found=best.name, advice=lacks)

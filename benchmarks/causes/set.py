"""Wrong programs whose cause is known: seeded defects, and answers written as models write them; parts by when they were written."""

from __future__ import annotations

import difflib
import hashlib
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
KERNELS = FOLDER.parent.parent / "tests" / "corpus" / "kernels"


@dataclass(frozen=True)
class Wrong:
    """A wrong program, and the lines at which its cause stands."""

    name: str
    kind: str
    code: str
    lines: frozenset[int]
    written: bool
    """Whether it was written as an answer, and not made from a right one."""
    half: int
    """1: what rules are tuned on; 2: what they were measured on, and since then tuned; 3: written later, CUDA and Triton; 4: Triton, later still; 5: CUDA and Triton; 6: Triton, after all of these; 7: CUDA and Triton, written before the runs under changes; 8: CUDA and Triton, more of host code, after them; 9: Triton, later still; 10: CUDA and Triton, of all kinds; 11: Triton, after the fixes of 9; 12: CUDA and Triton, of kinds that the others have few of; 13: Triton, half of them with their cause in host code; 14: Triton, what weaker models get wrong, a quarter of them errors of the compiler; 15: CUDA and Triton, of all kinds, after runs of launches alone; 16: Triton, values that hosts hand over, half-precision sums, weights in another order; 17: CUDA and Triton, most of order and of formulas."""

    @property
    def task(self) -> str:
        """What was asked: the name of a built-in task, or the text of a problem."""
        name = self.code.splitlines()[0].removeprefix("# task: ").strip()
        return _problems().get(name, name)

    @property
    def order(self) -> str:
        """In which it comes, so that the first so many are a sample of all."""
        return hashlib.sha256(self.name.encode()).hexdigest()[2:]


@cache
def _problems() -> dict[str, str]:
    return {
        name: text
        for part in ("fourteenth", "sixteenth")
        for name, text in tomllib.loads(
            (FOLDER / f"{part}_problems.toml").read_text("utf-8")
        ).items()
    }


def wrong_programs() -> Iterator[Wrong]:
    """Yield all of them, in a fixed order."""
    yield from _seeded()
    yield from _answers("answers.txt")
    yield from _answers("third.txt", half=3)
    yield from _answers("fourth.txt", half=4)
    yield from _answers("fifth.txt", half=5)
    yield from _answers("sixth.txt", half=6)
    yield from _answers("seventh.txt", half=7)
    yield from _answers("eighth.txt", half=8)
    yield from _answers("ninth.txt", half=9)
    yield from _answers("tenth.txt", half=10)
    yield from _answers("eleventh.txt", half=11)
    yield from _answers("twelfth.txt", half=12)
    yield from _answers("thirteenth.txt", half=13)
    yield from _answers("fourteenth.txt", half=14)
    yield from _answers("fifteenth.txt", half=15)
    yield from _answers("sixteenth.txt", half=16)
    yield from _answers("seventeenth.txt", half=17)


def right_programs() -> Iterator[Wrong]:
    """Yield right programs that look like the wrong ones of parts 6, 9, 11, 13, 14 and 16, and those of parts 10 and 12 to 17 put right: they have no cause, and no error should be named."""
    yield from _right("sixth_right.txt", half=6)
    yield from _right("ninth_right.txt", half=9)
    yield from _put_right("tenth.txt", "tenth_right.toml", half=10)
    yield from _right("eleventh_right.txt", half=11)
    yield from _put_right("twelfth.txt", "twelfth_right.toml", half=12)
    yield from _right("thirteenth_right.txt", half=13)
    yield from _put_right("thirteenth.txt", "thirteenth_right.toml", half=13)
    yield from _right("fourteenth_right.txt", half=14)
    yield from _put_right("fourteenth.txt", "fourteenth_right.toml", half=14)
    yield from _put_right("fifteenth.txt", "fifteenth_right.toml", half=15)
    yield from _right("sixteenth_right.txt", half=16)
    yield from _put_right("sixteenth.txt", "sixteenth_right.toml", half=16)
    yield from _put_right("seventeenth.txt", "seventeenth_right.toml", half=17)


def _right(file: str, half: int) -> Iterator[Wrong]:
    for part in (FOLDER / file).read_text("utf-8").split("=== ")[1:]:
        head, _, text = part.partition("\n")
        name, task = (word.strip() for word in head.split(" | "))
        kernels, _, model = text.partition("---\n")
        yield Wrong(
            name,
            "right",
            _triton_module(name, task, kernels, model),
            frozenset(),
            written=True,
            half=half,
        )


def _put_right(file: str, fixes: str, half: int) -> Iterator[Wrong]:
    known = tomllib.loads((FOLDER / fixes).read_text("utf-8"))["fixes"]
    for wrong in _answers(file, half):
        code = wrong.code
        for old, new in (fix[1:] for fix in known if fix[0] == wrong.name):
            if old not in code:
                raise ValueError(f"{wrong.name}: not in it: {old!r}")
            code = code.replace(old, new)
        yield replace(wrong, kind="right", code=code, lines=frozenset())


def _half(name: str) -> int:
    return 1 + hashlib.sha256(name.encode()).digest()[0] % 2


def _seeded() -> Iterator[Wrong]:
    seen: dict[str, int] = {}
    for kernel, kind, old, new in tomllib.loads((FOLDER / "seeded.toml").read_text())["defects"]:
        name = f"{kernel}--{kind}"
        seen[name] = seen.get(name, 0) + 1
        right = (KERNELS / f"{kernel}.py").read_text("utf-8")
        code = _replaced(right, old, new)
        name = f"{name}-{seen[name]}"
        yield Wrong(name, kind, code, _changed(right, code), written=False, half=_half(name))


def _replaced(code: str, old: str, new: str) -> str:
    text, _, nth = old.rpartition("@") if re.search(r"@\d$", old) else (old, "", "1")
    parts = code.split(text)
    if len(parts) <= int(nth):
        raise ValueError(f"not in the kernel: {old!r}")
    at = len(text.join(parts[: int(nth)]))
    return code[:at] + new + code[at + len(text) :]


def _changed(right: str, wrong: str) -> frozenset[int]:
    matcher = difflib.SequenceMatcher(None, right.splitlines(), wrong.splitlines(), autojunk=False)
    changed = (code for code in matcher.get_opcodes() if code[0] != "equal")
    return frozenset(n for _, _, _, j1, j2 in changed for n in range(j1 + 1, max(j2, j1 + 1) + 1))


def _answers(file: str, half: int = 0) -> Iterator[Wrong]:
    """Yield the answers; each says its task, its kind of defect and a text that only the cause's line has."""
    for part in (FOLDER / file).read_text("utf-8").split("=== ")[1:]:
        head, _, text = part.partition("\n")
        name, task, kind, cause = (word.strip() for word in head.split(" | "))
        kernels, _, model = text.partition("---\n")
        module = _triton_module if "@triton.jit" in kernels else _module
        code = module(name, task, kernels, model)
        lines = frozenset(n for n, line in enumerate(code.splitlines(), 1) if cause in line)
        if not lines:
            raise ValueError(f"{name}: no line has {cause!r}")
        yield Wrong(name, kind, code, lines, written=True, half=half or _half(name))


def _module(name: str, task: str, kernels: str, model: str) -> str:
    host = re.search(
        r"^(?:torch::|std::vector<torch::)Tensor>? run\(.*\)(?= \{$)", kernels, re.MULTILINE
    )
    declared = host[0] if host else ""
    return f'''# task: {task}
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

{kernels}"""

ext = load_inline(name="{name}", cpp_sources="{declared};", cuda_sources=cuda_source, functions=["run"])


class ModelNew(nn.Module):
{model}'''


def _triton_module(_name: str, task: str, kernels: str, model: str) -> str:
    return f"""# task: {task}
import torch
import torch.nn as nn
import triton
import triton.language as tl


{kernels}

class ModelNew(nn.Module):
{model}"""

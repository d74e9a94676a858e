"""Clues in a sample's text and code to the task that it answers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from grader.languages import read
from grader.records import Extraction, Sample
from grader.source import FunctionNode, Source, parse

ENTRY_CLASS = "ModelNew"
_CAMEL = re.compile(
    r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z]{3})(?=\d)|(?<=\d)(?=[A-Za-z]{3})"
)
_WORD = re.compile(r"[a-z0-9]+")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|#[^\n]*", re.DOTALL)
_NUMBERED = re.compile(r"\b([A-Za-z_]\w*)\s*=\s*(\d{1,9})\b(?!\s*[.*])")
_LAUNCH = re.compile(
    r"block|thread|tile|warp|grid|shared|smem|stride|vec|unroll|chunk", re.IGNORECASE
)
"""Names for launch parameters, not for sizes of the problem."""
_DOCSTRING_LIMIT = 20_000


@dataclass(frozen=True)
class Clues:
    """Words by their place in the sample; see `words_of` for their form."""

    names: str
    """Names of kernels, C++ functions, extensions and the variables they are bound to."""
    comments: str
    """Comments of the code."""
    documented: str
    """Docstrings of the code: ModelNew's is often the reference's own."""
    before: str
    """Prose before the code: the prompt, or the plan."""
    after: str
    """Prose after the code."""
    formulas: str
    """Prompt, plan and Python code without white space, case kept."""
    body: str
    """Code for the device without white space and comments."""
    constructor: tuple[str, ...] | None
    """Parameters of ModelNew's constructor without `self`; None where there is no such class."""
    required: int
    """Number of them without a default."""
    forward: tuple[str, ...] | None
    """Arguments of ModelNew's `forward` without `self`; None where unknown."""
    modules: frozenset[str]
    """`nn` modules that ModelNew constructs, e.g. `Conv2d`."""
    calls: frozenset[str]
    """torch functions that ModelNew calls, e.g. `relu`."""
    sizes: frozenset[int]
    """Numbers of 32 and more that name a size of the problem, e.g. `dim = 16384`."""


def words_of(text: str) -> str:
    """Return the lower-case words of a text, identifiers split, with one space between them.

    >>> words_of("l2NormKernel(float* x), RMSNorm")
    'l2 norm kernel float x rms norm'
    """
    return " ".join(_WORD.findall(_CAMEL.sub(" ", text.replace("_", " ")).lower()))


def gather(sample: Sample, extraction: Extraction) -> Clues:
    """Return the clues of a sample; never raises."""
    code = extraction.submission.code if extraction.submission else ""
    source = parse(code)
    before = "\n".join([sample.prompt or "", *_prose(extraction, before=True)])
    constructor = source.module.method("__init__", ENTRY_CLASS)
    return Clues(
        names=words_of(" . ".join((sample.task_hint or "", *_names(source)))),
        comments=words_of("\n".join(_comments(source))),
        documented=words_of("\n".join(_docstrings(source))),
        before=words_of(before),
        after=words_of("\n".join(_prose(extraction, before=False))),
        formulas=re.sub(r"\s+", "", before + "\n" + _python_only(source)),
        body=_body(source),
        constructor=_constructor(source, constructor),
        required=_required_arguments(constructor),
        forward=_forward(source.module.method("forward", ENTRY_CLASS)),
        modules=frozenset(_called_functions(source, "torch.nn.", ENTRY_CLASS)),
        calls=frozenset(_called_functions(source, "torch.", ENTRY_CLASS)),
        sizes=frozenset(_sizes(before + "\n" + _python_only(source))),
    )


def _prose(extraction: Extraction, *, before: bool) -> Iterator[str]:
    return (item.text for item in extraction.prose if item.before_code == before)


def _names(source: Source) -> Iterator[str]:
    for reading in read(source):
        yield from reading.names
    yield from source.module.classes.keys() - {ENTRY_CLASS, "Model"}


def _comments(source: Source) -> Iterator[str]:
    for reading in read(source):
        for one in reading.texts:
            yield from _COMMENT.findall(one.text)
    yield from (match for line in source.lines for match in re.findall(r"#[^\n]*", line))


def _docstrings(source: Source) -> Iterator[str]:
    for node in source.walk(ast.AST):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield (ast.get_docstring(node) or "")[:_DOCSTRING_LIMIT]


def _body(source: Source) -> str:
    texts = (one for reading in read(source) for one in reading.texts)
    return re.sub(r"\s+", "", "".join(one.plain for one in texts if one.has_kernels))


def _python_only(source: Source) -> str:
    """Return the Python text without its long strings, where CUDA would look like a formula."""
    return re.sub(r"(?s)(\"{3}|'{3}).*?\1", "", source.code)


def _constructor(source: Source, node: FunctionNode | None) -> tuple[str, ...] | None:
    if ENTRY_CLASS not in source.module.classes:
        return None
    return _argument_names(node) if node is not None else ()


def _argument_names(node: FunctionNode) -> tuple[str, ...]:
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return tuple(argument.arg for argument in every[1:])


def _required_arguments(node: FunctionNode | None) -> int:
    if node is None:
        return 0
    return max(len(node.args.posonlyargs + node.args.args) - 1 - len(node.args.defaults), 0)


def _forward(node: FunctionNode | None) -> tuple[str, ...] | None:
    if node is None or node.args.vararg is not None:
        return None
    return _argument_names(node)


def _called_functions(source: Source, prefix: str, owner: str) -> Iterator[str]:
    if owner not in source.module.classes:
        return
    for node in ast.walk(source.module.classes[owner]):
        if isinstance(node, ast.Call):
            name = source.module.canonical(node.func)
            if name.startswith(prefix):
                yield name.rsplit(".", 1)[-1]


def _sizes(text: str) -> Iterator[int]:
    for name, number in _NUMBERED.findall(text):
        if 32 <= int(number) < 2**31 and not _LAUNCH.search(name):
            yield int(number)


@cache
def _over_whole_words(pattern: str) -> tuple[str, re.Pattern[str]]:
    """Return the letters that a pattern begins with, and the pattern over whole words.

    Cached here, since there are more patterns than `re` caches by itself.
    """
    found = re.match(r"[a-z0-9]*", pattern)
    start = found.group() if found else ""
    if pattern[len(start) : len(start) + 1] in {"?", "*", "{"}:
        start = start[:-1]
    if "|" in re.sub(r"\(.*?\)", "", pattern):
        start = ""
    return start, re.compile(rf"\b(?:{pattern})\b")


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return a pattern of formulas or code, compiled once."""
    return re.compile(pattern)


def share(patterns: Sequence[str], text: str) -> float:
    """Return how well a text names an operation: 0 to about 1.5.

    More words in one name weigh more (`log softmax` over `softmax`), and so does naming it again,
    with less and less weight.
    """
    best = 0.0
    for pattern in patterns:
        start, whole = _over_whole_words(pattern)
        if start not in text:
            continue
        found = [match.group() for match in whole.finditer(text)]
        if found:
            longest = max(match.count(" ") for match in found)
            best = max(best, (1 - 0.5 ** len(found)) * (1 + 0.25 * min(longest, 2)))
    return best

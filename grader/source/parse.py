"""From text to `Source`."""

import ast
import re
import threading
import warnings
from collections.abc import Sequence
from functools import lru_cache

from grader.source.evaluate import Evaluator
from grader.source.extensions import Extension, ExtensionReader
from grader.source.literals import scan_literals
from grader.source.positions import Positions
from grader.source.python_code import PythonCode, index_python
from grader.source.scopes import nodes_under
from grader.source.source import PythonError, Source
from grader.source.text import Text
from grader.source.units import Unit

MAX_CODE = 2_000_000
"""Most characters of a program parsed as Python, whose trees take a kilobyte for each statement."""
MAX_BRACES = 20_000
"""Most braces of a program with f-strings, since Python 3.11 parses their holes in quadratic time."""

MAX_MENTIONS = 20
MAX_HEAD = 4000
"""Most characters between `__global__` and the kernel's body."""

_FSTRING = re.compile(r"\b[rR]?[fF][rR]?[\"']")
_warnings_lock = threading.Lock()


@lru_cache(maxsize=64)
def parse(code: str) -> Source:
    """Read a submission; never raises, never runs any of it.

    Unreadable parts are left out: a text that is not Python has an empty `module` and a `syntax_error`, and its strings
    are still searched for kernels.
    """
    code = code.replace("\r\n", "\n").replace("\r", "\n")
    positions = Positions(code)
    tree, error = read_python(code)
    module = index_python(tree or ast.Module(body=[], type_ignores=[]))
    if tree is None:
        return _without_python(code, positions, module, error)
    evaluator = Evaluator.of(positions, tree)
    reader = ExtensionReader(evaluator, module)
    try:
        extensions = tuple(reader.read(tree))
        loose = _loose(extensions, evaluator, nodes_under(tree))
    except RecursionError:
        return _without_python(code, positions, module, None)
    units = list(dict.fromkeys(unit for one in extensions for unit in one.cuda))
    units += [reader.unit(text, "cuda") for text in loose]
    cpp = tuple(dict.fromkeys(unit for one in extensions for unit in one.cpp))
    return Source(code, positions, module, None, extensions, tuple(units), cpp)


@lru_cache(maxsize=4)
def read_python(code: str) -> tuple[ast.Module | None, PythonError | None]:
    """Parse Python, or return the syntax error. The tree is shared and must not be changed."""
    if len(code) > MAX_CODE:
        return None, PythonError(f"longer than {MAX_CODE} characters", 1, 0, "")
    if code.count("{") > MAX_BRACES and _FSTRING.search(code):
        return None, PythonError(f"f-strings and more than {MAX_BRACES} braces", 1, 0, "")
    try:
        # an invalid escape such as "\d" warns; the lock because filters belong to the process
        with _warnings_lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code), None
    except SyntaxError as error:
        line = error.lineno or 1
        return None, PythonError(error.msg, line, max((error.offset or 1) - 1, 0), error.text or "")
    except (ValueError, OverflowError) as error:
        return None, PythonError(str(error), 1, 0, "")
    except (RecursionError, MemoryError):
        return None, PythonError("nested too deeply for Python's parser", 1, 0, "")


def _without_python(
    code: str, positions: Positions, module: PythonCode, error: PythonError | None
) -> Source:
    texts = [text for text in scan_literals(code) if _is_cuda(text)]
    units = tuple(Unit("cuda", text, positions) for text in dict.fromkeys(texts))
    return Source(code, positions, module, error, (), units, ())


def _loose(
    extensions: tuple[Extension, ...], evaluator: Evaluator, nodes: Sequence[ast.AST]
) -> list[Text]:
    """Return texts with kernels that no visible call uses, where some call is unclear."""
    if extensions and all(one.complete and one.cuda for one in extensions):
        return []
    known = [unit.text for one in extensions for unit in one.units]
    return [
        text
        for text in dict.fromkeys(_string_constants(evaluator, nodes))
        if _is_cuda(text) and not any(text.value in other for other in known)
    ]


def _is_cuda(text: Text) -> bool:
    """Whether a text has a kernel with a body, rather than a mention of one."""
    at = -1
    for _ in range(MAX_MENTIONS):
        at = text.value.find("__global__", at + 1)
        if at < 0:
            return False
        head, brace, _ = text.value[at : at + MAX_HEAD].partition("{")
        if brace and "(" in head and ";" not in head:
            return True
    return False


def _string_constants(evaluator: Evaluator, nodes: Sequence[ast.AST]) -> list[Text]:
    docstrings = _docstrings(nodes)
    values = [
        evaluator.value(node, evaluator.module)
        for node in nodes
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and "__global__" in node.value
        )
        or isinstance(node, ast.JoinedStr)
        if node not in docstrings
    ]
    return [value for value in values if isinstance(value, Text)]


def _docstrings(nodes: Sequence[ast.AST]) -> set[ast.AST]:
    """Return strings that are whole statements, which no program can use."""
    return {node.value for node in nodes if isinstance(node, ast.Expr)}

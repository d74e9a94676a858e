"""A PTX module: variables, functions, and the places of their source lines."""

from __future__ import annotations

import re
from array import array

from .body import Body
from .locations import Locations
from .operands import Pool, Scope
from .program import SPACES, Function, Parameter, Program, Token, Variable
from .variables import declared_variables

_COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_FILE = re.compile(r'\.file\s+(\d+)\s+"([^"\n]*)"')
_LINE = re.compile(r"\s*\.(?:version|target|address_size|file|loc)\b[^\n]*")
_HEADER = re.compile(r"\s*((?:\.\w+\s+)*?)\.(entry|func)\b\s*")
_SECTION = re.compile(r"\s*\.section\s+\S+\s*\{[^}]*\}")
_VARIABLE = re.compile(r"\s*((?:\.\w+\s+(?:\d+\s+)?)+)([^;]*);")
_NAMED = re.compile(r"(?:\(([^)]*)\)\s*)?([\w$]+)\s*(?:\(([^)]*)\))?\s*([^{;]*)", re.DOTALL)
_OTHER = re.compile(r"\s*[^;{\s][^;{\n]*;?")
_POINTER = re.compile(r"\.ptr\b(?:\s*\.(?:global|const|shared|local)\b)?(?:\s*\.align\s+\d+)?")
_PARAMETER = re.compile(r"((?:\.\w+\s+(?:\d+\s+)?)+)([\w$]+\s*(?:\[\s*\d*\s*\])?)")


class DecodeError(ValueError):
    """The text is not PTX that nvcc writes."""


def decode(ptx: str, own: str = "cuda.cu", *, of_blocks: bool = False) -> Program:
    """Decode a PTX module as `nvcc -ptx -lineinfo` writes it.

    `own` is the base name of the submission's file, whose lines findings are to name; `of_blocks` as in `Program`.
    Unreadable instructions become ones that the interpreter reports as unsupported when it executes them.

    Raises DecodeError where the text as a whole has no structure of a module.
    """
    try:
        program = _Module(ptx).program(own)
    except (ValueError, KeyError, IndexError, OverflowError) as error:
        raise DecodeError(str(error)) from error
    program.of_blocks = of_blocks
    return program


class _Module:
    def __init__(self, ptx: str) -> None:
        self._pool = Pool()
        self._locations = Locations()
        self._variables: list[Variable] = []
        self._functions: list[Function] = []
        self._names: dict[str, tuple[int, ...]] = {}
        self._files = {int(number): name for number, name in _FILE.findall(ptx)}
        self._text = _COMMENT.sub(_without, ptx)

    def program(self, own: str) -> Program:
        position, end = 0, len(self._text)
        while position < end and self._text[position:].lstrip()[:1]:
            position = self._item(position)
        files, locations = self._locations.table(self._files, own)
        return Program(
            list(self._pool.strings), array("Q", self._pool.constants), files, locations,
            self._variables, self._functions,
        )  # fmt: skip

    def _item(self, position: int) -> int:
        """Decode one item at module level; return its end."""
        text = self._text
        for pattern in (_LINE, _SECTION):
            match = pattern.match(text, position)
            if match:
                return match.end()
        header = _HEADER.match(text, position)
        if header:
            return self._function(header[2] == "entry", header.end())
        match = _VARIABLE.match(text, position)
        if match:
            if any(f".{space}" in match[1] for space in ("global", "const", "shared")):
                for variable in declared_variables(match[1], match[2], -1):
                    self._add(variable)
            return match.end()
        match = _OTHER.match(text, position)
        return match.end() if match else position + 1

    def _add(self, variable: Variable) -> int:
        number = len(self._variables)
        if variable.function < 0:
            known = self._names.get(variable.name)
            words = (Token.VAR << 28 | number, self._pool.constant(0))
            if known is not None and known[0] >> 28 == Token.VAR:
                if variable.external:
                    return known[0] & 0xFFFFFFF
                self._variables[known[0] & 0xFFFFFFF] = variable
                return known[0] & 0xFFFFFFF
            self._names[variable.name] = words
        self._variables.append(variable)
        return number

    def _function(self, entry: bool, position: int) -> int:
        match = _NAMED.match(self._text, position)
        if match is None:
            raise ValueError("a function without a name")
        returns, name, parameters, attributes = match.groups()
        words = self._names.get(name)
        if words is None:
            index = len(self._functions)
            self._functions.append(Function(name, entry))
            self._names[name] = (Token.FUNC << 28 | index,)
        else:
            index = words[0] & 0xFFFFFFF
        function = self._functions[index]
        scope = Scope(function, self._names, self._pool)
        function.returns = self._formals(returns, index, scope, entry=False)
        function.parameters = self._formals(parameters, index, scope, entry)
        _bounds(function, attributes)
        place = match.end()
        if self._text[place : place + 1] != "{":
            return place + 1
        end = _closing_bracket(self._text, place)
        function.defined = True
        body = Body(
            function=function, scope=scope, pool=self._pool, locations=self._locations,
            add_variable=self._add, index=index,
        )  # fmt: skip
        body.decode(self._text[place + 1 : end])
        return end + 1

    def _formals(
        self, text: str | None, index: int, scope: Scope, entry: bool
    ) -> tuple[Parameter, ...]:
        """Lay parameters out in order, each at its alignment."""
        offset, formals = 0, []
        for piece in (text or "").split(","):
            match = _PARAMETER.match(_clean(piece))
            if match is None:
                continue
            for variable in declared_variables(match[1], match[2], index):
                space = SPACES["entry"] if entry else variable.space
                number = len(self._variables)
                self._variables.append(
                    Variable(variable.name, space, variable.align, variable.size, index)
                )
                offset = -(-offset // variable.align) * variable.align
                formals.append(Parameter(number, offset, variable.size, variable.align))
                scope.declare(variable.name, (Token.VAR << 28 | number, self._pool.constant(0)))
                offset += variable.size
        return tuple(formals)


def _clean(piece: str) -> str:
    """Drop `.ptr .global .align 4` of a pointer parameter: only its own type counts."""
    return _POINTER.sub("", piece).strip()


def _without(match: re.Match[str]) -> str:
    return match[0] if match[0][0] == '"' else " "


def _bounds(function: Function, attributes: str) -> None:
    for name, values in re.findall(r"\.(maxntid|reqntid)\s+([\d\s,]+)", attributes):
        extents = [int(value) for value in re.findall(r"\d+", values)][:3]
        extents += [1] * (3 - len(extents))
        function.max_threads = extents[0] * extents[1] * extents[2]
        if name == "reqntid":
            function.required = (extents[0], extents[1], extents[2])


def _closing_bracket(text: str, place: int) -> int:
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, place):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    raise ValueError("a brace is not closed")

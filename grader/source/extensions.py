"""Each `load_inline()` or `load()` call of a program, with its readable arguments."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from grader.source.evaluate import Evaluator
from grader.source.functions import Function
from grader.source.placed_text import UnitLanguage
from grader.source.python_code import PythonCode
from grader.source.scopes import FunctionNode, Scope, call_scope, dotted_name, read_scope
from grader.source.text import Text, Value
from grader.source.units import Unit

PARAMETERS = {
    "load_inline": ("name", "cpp_sources", "cuda_sources"),
    "load": ("name", "sources", "extra_cflags", "extra_cuda_cflags", "extra_ldflags"),
}
"""Names of the positional parameters whose order is the same in every release of torch."""

CUDA_PRELUDE = ("#include <torch/types.h>", "#include <cuda.h>", "#include <cuda_runtime.h>")
"""Lines that load_inline puts before `cuda_sources` in cuda.cu."""
CPP_PRELUDE = ("#include <torch/extension.h>",)
"""Line that load_inline puts before `cpp_sources` in main.cpp."""

MAX_CALLS = 16
"""Most calls of one helper function that are followed."""
MAX_SITES = 64
"""Most calls of load_inline in one program."""


@dataclass(frozen=True, eq=False)
class Extension:
    """One call that builds an extension."""

    call: str
    """`load_inline` or `load`."""
    name: str | None
    """The extension's name, where it can be read."""
    variable: str | None
    """Python name that the module is bound to (`self.ops` for an attribute)."""
    functions: tuple[str, ...] | None
    """Exported functions; None where they aren't given or can't be read."""
    cuda: tuple[Unit, ...]
    cpp: tuple[Unit, ...]
    complete: bool
    """Whether all sources could be read."""
    keywords: Mapping[str, ast.expr]
    """Arguments by parameter name, positional ones included."""
    cflags: tuple[str, ...] | None
    """None for an unresolvable flag."""
    cuda_cflags: tuple[str, ...] | None
    ldflags: tuple[str, ...] | None
    preluded: bool
    """Whether torch puts its own include lines first (`no_implicit_headers` is not set)."""
    inside_try: bool
    in_function: str | None
    """Name of the function or method that builds it; None at import."""
    node: ast.Call

    @property
    def units(self) -> tuple[Unit, ...]:
        """CUDA units, then C++ units."""
        return self.cuda + self.cpp

    @property
    def readable(self) -> bool:
        """Whether all sources could be read to their last part."""
        return self.complete and all(unit.resolved for unit in self.units)

    @property
    def defined(self) -> Mapping[str, Function]:
        """The functions of the CUDA texts by name."""
        return {function.name: function for unit in self.cuda for function in unit.functions}

    @property
    def declared(self) -> tuple[Function, ...]:
        """The functions that the C++ texts define or declare: what main.cpp knows."""
        return tuple(f for unit in self.cpp for f in (*unit.functions, *unit.declarations))


@dataclass(frozen=True)
class Site:
    """The context of a call."""

    call: ast.Call
    kind: str
    variable: str | None
    inside_try: bool
    owners: tuple[ast.ClassDef | FunctionNode, ...]
    """Classes and functions around it, outermost first."""


Frame = tuple[ast.AST, str | None, bool, tuple[ast.ClassDef | FunctionNode, ...]]
"""A node to visit, the name it is assigned to, whether a `try` is around it, and its owners."""


class ExtensionReader:
    """Reads the extensions of one program; equal texts become one `Unit`."""

    def __init__(self, evaluator: Evaluator, module: PythonCode) -> None:
        self.evaluator, self.module = evaluator, module
        self.units: dict[tuple[str, Text], Unit] = {}

    def read(self, tree: ast.Module) -> Iterator[Extension]:
        """Yield the extensions in the order of the text."""
        for site in islice(self._sites(tree), MAX_SITES):
            for scope in self._scopes(site):
                yield self._extension(site, scope)

    def unit(self, text: Text, language: UnitLanguage) -> Unit:
        """Return the unit of a text, one for equal texts."""
        key = (language, text)
        if key not in self.units:
            self.units[key] = Unit(language, text, self.evaluator.positions)
        return self.units[key]

    def _kind(self, call: ast.Call) -> str | None:
        full = self.module.canonical(call.func)
        last = full.rsplit(".", 1)[-1]
        if last == "load_inline" or (last == "load" and "cpp_extension" in full):
            return last
        return None

    def _sites(self, tree: ast.Module) -> Iterator[Site]:
        """Walk the program in order, tracking the context."""
        stack: list[Frame] = [(tree, None, False, ())]
        while stack:
            node, variable, inside_try, owners = stack.pop()
            if isinstance(node, ast.Call) and (kind := self._kind(node)):
                yield Site(node, kind, variable, inside_try, owners)
            if isinstance(node, (ast.ClassDef, FunctionNode)):
                owners, variable = (*owners, node), None
            elif isinstance(node, ast.Assign):
                variable = dotted_name(node.targets[0]) or None
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
                variable = dotted_name(node.target) or None
            elif isinstance(node, ast.stmt):
                variable = None
            inner_try = inside_try or isinstance(node, (ast.Try, ast.TryStar))
            stack += [
                (child, variable, inner_try, owners)
                for child in reversed(list(ast.iter_child_nodes(node)))
            ]

    def _scopes(self, site: Site) -> list[Scope]:
        """Return a scope for each call of the call's function."""
        module = self.evaluator.module
        scope = module
        for owner in site.owners:
            if isinstance(owner, ast.ClassDef) and owner.name in self.evaluator.classes:
                scope = self.evaluator.classes[owner.name]
            else:
                scope = read_scope(owner, scope)
        function = site.owners[0] if len(site.owners) == 1 else None
        if not isinstance(function, FunctionNode) or not function.args.args:
            return [scope]
        called = (one for one in self.module.of(ast.Call) if dotted_name(one.func) == function.name)
        calls = islice(called, MAX_CALLS)
        return [call_scope(function, call, module, module) for call in calls] or [scope]

    def _extension(self, site: Site, scope: Scope) -> Extension:
        keywords = _keywords(site)
        cuda, cuda_complete = self._sources(keywords.get("cuda_sources"), scope, "cuda")
        cpp, cpp_complete = self._sources(keywords.get("cpp_sources"), scope, "cpp")
        name = self._value(keywords.get("name"), scope)
        functions = [node for node in site.owners if isinstance(node, FunctionNode)]
        return Extension(
            call=site.kind,
            name=name.value if isinstance(name, Text) and name.resolved else None,
            variable=site.variable,
            functions=self._names(keywords.get("functions"), scope),
            cuda=cuda,
            cpp=cpp,
            complete=cuda_complete and cpp_complete and site.kind == "load_inline",
            keywords=keywords,
            cflags=self._flags(keywords.get("extra_cflags"), scope),
            cuda_cflags=self._flags(keywords.get("extra_cuda_cflags"), scope),
            ldflags=self._flags(keywords.get("extra_ldflags"), scope),
            preluded=self._value(keywords.get("no_implicit_headers"), scope) is not True,
            inside_try=site.inside_try,
            in_function=functions[-1].name if functions else None,
            node=site.call,
        )

    def _value(self, node: ast.expr | None, scope: Scope) -> Value:
        return None if node is None else self.evaluator.value(node, scope)

    def _sources(
        self, node: ast.expr | None, scope: Scope, language: UnitLanguage
    ) -> tuple[tuple[Unit, ...], bool]:
        value = self._value(node, scope)
        if value is None:
            return (), True
        items = value if isinstance(value, tuple) else (value,)
        texts = [item for item in items if isinstance(item, Text)]
        complete = len(texts) == len(items)
        return tuple(self.unit(text, language) for text in texts), complete

    def _names(self, node: ast.expr | None, scope: Scope) -> tuple[str, ...] | None:
        value = self._value(node, scope)
        if isinstance(value, Text):
            return (value.value,) if value.resolved else None
        if isinstance(value, dict):
            return tuple(value)
        return _strings(value) if isinstance(value, tuple) else None

    def _flags(self, node: ast.expr | None, scope: Scope) -> tuple[str, ...] | None:
        value = self._value(node, scope)
        if value is None:
            return ()
        if isinstance(value, Text):
            return (value.value,) if value.resolved else None
        return _strings(value) if isinstance(value, tuple) else None


def _keywords(site: Site) -> dict[str, ast.expr]:
    named: dict[str, ast.expr] = {}
    for name, value in zip(PARAMETERS[site.kind], site.call.args, strict=False):
        if isinstance(value, ast.Starred):
            break
        named[name] = value
    named.update({word.arg: word.value for word in site.call.keywords if word.arg is not None})
    return named


def _strings(values: tuple[Value, ...]) -> tuple[str, ...] | None:
    texts = [value.value for value in values if isinstance(value, Text) and value.resolved]
    return tuple(texts) if len(texts) == len(values) else None

"""A submission's Python tree, indexed once: nodes by kind, parents, and meanings of names."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from grader.source.scopes import FunctionNode, dotted_name, nodes_under

Node = TypeVar("Node", bound=ast.AST)
Function = FunctionNode
MODEL = "ModelNew"


@dataclass(frozen=True, eq=False)
class PythonCode:
    """Read-only index of one module's syntax tree."""

    tree: ast.Module
    by_kind: Mapping[type[ast.AST], tuple[ast.AST, ...]]
    parents: Mapping[ast.AST, ast.AST]

    def of(self, kind: type[Node]) -> tuple[Node, ...]:
        """Return the nodes of exactly this kind, outer before inner."""
        return self.by_kind.get(kind, ())  # type: ignore[return-value]

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the ancestors of a node, from the inside out."""
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)

    def function_of(self, node: ast.AST) -> Function | None:
        """Return the innermost function around a node."""
        for around in self.ancestors(node):
            if isinstance(around, Function):
                return around
        return None

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """Return the innermost class around a node."""
        for around in self.ancestors(node):
            if isinstance(around, ast.ClassDef):
                return around
        return None

    def in_main_guard(self, node: ast.AST) -> bool:
        """Whether a node is under `if __name__ == "__main__"`."""
        return any(
            isinstance(around, ast.If) and "__main__" in ast.dump(around.test)
            for around in self.ancestors(node)
        )

    @cached_property
    def model(self) -> ast.ClassDef | None:
        """The last class ModelNew, the one that an import would see."""
        return self.classes.get(MODEL)

    def method(self, name: str, owner: str = MODEL) -> Function | None:
        """Return ModelNew's or another class's own method, not an inherited one."""
        body = self.classes[owner].body if owner in self.classes else []
        found = [node for node in body if isinstance(node, Function) and node.name == name]
        return found[-1] if found else None

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        """The functions at module level by name, also those under if, try and with."""
        found: list[Function] = [*self.of(ast.FunctionDef), *self.of(ast.AsyncFunctionDef)]
        return {
            node.name: node
            for node in found
            if self.function_of(node) is None and self.class_of(node) is None
        }

    @cached_property
    def classes(self) -> Mapping[str, ast.ClassDef]:
        """All classes by name."""
        return {node.name: node for node in self.of(ast.ClassDef)}

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Meanings of imported names, and of names bound to them: `F` is `torch.nn.functional`."""
        names: dict[str, str] = {}
        for plain in self.of(ast.Import):
            for item in plain.names:
                first = item.name.partition(".")[0]
                names[item.asname or first] = item.name if item.asname else first
        for source in self.of(ast.ImportFrom):
            for item in source.names:
                names[item.asname or item.name] = f"{source.module or ''}.{item.name}"
        for assign in self.of(ast.Assign):
            match assign:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                    name not in names
                    and (target := _dotted_name(value, names))
                    and ("." in target or isinstance(value, ast.Call))
                ):
                    names[name] = target
        return names

    def canonical(self, node: ast.AST | None) -> str:
        """Return the full name of an expression, or "" where it isn't a name.

        Follows imports, plain aliases and `getattr` with a constant: `t.cuda.Event` after
        `import torch as t` is `torch.cuda.Event`.
        """
        return _dotted_name(node, self.aliases) if node is not None else ""

    @cached_property
    def calls(self) -> tuple[tuple[str, ast.Call], ...]:
        """All calls with the full name of the called function ("" where it isn't a name)."""
        return tuple((self.canonical(node.func), node) for node in self.of(ast.Call))

    def uses(self, package: str) -> bool:
        """Whether the package is imported, or a function of it called."""
        return package in self._packages

    @cached_property
    def _packages(self) -> frozenset[str]:
        names = (*self.aliases.values(), *(name for name, _ in self.calls))
        return frozenset(name.partition(".")[0] for name in names)

    @cached_property
    def reached(self) -> tuple[ast.AST, ...]:
        """The functions that a call of ModelNew runs: forward and what it calls."""
        todo: list[ast.AST] = [
            found for name in ("forward", "__call__") if (found := self.method(name)) is not None
        ]
        seen: dict[ast.AST, None] = {}
        while todo:
            function = todo.pop()
            if function not in seen:
                seen[function] = None
                todo.extend(self._called_from(function))
        return tuple(seen)

    def _called_from(self, function: ast.AST) -> Iterator[ast.AST]:
        for node in nodes_under(function):
            if isinstance(node, ast.Name) and node.id in self.functions:
                yield self.functions[node.id]
            elif isinstance(node, ast.Attribute):
                if isinstance(node.value, ast.Name) and node.value.id in {"self", "cls", MODEL}:
                    found = self.method(node.attr) or self.classes.get(node.attr)
                    if found is not None:
                        yield found
                elif isinstance(node.value, ast.Name) and node.value.id in self.classes:
                    yield self.classes[node.value.id]
            elif isinstance(node, ast.Name) and node.id in self.classes and node.id != MODEL:
                yield self.classes[node.id]

    @cached_property
    def switches(self) -> Mapping[str, bool]:
        """Names and attributes that are only ever bound to one constant, as true or false."""
        values: dict[str, set[object]] = {}
        found: list[ast.Assign | ast.AnnAssign | ast.AugAssign] = [
            *self.of(ast.Assign),
            *self.of(ast.AnnAssign),
            *self.of(ast.AugAssign),
        ]
        for node in found:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            value: object = object()
            if isinstance(node.value, ast.Constant) and not isinstance(node, ast.AugAssign):
                value = bool(node.value.value)
            for target in targets:
                if isinstance(target, ast.Name | ast.Attribute):
                    values.setdefault(dotted_name(target), set()).add(value)
        stored = [node.id for node in self.of(ast.Name) if isinstance(node.ctx, ast.Store)]
        parameters = {node.arg for node in self.of(ast.arg)}
        return {
            name: bool(next(iter(bound)))
            for name, bound in values.items()
            if len(bound) == 1
            and isinstance(next(iter(bound)), bool)
            and name
            and name not in parameters
            and ("." in name or stored.count(name) == 1)
        }

    def live(self, function: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes of a function, without branches that a constant disables."""
        todo = [function]
        while todo:
            node = todo.pop()
            yield node
            if isinstance(node, ast.If | ast.IfExp):
                decided = self._decide_test(node.test)
                branches = {True: node.body, False: node.orelse}
                for value, branch in branches.items():
                    if decided is None or decided is value:
                        todo += branch if isinstance(branch, list) else [branch]
                todo.append(node.test)
            else:
                todo += ast.iter_child_nodes(node)

    def _decide_test(self, test: ast.expr) -> bool | None:
        match test:
            case ast.Constant(value=value):
                return bool(value)
            case ast.Name() | ast.Attribute():
                return self.switches.get(dotted_name(test))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self._decide_test(operand)
                return None if inner is None else not inner
            case ast.BoolOp(op=operator, values=values):
                decided = [self._decide_test(value) for value in values]
                stops = isinstance(operator, ast.Or)
                if stops in decided:
                    return stops
                return None if None in decided else not stops
            case _:
                return None

    def runs_in_forward(self, node: ast.AST) -> bool:
        """Whether a node is in a function that a call of ModelNew runs."""
        reached = self.reached
        return any(around in reached for around in self.ancestors(node))

    def text(self, node: ast.AST) -> str:
        """Return a node as code, on one line, at most 80 characters."""
        try:
            line = " ".join(ast.unparse(node).split())
        except RecursionError:
            line = "this expression"
        return line if len(line) <= 80 else f"{line[:77]}..."


def index_python(tree: ast.Module) -> PythonCode:
    """Return the index of a Python tree."""
    by_kind: dict[type[ast.AST], list[ast.AST]] = {}
    parents: dict[ast.AST, ast.AST] = {}
    todo: list[ast.AST] = [tree]
    for node in todo:
        by_kind.setdefault(type(node), []).append(node)
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr_context | ast.operator | ast.cmpop):
                parents[child] = node
                todo.append(child)
    ordered = {
        kind: tuple(sorted(nodes, key=lambda node: getattr(node, "lineno", 0)))
        for kind, nodes in by_kind.items()
    }
    return PythonCode(tree, ordered, parents)


def _dotted_name(node: ast.AST, aliases: Mapping[str, str]) -> str:
    match node:
        case ast.Name(id=name):
            return aliases.get(name, name)
        case ast.Attribute(value=value, attr=attribute):
            base = _dotted_name(value, aliases)
            return f"{base}.{attribute}" if base else ""
        case ast.Call(func=ast.Name(id="getattr"), args=[value, name, *_]):
            base, attribute = _dotted_name(value, aliases), constant_text(name) or ""
            return f"{base}.{attribute}" if base and attribute else ""
        case ast.Call(func=ast.Name(id="__import__"), args=[name, *_]):
            return constant_text(name) or ""
        case ast.Call(func=function, args=[name, *_]) if (
            _dotted_name(function, aliases) == "importlib.import_module"
        ):
            return constant_text(name) or ""
        case ast.Subscript(value=value, slice=name) if (
            _dotted_name(value, aliases) == "sys.modules"
        ):
            return constant_text(name) or ""
        case _:
            return ""


def constant_text(node: ast.AST) -> str | None:
    """Return the string that an expression of literals and `+` is, or None."""
    parts: list[str] = []
    todo = [node]
    while todo:
        match todo.pop():
            case ast.Constant(value=str() as text):
                parts.append(text)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                todo += [right, left]
            case ast.JoinedStr(values=values):
                todo += reversed(values)
            case _:
                return None
    return "".join(parts)

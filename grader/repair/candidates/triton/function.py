"""One function of a Triton program as a tree: statements, expressions, and their ancestors."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from grader.source import Source, nodes_under
from grader.source.analysis.triton import Kernel


@dataclass(frozen=True, eq=False)
class Function:
    """One kernel, or one function of the host."""

    source: Source
    node: ast.FunctionDef
    kernel: Kernel | None

    @cached_property
    def host_values(self) -> Mapping[str, list[ast.expr]]:
        """Values that a host function assigns to a single name."""
        found: dict[str, list[ast.expr]] = {}
        for node in self.statements:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found.setdefault(node.targets[0].id, []).append(node.value)
        return found

    @cached_property
    def statements(self) -> tuple[ast.stmt, ...]:
        """All of its statements, in the order of the text."""
        own = (one for one in nodes_under(self.node) if isinstance(one, ast.stmt))
        return tuple(sorted((o for o in own if o is not self.node), key=lambda one: one.lineno))

    @cached_property
    def expressions(self) -> tuple[ast.expr, ...]:
        """Every expression of its body that is not an assignment's target."""
        return tuple(
            node
            for node in nodes_under(self.node)
            if isinstance(node, ast.expr) and node.lineno >= self.node.body[0].lineno
            if not isinstance(getattr(node, "ctx", None), ast.Store) and not _is_slice(node)
        )

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that is bound in it."""
        return frozenset(self._made_at)

    @cached_property
    def _made_at(self) -> Mapping[str, int]:
        """The line after which each name has a value; loops go over theirs from their own line on."""
        stored = (n for n in nodes_under(self.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))  # fmt: skip
        found: dict[str, int] = {}
        for node in stored:
            made = self.statement_of(node)
            line = node.lineno if isinstance(made, ast.For) else getattr(made, "end_lineno", 0)
            found[node.id] = min(found.get(node.id, line), line)
        return found | dict.fromkeys((one.arg for one in self.node.args.args), 0)

    def is_made_before(self, words: str, node: ast.expr) -> bool:
        """Whether every name of a text that the function binds has a value where an expression stands."""
        line = self.statement_of(node).lineno  # type: ignore[attr-defined]
        names = (one for one in re.findall(r"(?<![\w.\"'])[A-Za-z_]\w*", words))
        return all(self._made_at.get(name, 0) < line for name in names)

    @cached_property
    def carried(self) -> Mapping[ast.expr, str]:
        """Loops' assignments that overwrite earlier values, which may have been meant as accumulations."""
        loops = [one for one in self.statements if isinstance(one, ast.For)]
        inside = ((loop, one) for loop in loops for one in loop.body if isinstance(one, ast.Assign))
        return {
            one.value: target.id
            for loop, one in inside
            if isinstance(target := one.targets[0], ast.Name)
            and not names_in(one.value) & {target.id, *names_in(loop.target)}
            and self.kernel
            and any(one.lineno < loop.lineno for one in self.kernel.assigned.get(target.id, ()))
        }

    @cached_property
    def around(self) -> Mapping[ast.AST, ast.AST]:
        """Parent of each node."""
        return {
            part: node for node in nodes_under(self.node) for part in ast.iter_child_nodes(node)
        }

    def statement_of(self, node: ast.AST) -> ast.AST:
        """Return the statement that an expression is part of."""
        while not isinstance(node, ast.stmt):
            node = self.around[node]
        return node


def _is_slice(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Slice) for one in (node, *getattr(node, "elts", ())))


def names_in(node: ast.AST) -> set[str]:
    """Return the names in a part of a text."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def target_of(node: ast.AST) -> str:
    """Return the only name that a statement assigns to; empty if there is none."""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return target.id if isinstance(target, ast.Name) else ""


def called_name(node: ast.Call) -> str:
    """Return the last name of a called function."""
    return ast.unparse(node.func).rpartition(".")[2]

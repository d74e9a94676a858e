"""Files that a program writes and reads: `Path("k.cu").write_text(src)`, `open("k.cu").read()`."""

import ast
from pathlib import PurePosixPath

from grader.source.scopes import nodes_under


def named_file(path: str) -> str:
    """Return a path's last part in lower case, which identifies a file."""
    return PurePosixPath(path).name.lower()


def file_of(node: ast.expr) -> str:
    """Return the file that an expression opens or names: its last string that is one; "" for none."""
    names = [
        one.value
        for one in ast.walk(node)
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and "." in one.value
    ]
    return named_file(names[-1]) if names else ""


def written_files(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the texts that a program writes into files with literal names, by name."""
    found: dict[str, ast.expr] = {}
    handles: dict[str, str] = {}
    for node in nodes_under(tree):
        if isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            handles[node.optional_vars.id] = file_of(node.context_expr)
    for node in nodes_under(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr not in {"write", "write_text"} or not node.args:
            continue
        owner = node.func.value
        name = handles.get(owner.id, "") if isinstance(owner, ast.Name) else file_of(owner)
        if name:
            found[name] = node.args[0]
    return found

"""What a call lacks: an argument of a launch, the inputs' device of a tensor that is made, the mask of an access."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.repair.candidates.candidate import Candidate
from grader.repair.candidates.triton.scope import Scope
from grader.source.analysis.triton import Launch, launches

LACKING = 0.5
"""Cost of what a call lacks."""
MADE = frozenset(f"torch.{name}" for name in ("empty", "zeros", "ones", "full", "arange", "tensor"))


def complete_calls(scope: Scope) -> Iterator[Candidate]:
    """Yield the calls of a function with what they lack."""
    yield from _with_masks(scope)
    for launch in (one for one in launches(scope.source) if one.host is scope.node):
        for name in _lacking_parameters(launch):
            yield from _with_argument(scope, launch, name)
    tensors = scope.known.get("POINTER", ()) if scope.kernel is None else ()
    for node in scope.expressions if tensors else ():
        if isinstance(node, ast.Call) and scope.source.full_name(node.func) in MADE:
            if "device" not in {word.arg for word in node.keywords}:
                words = f"{scope.source.text(node)[:-1]}, device={tensors[0]}.device)"
                yield scope.change(node, words, LACKING, "launch")


def _with_masks(scope: Scope) -> Iterator[Candidate]:
    """Yield the accesses of a kernel that have no mask, with a mask by the name that another one has."""
    accesses = scope.kernel.accesses if scope.kernel is not None else ()
    names = dict.fromkeys(one.mask.id for one in accesses if isinstance(one.mask, ast.Name))
    for access in (one for one in accesses if one.mask is None):
        for name in names:
            words = f"{scope.source.text(access.call)[:-1]}, mask={name})"
            yield scope.change(access.call, words, LACKING, "guard")


def _lacking_parameters(launch: Launch) -> Iterator[str]:
    """Yield the parameters that a launch gives nothing for."""
    head = launch.kernel.node.args
    optional = {one.arg for one in head.args[len(head.args) - len(head.defaults) :]}
    for name in launch.kernel.parameters:
        if name not in launch.arguments and name not in optional and launch.kernel.tuned is None:
            yield name


def _with_argument(scope: Scope, launch: Launch, name: str) -> Iterator[Candidate]:
    """Yield a launch with each value that a parameter may have been meant to get, in its place."""
    texts, call = scope.source.text, launch.call
    at = launch.kernel.parameters.index(name)
    given, told = [texts(one) for one in call.args], [texts(word) for word in call.keywords]
    for turn, value in enumerate(_values(scope, name) if at <= len(given) else ()):
        words = ", ".join((*given[:at], value, *given[at:], *told))
        yield scope.change(call, f"{texts(call.func)}({words})", LACKING * (1 + turn / 8), "launch")


def _values(scope: Scope, name: str) -> list[str]:
    """Return what may be given for a parameter: what has its name, then lengths."""
    known = (*scope.known.get("SIZE", ()), *sorted(scope.names))
    known += tuple(f"{tensor}.numel()" for tensor in scope.known.get("POINTER", ())[:1])
    return sorted(dict.fromkeys(known), key=lambda one: one != name)

"""Slips of Python around a kernel: arguments, operations that are too much or in another order, settings, dimensions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from grader.repair.candidates.candidate import Candidate, Piece
from grader.repair.candidates.forward.methods import applied_to, stored_names
from grader.source import Source, dotted_name, nodes_under
from grader.source.python_code import PythonCode

Node = ast.expr | ast.stmt
DIMS = (0, 1, 2, -1)
FORMS = (
    ("", 1.8, 2.4),
    (".transpose(-1, -2)", 2.6, 2.6),
    (".transpose(0, 1)", 3.2, 1.6),
    (".flip((-1, -2))", 4.0, 2.8),
)
"""What a tensor may have to go through first, with the cost for any tensor and for a weight.

A transposed convolution's weight has the channels of the input first.
"""


def rewrite_forward(
    source: Source, code: PythonCode, forward: ast.FunctionDef
) -> Iterator[Candidate]:
    """Yield small changes of `forward`: how unlikely each is, is its cost."""
    own = [node for node in nodes_under(forward) if code.function_of(node) is forward]
    layers = _layers(code)
    for node in own:
        if isinstance(node, ast.Call) and _is_kernels(code, node, layers):
            yield from _exchange_arguments(source, node)
            yield from _of_arguments(source, code, node)
        elif isinstance(node, ast.IfExp):
            sides = (source.text(side) for side in (node.body, node.orelse))
            yield from (_put_words(source, node, f"({side})", 2.5) for side in sides)
        elif isinstance(node, ast.Constant):
            yield from _constants(source, node)
        elif isinstance(node, ast.If) and _keeps(node):
            yield _made_anew(source, node)
    yield from _divide_result(source, forward)
    yield from _left_out(source, code, forward, layers)
    yield from _in_another_order(source, forward)


def _put_words(source: Source, node: Node, words: str, cost: float, said: str = "") -> Candidate:
    return Candidate((Piece(source, node, words),), cost, "host", said=said)


def _keeps(branch: ast.If) -> bool:
    """Whether a branch makes attributes of the model that its test looks at: `if self.out is None: self.out = ...`."""
    made = [
        dotted_name(to) for one in branch.body if isinstance(one, ast.Assign) for to in one.targets
    ]
    asked = {dotted_name(node) for node in ast.walk(branch.test) if isinstance(node, ast.Attribute)}
    every = all(isinstance(one, ast.Assign) for one in branch.body)
    return every and not branch.orelse and bool(made) and set(made) <= asked


def _made_anew(source: Source, branch: ast.If) -> Candidate:
    """Make in each call what is kept from one call to the next."""
    words = source.code[source.span(branch.body[0])[0] : source.span(branch)[1]]
    deeper = " " * (branch.body[0].col_offset - branch.col_offset)
    again = words.replace(f"\n{deeper}", "\n")
    made = ", ".join(dotted_name(to) for one in branch.body for to in getattr(one, "targets", ()))
    return _put_words(source, branch, again, 0.6, f"make `{made}` anew in each call")


def _divide_result(source: Source, forward: ast.FunctionDef) -> Iterator[Candidate]:
    """Yield the result as a mean over the rows, or over all elements, of the first input."""
    last, given = forward.body[-1], [one.arg for one in forward.args.args[1:]]
    if isinstance(last, ast.Return) and last.value is not None and given:
        words = source.text(last.value)
        for count in ("size(0)", "numel()"):
            yield _put_words(source, last.value, f"({words}) / {given[0]}.{count}", 2.8)


def _layers(code: PythonCode) -> set[str]:
    """Return the attributes that hold torch's own modules: `self.conv`."""
    made = (one for one in code.of(ast.Assign) if isinstance(one.value, ast.Call))
    own = (one for one in made if code.canonical(one.value.func).startswith("torch.nn."))  # type: ignore[attr-defined]
    return {dotted_name(target) for one in own for target in one.targets}


def _is_kernels(code: PythonCode, call: ast.Call, layers: set[str]) -> bool:
    """Whether a call goes to an extension's function, as far as its name tells."""
    name = dotted_name(call.func)
    plain = code.canonical(call.func)
    return bool(name) and bool(call.args) and name not in layers and not plain.startswith("torch.")


def _exchange_arguments(source: Source, call: ast.Call) -> Iterator[Candidate]:
    """Yield neighbouring arguments the other way round."""
    for first, second in pairwise(call.args):
        if source.text(first) != source.text(second) and type(first) is type(second):
            yield _second_first(source, first, second, 3.0)


def _second_first(source: Source, first: Node, second: Node, cost: float) -> Candidate:
    pairs = (first, source.text(second)), (second, source.text(first))
    pieces = tuple(Piece(source, node, words) for node, words in pairs)
    return Candidate(pieces, cost, "host")


def _of_arguments(source: Source, code: PythonCode, call: ast.Call) -> Iterator[Candidate]:
    """Yield tensors made contiguous or transposed, and other settings than those that are passed."""
    settings = _settings(code)
    for argument in call.args:
        words = source.text(argument)
        if words in settings:
            others = (other for other in settings if other != words)
            yield from (_put_words(source, argument, other, 3.0) for other in others)
        elif isinstance(argument, ast.Name | ast.Attribute | ast.Call):
            weight = re.search(r"(?:weight|kernel|filter|\bw)$", words) is not None
            for method, usual, of_weight in FORMS:
                cost = of_weight if weight else usual
                yield _put_words(source, argument, f"{words}{method}.contiguous()", cost)


def _settings(code: PythonCode) -> list[str]:
    """Return the attributes that the constructor sets to an argument or a number."""
    maker = code.method("__init__")
    nodes = nodes_under(maker) if maker is not None else ()
    made = (one for one in nodes if isinstance(one, ast.Assign))
    plain = (one for one in made if isinstance(one.value, ast.Name | ast.Constant))
    names = [dotted_name(target) for one in plain for target in one.targets]
    return [name for name in names if name.startswith("self.")]


def _constants(source: Source, node: ast.Constant) -> Iterator[Candidate]:
    if isinstance(node.value, bool):
        yield _put_words(source, node, str(not node.value), 3.5)
    elif isinstance(node.value, int) and node.value in DIMS:
        yield from (_put_words(source, node, str(k), 3.5) for k in DIMS if k != node.value)


def _left_out(
    source: Source, code: PythonCode, forward: ast.FunctionDef, layers: set[str]
) -> Iterator[Candidate]:
    """Yield `x` for `torch.relu(x)`: what the kernel has done already. The kernels' own calls stay."""
    tensors = {one.arg for one in forward.args.args[1:]} | stored_names(forward)
    for node in nodes_under(forward):
        if not isinstance(node, ast.expr):
            continue
        operand = applied_to(node, tensors)
        out = isinstance(node, ast.Call) and _calls_out(code, node, layers, tensors)
        if operand is not None and not out:
            yield _put_words(source, node, source.text(operand), 2.2)


def _calls_out(code: PythonCode, call: ast.Call, layers: set[str], tensors: set[str]) -> bool:
    """Whether a call is neither torch's nor a tensor's method."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    method = isinstance(owner, ast.Name) and owner.id in tensors
    plain = code.canonical(call.func).startswith("torch.") or dotted_name(call.func) in layers
    return not (plain or method or (owner is not None and not dotted_name(owner)))


def _in_another_order(source: Source, forward: ast.FunctionDef) -> Iterator[Candidate]:
    """Yield two neighbouring steps of one variable the other way round."""
    for first, second in pairwise(forward.body):
        match first, second:
            case ast.Assign(targets=[ast.Name(id=one)]), ast.Assign(targets=[ast.Name(id=other)]):
                yield from [_second_first(source, first, second, 2.4)] if one == other else ()

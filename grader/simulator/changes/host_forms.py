"""Alternatives of an expression in Python host code, as text: another function, operator, number or order, one step less or more."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

Written = Callable[[ast.AST], str]
Form = tuple[ast.AST, ast.AST, str, int]
"""First and last node of the replaced range, the new text, and its prior as the cause."""

ALIKE: Sequence[Sequence[str]] = (
    ("sum", "mean", "amax", "amin", "prod"),
    ("max", "min"),
    ("argmax", "argmin"),
    ("maximum", "minimum"),
    ("zeros", "ones", "empty"),
    ("zeros_like", "ones_like", "empty_like"),
    ("new_zeros", "new_ones", "new_empty"),
    ("floor", "ceil", "round", "trunc"),
    ("exp", "log", "sqrt", "rsqrt", "square", "abs"),
    ("sigmoid", "tanh"),
    ("softmax", "log_softmax"),
    ("cumsum", "cumprod"),
    ("tril", "triu"),
)
"""Functions that are confused with one another."""
RESHAPES = frozenset({"view", "reshape"})
"""What keeps the order of the elements, where often a matrix should be turned."""
MATRIX = 2
TURNED = ("t()", "t().contiguous()")
WORDS = ("mean", "sum", "batchmean", "none")
"""Strings for reductions."""
MAKERS = frozenset(name for group in ALIKE[4:7] for name in group)
MEASURES = frozenset({"size", "stride", "numel", "dim", "item", "element_size", "data_ptr", "apply", "contiguous", "save_for_backward", "cdiv", "next_power_of_2"})  # fmt: skip
"""Methods whose removal would change an expression's kind, or nothing."""
OPERATORS: Mapping[type[ast.operator], tuple[str, Sequence[str]]] = {
    ast.Add: ("+", ("-", "*")),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("/", "+", "**", "//")),
    ast.Div: ("/", ("*", "//")),
    ast.FloorDiv: ("//", ("%", "*")),
    ast.Mod: ("%", ("//",)),
    ast.Pow: ("**", ("*",)),
    ast.MatMult: ("@", ("*",)),
}
COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}  # fmt: skip
STEPS = (
    "{}.contiguous()",
    "{}.flip(-1)",
    "{}.flip(0)",
    "{}.transpose(-2, -1)",
    "{}.transpose(0, 1)",
    "{}.transpose(1, 2)",
    "{}.sqrt()",
    "{} ** 0.5",
    "1 / {}",
    "-{}",
    "1 - {}",
    "{} ** 2",
    "2 * {}",
    "{} / 2",
    "{} + 1",
    "{} - 1",
    "{}.mean()",
    "{}.sum()",
    "{}.abs()",
    "{}.exp()",
    "{}.log()",
    "{}.clamp(min=0)",
    "torch.argsort({})",
    "{} / {}.sum(-1, keepdim=True)",
)
"""Steps that may be missing around a value."""
OF_NUMBERS = tuple(step for step in STEPS if not any(one in step for one in ("{}.", "torch")))
OF_OPERANDS = ("{}.sqrt()", "{}.square()", "{}.exp()", "(1 - {})")
"""Steps that may be missing around an operand."""
SIZES = ("shape[0]", "shape[-1]", "numel()")
REDUCTIONS = ("mean", "sum")
MOST_ORDERED = 6
EPSILONS = (1e-5, 1e-6, 1e-8, 1e-12)
"""What torch's layers and functions add to a divisor unless told otherwise."""
SMALL = 0.1
LARGE = 8
"""Larger numbers are sizes, where one more or less is seldom right."""


def forms(node: ast.expr, written: Written, known: Sequence[float]) -> Iterator[Form]:
    """Yield the alternatives of one expression; `known` are numbers that the task's reference uses."""
    match node:
        case ast.Constant():
            yield from ((node, node, text, prior) for text, prior in _constants(node, known))
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            yield node, node, written(inner), 0
        case ast.BinOp():
            yield from ((node, node, text, 0) for text in _operations(node, written))
            for side in (node.left, node.right):
                yield from _around_operand(side, written)
        case ast.Subscript(slice=ast.Name() as order):
            yield order, order, f"torch.argsort({written(order)})", 1
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in COMPARISONS:
            others = (one for kind, one in COMPARISONS.items() if kind is not type(sign))
            yield from ((node, node, f"{written(left)} {one} {written(right)}", 1) for one in others)  # fmt: skip
        case ast.IfExp(test=test, body=a, orelse=b):
            yield node, node, f"{written(b)} if {written(test)} else {written(a)}", 1
            yield from ((node, node, written(one), 1) for one in (a, b))
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            yield from _reorder_parts(parts, written)
        case ast.Call():
            yield from _calls(node, written)
        case ast.Attribute(value=inner, attr="T" | "mT"):
            yield node, node, written(inner), 0


def around(value: ast.expr, written: Written, tensors: Sequence[str] | None) -> Iterator[Form]:
    """Yield a value with one step more, or with a reduction in it done last.

    `tensors` are those whose sizes it could lack; None: it is a number.
    """
    text, whole = written(value), _in_parentheses(value, written)
    steps = OF_NUMBERS if tensors is None else STEPS
    for step in (*steps, *(f"{{}} / {name}.{size}" for name in tensors or () for size in SIZES)):
        yield value, value, step.replace("{}", whole), 1
    for inner in ast.walk(value):
        if inner is not value and (reduced := _reduction(inner)):
            name, of = reduced
            kept = text.replace(written(inner), written(of), 1)
            yield value, value, f"{kept if whole == text else f'({kept})'}.{name}()", 1


def _around_operand(operand: ast.expr, written: Written) -> Iterator[Form]:
    """Yield an operand with one more step; numbers have none."""
    if not isinstance(operand, ast.Constant):
        text = _in_parentheses(operand, written)
        yield from ((operand, operand, step.replace("{}", text), 2) for step in OF_OPERANDS)


def _reduction(node: ast.AST) -> tuple[str, ast.expr] | None:
    """Return the operand and the kind of a reduction to one number."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=name), args=[of], keywords=[]):  # fmt: skip
            return (name, of) if name in REDUCTIONS else None
        case ast.Call(func=ast.Attribute(value=of, attr=name), args=[], keywords=[]):
            return (name, of) if name in REDUCTIONS else None
    return None


def _constants(node: ast.Constant, known: Sequence[float]) -> Iterator[tuple[str, int]]:
    own = node.value
    if isinstance(own, bool):
        yield str(not own), 1
    elif isinstance(own, str):
        yield from ((f'"{one}"', 0) for one in WORDS if own in WORDS and one != own)
    elif isinstance(own, int | float):
        near = (own - 1, own + 1) if isinstance(own, int) and own <= LARGE else ()
        few = (-1, 0, 1, 2) if isinstance(own, int) and own <= LARGE else (0.0, 1.0)
        known = (*known, *EPSILONS) if isinstance(own, float) and 0 < own < SMALL else known
        scaled = (own * 2, own // 2) if isinstance(own, int) else (own * 2, own / 2, -own)
        for prior, numbers in enumerate((known, (*near, *few, *scaled))):
            for number in dict.fromkeys(numbers):
                if number != own and (isinstance(own, float) or number == int(number)):
                    yield str(type(own)(number)), prior if isinstance(own, float) else 0


def _operations(node: ast.BinOp, written: Written) -> Iterator[str]:
    left, right = written(node.left), written(node.right)
    own, others = OPERATORS.get(type(node.op), ("", ()))
    for sign in others:
        yield f"{left} {sign} {right}"
    if own in {"-", "/", "//", "%", "**", "@"}:
        yield f"{right} {own} {left}"
    yield from (_in_parentheses(side, written) for side in (node.left, node.right))


def _in_parentheses(node: ast.expr, written: Written) -> str:
    """Return an expression in parentheses if it needs them as an operand."""
    bare = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant)
    return written(node) if bare else f"({written(node)})"


def _reorder_parts(parts: Sequence[ast.expr], written: Written) -> Iterator[Form]:
    """Yield a sequence with two parts exchanged, or with all parts rotated by one."""
    plain = [one for one in parts if not isinstance(one, ast.Starred)]
    if not 1 < len(plain) <= MOST_ORDERED or len(plain) < len(parts):
        return
    texts = [written(one) for one in parts]
    for a, b in combinations(range(len(parts)), 2):
        order = list(texts)
        order[a], order[b] = order[b], order[a]
        if order != texts:
            yield parts[a], parts[b], ", ".join(order[a : b + 1]), 0
    if len(parts) > 2:
        for turned in ([*texts[1:], texts[0]], [texts[-1], *texts[:-1]]):
            yield parts[0], parts[-1], ", ".join(turned), 1


def _calls(node: ast.Call, written: Written) -> Iterator[Form]:
    if isinstance(node.func, ast.Subscript):  # a launch, whose arguments are exchanged elsewhere
        return
    yield from _reorder_parts(node.args, written)
    if not isinstance(node.func, ast.Attribute):
        return
    name, of = node.func.attr, node.func.value
    head = written(node)[len(written(node.func)) :]
    for group in ALIKE:
        for other in group if name in group else ():
            if other != name:
                yield node, node, f"{written(of)}.{other}{head}", 0
    if name in MAKERS:
        yield from (
            (node, node, text, 0) for text in _fill_infinite(node, name, written(of), written)
        )
    elif name not in MEASURES:
        if name in RESHAPES and len(node.args) == MATRIX:
            yield from ((node, node, f"{written(of)}.{turned}", 0) for turned in TURNED)
        torch_like = isinstance(of, ast.Name) and of.id in {"torch", "F", "math"}
        if not torch_like or (node.args and not isinstance(node.args[0], ast.Starred)):
            yield node, node, written(node.args[0] if torch_like else of), 0
    if name == "numel":
        yield from ((node, node, f"{written(of)}.shape[{dim}]", 0) for dim in (0, 1, -1))
    if name == "repeat":
        yield from (
            (node, node, text, 0) for text in _interleave_repeats(node, written(of), written)
        )


def _fill_infinite(node: ast.Call, name: str, of: str, written: Written) -> Iterator[str]:
    """Yield a new tensor filled with infinity."""
    plain = [written(one) for one in node.args]
    if not plain:
        return
    full = "new_full" if name.startswith("new_") else "full_like" if name.endswith("_like") else "full"  # fmt: skip
    shape = plain[0] if len(plain) == 1 else f"({', '.join(plain)})"
    named = [written(one) for one in node.keywords]
    for value in ('float("-inf")', 'float("inf")'):
        yield f"{of}.{full}({', '.join([shape, value, *named])})"


def _interleave_repeats(node: ast.Call, of: str, written: Written) -> Iterator[str]:
    """Yield `repeat_interleave` where the whole is repeated."""
    often = [
        (dim, one)
        for dim, one in enumerate(node.args)
        if not (isinstance(one, ast.Constant) and one.value == 1)
    ]
    if len(often) == 1:
        dim, times = often[0]
        yield f"{of}.repeat_interleave({written(times)}, dim={dim})"

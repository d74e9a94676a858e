"""A module's weights: torch's layers, its own parameters, and how it draws them."""

import ast
import re
from collections.abc import Iterator

from grader.source import nodes_under
from grader.source.analysis.reference_text import last_name

LAYERS = (
    "Conv",
    "Linear",
    "BatchNorm",
    "LayerNorm",
    "GroupNorm",
    "Embedding",
    "LSTM",
    "GRU",
    "RNN",
    "Bilinear",
    "PReLU",
    "MultiheadAttention",
    "InstanceNorm",
)
ADDING = ("Conv", "Linear", "BatchNorm", "LayerNorm", "GroupNorm")
"""Layers with a bias by default."""
BIAS = r"bias|beta|shift|^b\d*$|_b$"
DRAWS = re.compile(
    r"((torch\.)?nn\.)?init\.(normal|uniform|xavier_\w+|kaiming_\w+|trunc_normal|orthogonal)_"
)
ROOT_OF_FIVE = re.compile(
    r"((math|np|numpy|torch)\.)?sqrt\(5(\.0?)?\)|5(\.0?)?\*\*(0?\.5|\(1/2\))|2\.236\d*"
)


def _attributes(tree: ast.AST) -> Iterator[tuple[str, str, ast.Call]]:
    """Yield the attributes assigned from calls, with the called names."""
    for node in nodes_under(tree):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr=name)], value=ast.Call(func=made) as call):
                yield name, last_name(made), call


def layers(tree: ast.AST) -> dict[str, str]:
    """Return attributes that hold torch layers with parameters, with the layer's name."""
    return {name: made for name, made, _ in _attributes(tree) if made.startswith(LAYERS)}


def parameters(model: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the attributes that are a model's own parameters, each with the expression that makes it."""
    yield from ((name, call) for name, made, call in _attributes(model) if made == "Parameter")


def biases(tree: ast.AST) -> tuple[str, ...]:
    """Return a module's biases: those of torch's layers, and its own parameters with such a name."""
    found = []
    for name, made, call in _attributes(tree):
        if made.startswith(ADDING) and not _without_bias(call):
            found.append(f"{name}.bias")
        elif made == "Parameter" and re.search(BIAS, name):
            found.append(name)
    return tuple(found)


def _without_bias(made: ast.Call) -> bool:
    """Whether a layer is, or may be, made without a bias."""
    said = (
        word.value for word in made.keywords if word.arg in {"bias", "affine", "elementwise_affine"}
    )
    return any(not (isinstance(value, ast.Constant) and value.value is True) for value in said)


def draw(node: ast.AST) -> str:
    """Return `randn` or `rand` if a parameter is drawn with it; else empty."""
    calls = (last_name(n.func) for n in nodes_under(node) if isinstance(n, ast.Call))
    return next((name for name in calls if name in {"randn", "rand"}), "")


def drawn_ones(model: ast.ClassDef) -> Iterator[ast.Call]:
    """Yield the parameters and buffers that a model draws or leaves uninitialised."""
    for node in nodes_under(model):
        if isinstance(node, ast.Call) and last_name(node.func) in {"Parameter", "register_buffer"}:
            drawn = {last_name(n.func) for n in nodes_under(node) if isinstance(n, ast.Call)}
            if drawn & {"randn", "rand", "empty"} and not draws_as_layers_do(model):
                yield node


def draws_as_layers_do(model: ast.ClassDef) -> bool:
    """Whether a model draws like torch's layers; a run shows whether the numbers are equal."""
    calls = (node for node in nodes_under(model) if isinstance(node, ast.Call))
    return any(DRAWS.fullmatch(ast.unparse(call.func)) and own_recipe(call) for call in calls)


def own_recipe(call: ast.Call) -> bool:
    """Whether its own parameter is drawn exactly as in torch's layers.

    `nn.Linear` and the convolutions: `kaiming_uniform_(weight, a=sqrt(5))`, `uniform_(bias, -bound, bound)`; the
    recurrent layers: `uniform_(weight, -stdv, stdv)`. In the layer's order, the same seed gives the same numbers.
    """
    match call.args:
        case [ast.Attribute(value=ast.Attribute() | ast.Subscript()), *_]:
            return False  # of a layer, which has drawn it already
    given = [*call.args[1:], *(k.value for k in call.keywords if k.arg in {"a", "b"})]
    text = [ast.unparse(value).replace(" ", "") for value in given]
    if last_name(call.func) == "kaiming_uniform_":
        return len(text) == 1 and bool(ROOT_OF_FIVE.fullmatch(text[0]))
    symmetric = len(text) == 2 and text[0] == f"-{text[1]}"
    return last_name(call.func) == "uniform_" and symmetric and not text[1][0].isdigit()

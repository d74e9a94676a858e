"""Recurrent layers, as modules: LSTM, GRU and the plain one, of any depth, one way or both."""

from __future__ import annotations

from typing import Any

from grader.repair.compose.graph import Node, UncoveredError
from grader.repair.compose.stage import Call, Stage, Writer

GATES = {
    "lstm": (4, "input, forget, cell and output gate"),
    "gru": (3, "reset, update and new gate"),
    "rnn": (1, "the only gate"),
}
"""Number and names of a unit's rows of weights."""


def recurrent(node: Node, to: Writer) -> Call:
    """Call the steps of a recurrent layer, with the module's results."""
    told = node.attributes
    if not node.path or told.get("proj_size"):
        raise UncoveredError(f"{node.op} as a function, or with a projection")
    if told.get("dropout") and told.get("num_layers", 1) > 1 and told.get("training", True):
        raise UncoveredError("dropout in training: the result is random")
    gates, order = GATES[node.op]
    kind = "relu" if told.get("nonlinearity") == "relu" else node.op
    values = (("kind", kind), ("gates", gates), ("order", order))
    x = node.argument(0, "input")
    if to.rank(x) != 3:
        raise UncoveredError(f"{node.op} without a batch")
    states = _states(node, to)
    weights = f"list({node.own}.parameters())"
    sizes = ", ".join(repr(told[name]) for name in ("num_layers", "bidirectional", "batch_first"))
    return Call(
        Stage("recurrent", "recurrent.cu.jinja", values),
        f"KERNEL({to.value(x)}, {states}, {weights}, {sizes})",
    )


def _states(node: Node, to: Writer) -> str:
    """Return the states that a layer begins with, as arguments; None stands for zeros."""
    given: Any = node.argument(1, "hx")
    if node.op != "lstm":
        return to.value(given)
    if given is None:
        return "None, None"
    if not isinstance(given, list | tuple):
        return f"*{to.value(given)}"
    return ", ".join(to.value(state) for state in given)

"""Sums of products written out as simpler operations give what torch.einsum gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.repair.compose.graph import Graph, Node, Ref, UncoveredError
from grader.repair.compose.lower import lower

LAYOUT = {
    "permute": lambda x, order: x.transpose(order),
    "unsqueeze": np.expand_dims,
    "sum": lambda x, dims, _keep: x.sum(tuple(dims)),
    "flatten": lambda x, a, b: x.reshape(*x.shape[:a], -1, *x.shape[b + 1 :]),
    "reshape": lambda x, sizes: x.reshape(sizes),
    "contiguous": lambda x: x,
    "size": lambda x, dim: x.shape[dim],
    "matmul": np.matmul,
    "mul": np.multiply,
}
SIZES = {letter: 2 + k % 4 for k, letter in enumerate("abcdefghijklmnopqrstuvwxyz")}


def lowered(words: str, shapes: list[tuple[int, ...]], out: tuple[int, ...]) -> Graph:
    names = [f"x{k}" for k in range(len(shapes))]
    nodes = [
        Node(name, "placeholder", path=name, shape=shape, dtype="float32")
        for name, shape in zip(names, shapes, strict=True)
    ]
    made = Node("made", "einsum", (words, *map(Ref, names)), shape=out, dtype="float32")
    return lower(Graph((*nodes, made, Node("output", "output", (Ref("made"),)))))


def run(graph: Graph, inputs: list[np.ndarray]) -> np.ndarray:
    known: dict[str, Any] = {f"x{k}": value for k, value in enumerate(inputs)}

    def at(value: Any) -> Any:
        if isinstance(value, Ref):
            return known[value.name]
        return [at(item) for item in value] if isinstance(value, list) else value

    for node in graph.nodes:
        if node.op not in {"placeholder", "output"}:
            known[node.name] = LAYOUT[node.op](*map(at, node.args))
            assert node.shape is None or known[node.name].shape == node.shape
    return known["made"]


@pytest.mark.parametrize(
    "words",
    [
        "ij,jk->ik",
        "bik,bjk->bij",
        "bijl,lk->bijk",
        "bclhn,bcshn,bhcls,bcshp->bclhp",
        "bclhn,bhcl,bclhp->bchpn",
        "bhzc,bchpn->bzhpn",
        "i,j->ij",
        "ij->ji",
        "ij->i",
        "ij,ij->",
        "ik,jl->ij",
        "nkd,nk->nd",
    ],
)
def test_what_is_written_out_gives_the_same(words: str) -> None:
    draw = np.random.default_rng(7)
    parts, _, out = words.partition("->")
    shapes = [tuple(SIZES[letter] for letter in part) for part in parts.split(",")]
    inputs = [draw.standard_normal(shape) for shape in shapes]
    expected = np.einsum(words, *inputs)
    graph = lowered(words, shapes, tuple(SIZES[letter] for letter in out))
    assert np.allclose(run(graph, inputs), expected)
    assert "einsum" not in {node.op for node in graph.nodes}


@pytest.mark.parametrize("words", ["ii->i", "...ij->...ji", "ij", "ij,jk,kl->il"])
def test_what_it_does_not_cover_says_so(words: str) -> None:
    with pytest.raises(UncoveredError, match="einsum"):
        lowered(words, [(3, 3)], (3,))

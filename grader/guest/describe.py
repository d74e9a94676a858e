"""Description of a problem file's inputs at several sizes, without allocating the large ones.

The host writes variants of the problem's text with smaller numbers. The inputs of each are first
made on torch's `meta` device, where tensors have a shape and no values; the reference is run on
those that are small. The text is untrusted: all of this happens in a sandbox, and the host checks the reply.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import torch

from grader.guest.cost import On
from grader.guest.likeness import summary
from grader.guest.tensors import flatten
from grader.guest.trace import trace

VALUES_LIMIT = 1 << 18
"""Most elements of inputs whose values are examined."""
WORK = ("size", "elements", "flops")
"""Costs that grow with the variant: one with more weights may exceed neither of these, and one of equal weights has
them too."""
SHOWN = 64
"""Least number of elements of an input that show its distribution; one label of a batch of one does not."""
TEXT = 300
SLOW = 0.3
"""CPU time in seconds above which a module's construction or failure is not repeated."""


def describe(module: ModuleType, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts about a problem at several sizes.

    `options["full"]` is its text as it is: only the shapes of its inputs are computed. Each of `options["chains"]` is a
    list of smaller variants from the smallest on; the reference is run on each until one costs more than
    `options["most"]` allows, and on none that has more than `options["weights"]`. `options["kinds"]` names each chain's
    kind: where a variant fails slowly, those of other batches at the same step are taken to fail too. The answer has
    `full`, `chains` (facts on each variant that was reached) and `values` (for each input, what its values are like).
    """
    if options.get("trace"):
        return trace(module, On("meta"))
    torch.manual_seed(0)
    # A distribution validates the values of its arguments, and tensors on `meta` have none.
    torch.distributions.Distribution.set_default_validate_args(False)
    make = _Maker(vars(module).get("Model"))
    end = time.process_time() + float(options["seconds"])
    chains = options["chains"]
    facts: list[list[dict[str, Any]]] = [[] for _ in chains]
    going = set(range(len(chains)))
    hopeless: dict[tuple[str, int], dict[str, Any]] = {}
    for step in range(max(map(len, chains), default=0)):
        for number in sorted(going):
            if step >= len(chains[number]) or time.process_time() > end:
                going.discard(number)
                continue
            place = (options["kinds"][number], step)
            begin = time.process_time()
            fact = hopeless.get(place) or _variant(make, chains[number][step], options)
            if fact["error"] and time.process_time() - begin > SLOW:
                hopeless[place] = fact
            facts[number].append(fact)
            if any(fact.get(name, 0) > options["most"][name] for name in WORK):
                going.discard(number)
    return {
        "full": _shapes(options["full"]),
        "chains": facts,
        "values": _values_of(chains, facts),
    }


class _Maker:
    """Constructs the reference; one that took long is reused for the same arguments."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._kept: tuple[str, Any] = ("", None)
        self._weights: dict[str, int] = {}

    def weights(self, init: list[Any]) -> int:
        """Return the number of weights with these arguments, without allocating them; 0 if unknown."""
        key = repr(init)
        if key not in self._weights:
            try:
                with torch.device("meta"), On("meta"):
                    made = self._model(*init).state_dict()
                self._weights[key] = sum(value.numel() for value in made.values())
            except Exception:  # noqa: BLE001 - what can't be told is found when it is made
                self._weights[key] = 0
        return self._weights[key]

    def __call__(self, init: list[Any]) -> Any:
        if self._kept[0] == repr(init):
            return self._kept[1]
        self._kept = ("", None)
        begin = time.process_time()
        made = self._model(*init)
        if time.process_time() - begin > SLOW:
            self._kept = (repr(init), made)
        return made


def _variant(make: _Maker, text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts on one text; one whose inputs or weights are too large is not run."""
    fact = _shapes(text)
    if fact["ok"] and fact["size"] <= options["most"]["size"]:
        fact["weights"] = make.weights(fact["init"])
    if fact["ok"] and "weights" in fact and fact["weights"] <= options["weights"]:
        fact = {**fact, **_facts(make, text)}
        if fact["ok"] and any("int" in item.get("dtype", "") for item in fact["inputs"]):
            # The range of indices depends on the size, so each size reports its own.
            fact["values"] = _values(text)
    else:
        fact["ok"] = False
    return fact


def _values_of(chains: Sequence[Sequence[str]], facts: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the values' description, from the largest variant that is cheap and whose inputs are all long enough."""
    known = [
        (min(SHOWN, _fewest(fact)), fact["size"], text)
        for texts, some in zip(chains, facts, strict=True)
        for text, fact in zip(texts, some, strict=False)
        if fact["ok"] and fact["size"] <= VALUES_LIMIT
    ]
    return _values(max(known)[-1]) if known else []


def _fewest(fact: Mapping[str, Any]) -> int:
    """Return the number of elements of the shortest input, ignoring single numbers, which are short at any size."""
    shapes = [item["shape"] for item in fact["inputs"] if item.get("shape")]
    return min(map(math.prod, shapes), default=0)


def _shapes(text: str) -> dict[str, Any]:
    """Return the shapes and dtypes of a text's inputs, without allocating them."""
    fact: dict[str, Any] = {"ok": False, "error": ""}
    try:
        with torch.device("meta"), On("meta"):
            inputs, init = _make_inputs(text)
        fact["inputs"] = [_input(value) for value in inputs]
        fact["init"] = [_plain(value) for value in init]
        fact["size"] = sum(v.numel() for v in inputs if isinstance(v, torch.Tensor))
        fact["ok"] = True
    except Exception as error:  # noqa: BLE001 - untrusted text may raise anything
        fact["error"] = _error_text(error)
    return fact


def _facts(make: Callable[[list[Any]], Any], text: str) -> dict[str, Any]:
    try:
        with On("cpu") as cost, torch.no_grad():
            inputs, init = _make_inputs(text)
            return _ran(make, inputs, init, cost)
    except Exception as error:  # noqa: BLE001 - likewise
        return {"ok": False, "error": _error_text(error)}


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:TEXT]


def _make_inputs(text: str) -> tuple[list[Any], list[Any]]:
    space: dict[str, Any] = {"__name__": "problem"}
    exec(compile(text, "problem.py", "exec"), space)  # noqa: S102 - what this guest is for
    init: Callable[[], Any] = space.get("get_init_inputs", list)
    made = init()
    return list(space["get_inputs"]()), list(made.values() if isinstance(made, dict) else made)


def _ran(
    make: Callable[[list[Any]], Any], inputs: list[Any], init: list[Any], cost: On
) -> dict[str, Any]:
    instance = make(init)
    weights = instance.state_dict().values() if isinstance(instance, torch.nn.Module) else ()
    total = sum(value.numel() for value in weights)
    cost.elements = cost.flops = cost.fewest = 0
    result = instance(*inputs)
    _, outputs = flatten(result)
    return {
        "ok": True,
        "outputs": [_input(value) for value in outputs],
        "flops": cost.flops,
        "elements": cost.elements,
        "fewest": cost.fewest,
        "weights": total,
        "fan_in": max((v.numel() // max(v.shape[0], 1) for v in weights if v.dim() > 1), default=1),
    }


def _input(value: Any) -> dict[str, Any]:
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return {"shape": list(value.shape), "dtype": dtype}
    return {"value": _plain(value)}


def _plain(value: Any) -> Any:
    """Return a value that JSON can represent; raises TypeError for any other."""
    if isinstance(value, torch.Size | tuple | list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"an argument is a {type(value).__name__}, which isn't a plain value")


def _values(text: str) -> list[Any]:
    with On("cpu"), torch.no_grad():
        inputs, _ = _make_inputs(text)
    return [summary(v) if isinstance(v, torch.Tensor) else None for v in inputs]

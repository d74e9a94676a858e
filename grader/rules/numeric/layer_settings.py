"""NUM010: a layer is made with other settings than the reference's layer of that name."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from grader.records import Context, Edit, Evidence, Finding, Fix, Task
from grader.records.observed import wrong_results
from grader.rules.rule import Example, Rule
from grader.source import nodes_under
from grader.source.analysis.reference_text import last_name, reference_of
from grader.source.code_edits import fix

if TYPE_CHECKING:
    from grader.source import Source

_CONV = ("in_channels", "out_channels", "kernel_size", "stride", "padding")
_NORM = {"eps": 1e-5, "momentum": 0.1, "affine": True, "track_running_stats": True}
_POOL = ("kernel_size", "stride", "padding")
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "ConvTranspose": (*_CONV, "output_padding", "groups", "bias", "dilation"),
    "Conv": (*_CONV, "dilation", "groups", "bias"),
    "BatchNorm": ("num_features", *_NORM),
    "InstanceNorm": ("num_features", *_NORM),
    "GroupNorm": ("num_groups", "num_channels", "eps", "affine"),
    "LayerNorm": ("normalized_shape", "eps", "elementwise_affine"),
    "MaxPool": (*_POOL, "dilation", "return_indices", "ceil_mode"),
    "AvgPool": (*_POOL, "ceil_mode", "count_include_pad"),
    "Linear": ("in_features", "out_features"),
}
"""What torch's layers are made with, by the beginning of their names, in the order of the parameters."""
DEFAULTS: Mapping[str, object] = {
    "stride": 1,
    "padding": 0,
    "output_padding": 0,
    "groups": 1,
    "dilation": 1,
    "ceil_mode": False,
    "count_include_pad": True,
    "eps": 1e-5,
}
"""What is not said is this; of a setting without an entry nothing is known."""
OWN = frozenset({"bias", "affine", "elementwise_affine"})
"""Settings that answers change on purpose: they keep such parameters themselves."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the layers that both constructors make under one name, where a result was wrong."""
    reference = reference_of(source, context)
    model = source.classes.get("ModelNew")
    wrong = wrong_results(context)
    if reference is None or model is None or not wrong:
        return
    theirs = {
        name: call
        for node in reference.tree.body
        if isinstance(node, ast.ClassDef) and node.name == "Model"
        for name, call in _layers(node)
    }
    given = _parameters(model)
    for name, call in _layers(model):
        other = theirs.get(name)
        if other is None or last_name(other.func) != last_name(call.func):
            continue
        differing = [*_differing(call, other)]
        if differing:
            said = "; ".join(f"{setting}={own}, there {ref}" for setting, own, ref in differing)
            yield RULE.finding(
                source.place(call),
                f"`self.{name}` is made with other settings than the reference's {last_name(call.func)} of that name: {said}",
                evidence=wrong[:1],
                cause="form" if _of_form(wrong) else "",
                root_cause=_of_form(wrong),
                fixes=_as_there(source, call, other, given),
            )


def _of_form(wrong: tuple[Evidence, ...]) -> bool:
    """Whether what is wrong is the result's shape, which such a setting explains."""
    return any(item.code == "shape" for item in wrong)


def _layers(model: ast.ClassDef) -> Iterator[tuple[str, ast.Call]]:
    """Yield the layers of torch that are made and kept as `self.name`, by name."""
    for node in nodes_under(model):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)],
                value=ast.Call() as call,
            ) if _order(call):
                yield name, call


def _order(call: ast.Call) -> tuple[str, ...]:
    name = last_name(call.func)
    return next((order for start, order in SETTINGS.items() if name.startswith(start)), ())


def _settings(call: ast.Call) -> dict[str, ast.expr] | None:
    """Return what a layer is made with by name; None where that can't be read."""
    order = _order(call)
    if len(call.args) > len(order) or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    named = {word.arg: word.value for word in call.keywords if word.arg is not None}
    if len(named) < len(call.keywords):
        return None
    return {**dict(zip(order, call.args, strict=False)), **named}


def _differing(own: ast.Call, other: ast.Call) -> Iterator[tuple[str, str, str]]:
    """Yield the settings that differ for certain: one that only one of the two says, or another number."""
    here, there = _settings(own), _settings(other)
    if here is None or there is None:
        return
    for setting in dict.fromkeys((*here, *there)):
        values = [side.get(setting) for side in (here, there)]
        if setting in OWN or (None in values and not _told(setting, own, values)):
            continue
        words = [ast.unparse(one) if one is not None else _default(setting, own) for one in values]
        plain = all(one is None or isinstance(one, ast.Constant) for one in values)
        if words[0] != words[1] and (plain or None in values):
            yield setting, words[0], words[1]


def _told(setting: str, call: ast.Call, values: list[ast.expr | None]) -> bool:
    """Whether a setting that only one of two layers says is known to be another one than it is without that."""
    said = next(one for one in values if one is not None)
    named_alike = isinstance(said, ast.Name) and said.id.endswith(setting)
    return bool(_default(setting, call)) and not named_alike


def _default(setting: str, call: ast.Call) -> str:
    pooled = "Pool" in last_name(call.func) and setting == "stride"
    return repr(DEFAULTS[setting]) if setting in DEFAULTS and not pooled else ""


def _parameters(model: ast.ClassDef) -> frozenset[str]:
    methods = (one for one in model.body if isinstance(one, ast.FunctionDef))
    made = next((one for one in methods if one.name == "__init__"), None)
    return frozenset(one.arg for one in made.args.args) if made is not None else frozenset()


def _as_there(
    source: Source, call: ast.Call, other: ast.Call, given: frozenset[str]
) -> tuple[Fix, ...]:
    """Make the layer as the reference does, where the constructor is given all that this takes."""
    arguments = [*other.args, *(word.value for word in other.keywords)]
    names = {n.id for one in arguments for n in nodes_under(one) if isinstance(n, ast.Name)}
    if not names <= given:
        return ()
    start, end = source.span(call)
    inner = ast.unparse(other)[len(ast.unparse(other.func)) :]
    edit = Edit(start=start, end=end, text=f"{source.text(call.func)}{inner}")
    return fix("make the layer as the reference does", [edit])


_REFERENCE = """
class Model(nn.Module):
    def __init__(self, i, o, k):
        super().__init__()
        self.conv = nn.Conv3d(i, o, k)
    def forward(self, x):
        return self.conv(x)
"""
_BAD = """
import torch
import torch.nn as nn
class ModelNew(nn.Module):
    def __init__(self, i, o, k):
        super().__init__()
        self.conv = nn.Conv3d(i, o, k, padding=k // 2)
    def forward(self, x):
        return ext.pool(self.conv(x))
"""
_CONTEXT = Context(
    task=Task(name="t", title="t", source="file", reference=_REFERENCE, workloads=()),
    evidence=(
        Evidence(kind="mismatch", code="shape", text="shape (2, 8) returned, (2, 6) expected"),
    ),
)


def _example(old: str, new: str) -> Example:
    return Example(_BAD.replace(old, new), _CONTEXT)


RULE = Rule(
    code="NUM010",
    name="layer-made-with-other-settings",
    severity="error",
    summary="A layer of torch's is made with another stride, padding or the like than the reference's layer of that name.",
    why="The weights of such a layer fit, so nothing complains, but it computes something else, mostly a result of another "
    "size. Padding that the reference doesn't have is the commonest: it is right for `same` convolutions only.",
    bad=(
        Example(_BAD, _CONTEXT),
        _example("padding=k // 2", "1, 2"),
        _example("padding=k // 2", "dilation=2"),
    ),
    good=(
        _example(", padding=k // 2", ""),
        _example("padding=k // 2", "stride=1, padding=0, bias=False"),
        _example("self.conv", "self.other"),
        Example(_BAD, Context(task=_CONTEXT.task)),
    ),
    detects=("text", "evidence"),
    guards="Only where results were wrong, and only settings that differ for certain: another number, or one that is said "
    "on one side alone and is not the default. Biases are left alone: answers keep them themselves.",
    fix="Makes the layer as the reference does.",
    check=check,
)

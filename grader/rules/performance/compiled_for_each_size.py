"""PRF017: a Triton kernel is recompiled for each size of its inputs, though it doesn't need the size as a constant."""

import ast
import re
from collections.abc import Iterator

from grader.rules import Context, Finding, Source, fix, rule_of
from grader.source.analysis.data_flow import assignments
from grader.source.analysis.triton import Kernel, Launch, launches
from grader.source.code_edits import replace

SHAPES = frozenset({"arange", "zeros", "full", "static_range", "reshape", "view", "broadcast_to", "static_assert"})  # fmt: skip
"""Functions of `tl` whose arguments have to be known when a kernel is compiled."""
MEASURED = re.compile(r"\.(?:numel|size|shape|stride)\b")
FEW = re.compile(r"next_power_of_2|\bmin\(|\bmax\(|self\.|weight|kernel|filter|\bw\.")
"""What keeps the number of different values small: rounding, and lengths that are a layer's own."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Check each `tl.constexpr` parameter that gets a length of the inputs in a launch."""
    del context
    for launch in launches(source):
        kernel, given = launch.kernel, launch.arguments
        sized = {n for n in kernel.constants & set(given) if _is_measured(source, launch, n)}
        names = [
            one for one in kernel.node.args.args if one.arg in sized - _names_of_shapes(kernel)
        ]
        if names:
            said = ", ".join(f"`{one.arg}`" for one in names)
            edits = [replace(source, one, one.arg) for one in names]
            yield RULE.finding(
                source.place(names[0]),
                f"{said}: lengths of the inputs, marked `tl.constexpr`: `{kernel.name}` is compiled anew for each value, and needs none as a constant",
                fixes=fix(f"take {said} as numbers", edits),
                kernels=(kernel.name,),
                folded=True,
            )


def _is_measured(source: Source, launch: Launch, name: str) -> bool:
    """Whether a launch's argument is a tensor's length, directly or through a name."""
    value = launch.arguments[name]
    host = launch.host if isinstance(value, ast.Name) else None
    made = assignments(host, source.text(value)) if host else ()
    texts = [source.text(one) for one in (value, *(node.value for node in made))]
    return any(MEASURED.search(one) for one in texts) and not any(map(FEW.search, texts))


def _names_of_shapes(kernel: Kernel) -> frozenset[str]:
    """Return the names on which a kernel's shapes, or conditions of its text, rest."""
    needed: list[ast.expr] = [*kernel.calls(*SHAPES)]
    needed += [node.iter for node in ast.walk(kernel.node) if isinstance(node, ast.For)]
    needed += [node.test for node in ast.walk(kernel.node) if isinstance(node, ast.If | ast.IfExp)]
    return frozenset(name for one in needed for name in kernel.names_behind(one))


RULE = rule_of(__file__, check)

"""MEM014: a kernel that changes what it reads is autotuned."""

import ast
from collections.abc import Iterator

from grader.rules import Context, Finding, Source, fix, rule_of
from grader.source.analysis.triton import Kernel, Launch, kernels, launches
from grader.source.code_edits import add_argument

PUTS_BACK = frozenset({"restore_value", "reset_to_zero", "pre_hook", "post_hook"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for tuned kernels with buffers that are both read and written."""
    unsteady = [item for item in context.evidence_of("probe") if item.code == "probe-unsteady"]
    for kernel in kernels(source):
        tuned = kernel.tuned
        if tuned is None or _several(tuned) is False:
            continue
        if any(word.arg in PUTS_BACK for word in tuned.keywords):
            continue
        changed = _changed_parameters(
            kernel, [one for one in launches(source) if one.kernel is kernel]
        )
        if changed:
            names = ", ".join(f'"{name}"' for name in changed)
            yield RULE.finding(
                source.place(tuned),
                f"autotuning runs `{kernel.name}` many times before the launch that counts, and each run changes "
                f"`{changed[0]}`, which the next one reads",
                evidence=unsteady,
                fixes=fix(
                    "put what is changed back after each trial",
                    [add_argument(source, tuned, f"restore_value=[{names}]")],
                ),
                kernels=(kernel.name,),
            )


def _several(tuned: ast.Call) -> bool | None:
    """Whether there is more than one configuration; None where the text doesn't tell."""
    configs = next((w.value for w in tuned.keywords if w.arg == "configs"), None)
    configs = configs or (tuned.args[0] if tuned.args else None)
    return len(configs.elts) > 1 if isinstance(configs, ast.List) else None


def _changed_parameters(kernel: Kernel, started: list[Launch]) -> list[str]:
    """Return the parameters through which a kernel changes its own input."""
    written = (kernel.parameter_of(one) for one in kernel.accesses if one.kind != "load")
    read = {kernel.parameter_of(one) for one in kernel.accesses if one.kind != "store"}
    names = filter(None, dict.fromkeys(written))
    return [name for name in names if name in read or _read_as_another(started, name, read)]


def _read_as_another(started: list[Launch], name: str, read: set[str]) -> bool:
    """Whether a launch also passes one parameter's tensor to another parameter that is read."""
    for launch in started:
        mine = launch.arguments.get(name)
        others = (launch.arguments.get(other) for other in read)
        if isinstance(mine, ast.Name) and any(
            isinstance(one, ast.Name) and one.id == mine.id for one in others
        ):
            return True
    return False


RULE = rule_of(__file__, check, predicts="wrong-values")

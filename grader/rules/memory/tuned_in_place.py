"""MEM014: a kernel that changes what it reads is autotuned."""

import ast
from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.page_file import read_page
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.triton import Kernel, Launch, kernels, launches
from grader.source.code_edits import fix, replace

PUTS_BACK = frozenset({"restore_value", "reset_to_zero", "pre_hook", "post_hook"})


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for tuned kernels with a buffer that is both read and written."""
    for kernel in kernels(source):
        tuned = kernel.tuned
        if tuned is None or _several(tuned) is False:
            continue
        if any(word.arg in PUTS_BACK for word in tuned.keywords):
            continue
        changed = _parameter_changed(
            kernel, [one for one in launches(source) if one.kernel is kernel]
        )
        if changed:
            text = source.text(tuned)[:-1].rstrip().rstrip(",")
            yield RULE.finding(
                source.place(tuned),
                f"autotuning runs `{kernel.name}` many times before the launch that counts, and each run changes "
                f"`{changed}`, which the next one reads",
                fixes=fix(
                    "put the buffer back after each trial",
                    [replace(source, tuned, f'{text}, restore_value=["{changed}"])')],
                ),
                kernels=(kernel.name,),
            )


def _several(tuned: ast.Call) -> bool | None:
    """Whether there is more than one configuration; None where the text doesn't tell."""
    configs = next((w.value for w in tuned.keywords if w.arg == "configs"), None)
    configs = configs or (tuned.args[0] if tuned.args else None)
    return len(configs.elts) > 1 if isinstance(configs, ast.List) else None


def _parameter_changed(kernel: Kernel, started: list[Launch]) -> str:
    """Return the parameter through which a kernel changes what it reads; empty for none."""
    written = [kernel.parameter_of(one) for one in kernel.accesses if one.kind != "load"]
    read = {kernel.parameter_of(one) for one in kernel.accesses if one.kind != "store"}
    for name in filter(None, written):
        if name in read:
            return name
        for launch in started:
            same = launch.arguments.get(name)
            others = (launch.arguments.get(other) for other in read)
            if isinstance(same, ast.Name) and any(
                isinstance(one, ast.Name) and one.id == same.id for one in others
            ):
                return name
    return ""


RULE = Rule(**read_page(__file__), check=check, predicts="wrong-values", languages=("triton",))

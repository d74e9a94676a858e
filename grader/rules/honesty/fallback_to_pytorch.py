"""CHT001: if the kernel fails, PyTorch computes the result instead."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding
from grader.rules.rule import Rule, shown
from grader.source import Source
from grader.source.analysis.diagnostics import failures
from grader.source.analysis.fallback import fallbacks


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report each way from a failure of the custom code to a result by PyTorch; after a failed build it was taken."""
    failed = failures(context, "compiler", "ptxas", "link")
    for number, fallback in enumerate(sorted(fallbacks(source), key=lambda one: not one.building)):
        place = source.line_place(fallback.handler.lineno)
        if failed and number == 0:
            said = f"the extension does not build, the handler hides that, and every result comes from PyTorch (line {fallback.instead.lineno})"
            refused = Evidence(
                kind="dispatch",
                code="fallback-after-failed-build",
                text=f"the build failed: {failed[0].text}"[:300],
                place=failed[0].place,
            )
            yield RULE.finding(place, said, severity="error", evidence=(refused,), rejects=True)
            continue
        what = "building the extension" if fallback.building else "the custom kernel"
        yield RULE.finding(
            place,
            f"if {what} fails, this handler goes on, and line {fallback.instead.lineno} computes "
            "the result with PyTorch: a good result then says nothing about the kernel",
        )


HEAD = "import torch\nfrom torch import nn\nfrom torch.utils.cpp_extension import load_inline\n"
CALL = 'load_inline(name="e", cpp_sources=d, cuda_sources=s, functions=["f"])'
_BAD = (
    f"{HEAD}d = s = ''\ntry:\n    ext = {CALL}\nexcept Exception:\n    ext = None\n"
    "class ModelNew(nn.Module):\n    def forward(self, x):\n        if ext is not None:\n"
    "            return ext.f(x)\n        return torch.relu(x)\n"
)
RULE = Rule(
    code="CHT001",
    formerly=("CHT002",),
    name="fallback-to-pytorch",
    severity="warning",
    summary="If the custom code fails, the file silently runs PyTorch instead; a good result then says nothing about the kernel.",
    why="Graders see a right result and count it as a success of the kernel. Most published files "
    "of this kind hide an extension that does not even build.",
    bad=(
        _BAD,
        shown(_BAD, Evidence(kind="compiler", code="error", text="expected a declaration")),
    ),
    good=(
        f"{HEAD}d = s = ''\ntry:\n    ext = {CALL}\nexcept Exception as error:\n"
        "    raise RuntimeError('no compiler') from error\n"
        "class ModelNew(nn.Module):\n    def forward(self, x):\n        return ext.f(x)\n"
    ),
    detects=("text", "build"),
    guards="A handler that raises again, or leaves a name unset so that forward fails, is no "
    "fallback; a separate path for CPU tensors is none either. An error where the build is known to have failed.",
    check=check,
)

"""CHT002: the extension does not build, and PyTorch computes every result."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding
from grader.rules.rule import Example, Rule
from grader.source import Source
from grader.source.analysis.diagnostics import failures
from grader.source.analysis.fallback import fallbacks

BUILD = ("compiler", "ptxas", "link")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for a fallback in a submission whose build is known to fail."""
    failed = failures(context, *BUILD)
    if not failed:
        return
    for fallback in sorted(fallbacks(source), key=lambda one: not one.building)[:1]:
        yield RULE.finding(
            source.line_place(fallback.handler.lineno),
            f"the extension does not build, the handler hides that, and every result comes from PyTorch (line {fallback.instead.lineno})",
            evidence=(
                Evidence(
                    kind="dispatch",
                    code="fallback-after-failed-build",
                    text=f"the build failed: {failed[0].text}"[:300],
                    place=failed[0].place,
                ),
            ),
            rejects=True,
        )


HEAD = "import torch\nfrom torch import nn\nfrom torch.utils.cpp_extension import load_inline\n"
SAMPLE = (
    f"{HEAD}try:\n"
    '    ext = load_inline(name="e", cpp_sources="", cuda_sources="?", functions=["f"])\n'
    "except Exception:\n    ext = None\nclass ModelNew(nn.Module):\n    def forward(self, x):\n"
    "        return ext.f(x) if ext else torch.relu(x)\n"
)
RULE = Rule(
    code="CHT002",
    name="kernel-cannot-run-but-result-passes",
    summary="The CUDA part can never be built, so every measured result came from the PyTorch fallback.",
    why="The file passes graders that look at the result only, without a kernel that ever ran.",
    bad=Example(
        SAMPLE,
        Context(evidence=(Evidence(kind="compiler", code="error", text="expected a declaration"),)),
    ),
    good=SAMPLE,
    detects=("build",),
    guards="Needs the compiler's own refusal, with the extension built outside of the handler; a suspicion is not enough.",
    check=check,
)

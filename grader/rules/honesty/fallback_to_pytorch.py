"""CHT001: if the kernel fails, PyTorch computes the result instead."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.fallback import fallbacks


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Report each way from a failure of the custom code to a result by PyTorch."""
    for fallback in fallbacks(source):
        what = "building the extension" if fallback.building else "the custom kernel"
        yield RULE.finding(
            source.line_place(fallback.handler.lineno),
            f"if {what} fails, this handler goes on, and line {fallback.instead.lineno} computes "
            "the result with PyTorch: a good result then says nothing about the kernel",
        )


HEAD = "import torch\nfrom torch import nn\nfrom torch.utils.cpp_extension import load_inline\n"
CALL = 'load_inline(name="e", cpp_sources=d, cuda_sources=s, functions=["f"])'
RULE = Rule(
    code="CHT001",
    name="fallback-to-pytorch",
    severity="warning",
    summary="If the custom code fails, the file silently runs PyTorch instead; a good result then says nothing about the kernel.",
    why="Graders see a right result and count it as a success of the kernel. Most published files "
    "of this kind hide an extension that does not even build.",
    bad=(
        f"{HEAD}d = s = ''\ntry:\n    ext = {CALL}\nexcept Exception:\n    ext = None\n"
        "class ModelNew(nn.Module):\n    def forward(self, x):\n        if ext is not None:\n"
        "            return ext.f(x)\n        return torch.relu(x)\n"
    ),
    good=(
        f"{HEAD}d = s = ''\ntry:\n    ext = {CALL}\nexcept Exception as error:\n"
        "    raise RuntimeError('no compiler') from error\n"
        "class ModelNew(nn.Module):\n    def forward(self, x):\n        return ext.f(x)\n"
    ),
    guards="A handler that raises again, or leaves a name unset so that forward fails, is no "
    "fallback; a separate path for CPU tensors is none either.",
    check=check,
)

"""MEM003: a tensor in CPU memory is handed to a kernel."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.records.observed import kernel_of, observed
from grader.rules.proofs import confirm, settle
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.host_code import global_regions
from grader.source.analysis.walks import Case, cases, spans
from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import text
from grader.source.flow import Tensor

FACTORIES = frozenset({"zeros", "empty", "ones", "full", "rand", "randn"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for tensors made without saying where, among the kernels' arguments."""
    kernels = spans(source)
    found = tuple(_text(source, context))
    proof = observed(context, "host-memory")
    yield from confirm(found, proof, kernels)
    told = {kernel for kernel, _ in found}
    rest = [item for item in proof if kernel_of(item, kernels) not in told]
    yield from settle(RULE, (), rest, kernels)


def _text(source: Source, context: Context) -> Iterator[tuple[str, Finding]]:
    seen: set[int] = set()
    for case in cases(source, context):
        for region in global_regions(case):
            tensor = region.tensor
            if (
                tensor is None
                or tensor.node is None
                or tensor.node.id in seen
                or not _on_host(tensor)
            ):
                continue
            seen.add(tensor.node.id)
            yield (
                case.kernel,
                RULE.finding(
                    case.place(tensor.node),
                    f"the tensor made here lives in CPU memory (no device is given), and the kernel gets its pointer as `{region.name}`: "
                    "the GPU can't read it",
                    fixes=_fixes(case, tensor),
                    kernels=(case.kernel,),
                ),
            )


def _on_host(tensor: Tensor) -> bool:
    if tensor.name not in FACTORIES or tensor.source is not None:
        return False
    arguments = tensor.node.child_by_field_name("arguments")
    given = (
        [c for c in arguments.named_children if c.type != "comment"]
        if arguments is not None
        else []
    )
    expected = 2 if tensor.name == "full" else 1
    if len(given) == expected:
        return True
    words = " ".join(text(c) for c in given[expected:])
    plain = words.replace("torch::", "").replace("at::", "")
    return plain in {"kFloat32", "kFloat", "kInt", "kInt32", "kLong", "kInt64", "kDouble", "kHalf"}


def _fixes(case: Case, tensor: Tensor) -> Iterator[Fix]:
    inputs = [p.name for p in case.launch.host.parameters if p.type.endswith("Tensor")]
    arguments = tensor.node.child_by_field_name("arguments")
    if inputs and arguments is not None and tensor.name in FACTORIES - {"full"}:
        given = [c for c in arguments.named_children if c.type != "comment"]
        if len(given) == 1:
            at = given[0].end_byte
            yield from fix(
                f"make it where `{inputs[0]}` is",
                [case.unit.edit(at, at, f", {inputs[0]}.options()")],
            )
        elif len(given) == 2:  # of a type of its own
            words = f"{inputs[0]}.options().dtype({text(given[1])})"
            yield from fix(
                f"make it where `{inputs[0]}` is", [replace_node(case.unit, given[1], words)]
            )


_BAD = """
__global__ void sums(const float* x, float* s, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) s[i] = x[i];
}
torch::Tensor run(torch::Tensor x) {
    int n = x.numel();
    auto s = torch::zeros({n});
    sums<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), s.data_ptr<float>(), n);
    return s;
}
"""
RULE = Rule(
    code="MEM003",
    name="host-pointer-passed-to-kernel",
    severity="error",
    summary="A tensor that lives in CPU memory is handed to the GPU kernel, which then faults.",
    why="`torch::zeros({n})` without options makes a CPU tensor. Its pointer means nothing to the GPU: the kernel stops with an illegal "
    "memory access. Take the options of an input.",
    bad=_BAD,
    good=_BAD.replace("n}", "n}, x.options()"),
    detects=("text", "evidence"),
    guards="Options that come from a variable are believed; only tensors made with no options, or with nothing but a dtype, are "
    "reported, and only when a kernel gets their pointer.",
    fix="Adds the options of the first input.",
    check=check,
    predicts="traps",
)

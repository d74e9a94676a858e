"""MEM003: a tensor in CPU memory is handed to a kernel."""

from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Finding, Fix
from grader.records.observed import kernel_of, observed
from grader.rules.proofs import confirm, settle
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.host_code import global_regions
from grader.source.analysis.walks import Case, cases, spans
from grader.source.code_edits import fix
from grader.source.cuda_code import text
from grader.source.flow import Tensor

FACTORIES = frozenset({"zeros", "empty", "ones", "full", "rand", "randn"})
DTYPES = {"kFloat32", "kFloat", "kInt", "kInt32", "kLong", "kInt64", "kDouble", "kHalf"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for tensors made without saying where, among the kernels' arguments."""
    kernels, proof = spans(source), observed(context, "host-memory")
    found: dict[int, tuple[str, Finding]] = {}
    for case in cases(source, context):
        for region in global_regions(case):
            tensor = region.tensor
            if tensor is not None and tensor.node is not None and _is_on_host(tensor):
                found.setdefault(tensor.node.id, (case.kernel, _finding(case, tensor, region.name)))
    yield from confirm(found.values(), proof, kernels)
    told = {kernel for kernel, _ in found.values()}
    rest = [item for item in proof if kernel_of(item, kernels) not in told]
    yield from settle(RULE, (), rest, kernels)


def _finding(case: Case, tensor: Tensor, name: str) -> Finding:
    return RULE.finding(
        case.place(tensor.node),
        f"the tensor made here lives in CPU memory (no device is given), and the kernel gets its pointer as `{name}`: "
        "the GPU can't read it",
        fixes=_fixes(case, tensor),
        kernels=(case.kernel,),
    )


def _given(tensor: Tensor) -> list[Node]:
    arguments = tensor.node.child_by_field_name("arguments")
    return [c for c in arguments.named_children if c.type != "comment"] if arguments else []


def _is_on_host(tensor: Tensor) -> bool:
    """Whether a factory is told sizes, and a plain type at most."""
    if tensor.name not in FACTORIES or tensor.source is not None:
        return False
    more = _given(tensor)[2 if tensor.name == "full" else 1 :]
    return not more or " ".join(map(text, more)).rpartition("::")[2] in DTYPES


def _fixes(case: Case, tensor: Tensor) -> tuple[Fix, ...]:
    inputs = [p.name for p in case.launch.host.parameters if p.type.endswith("Tensor")]
    given = _given(tensor)
    if not inputs or tensor.name == "full" or len(given) not in {1, 2}:
        return ()
    options = f"{inputs[0]}.options()" + (f".dtype({text(given[1])})" if len(given) == 2 else "")
    edit = case.unit.edit(given[0].end_byte, given[-1].end_byte, f", {options}")
    return fix(f"make it where `{inputs[0]}` is", [edit])


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

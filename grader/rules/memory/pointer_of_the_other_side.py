"""MEM003: a pointer is followed where its memory isn't: the CPU's in a kernel, or the GPU's in host code."""

from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Finding, Fix, Place
from grader.records.observed import kernel_of, observed_evidence
from grader.rules.page_file import read_page
from grader.rules.proofs import confirm, settle
from grader.rules.rule import Rule
from grader.source import Source, Unit
from grader.source.analysis.host_code import global_regions
from grader.source.analysis.walks import Case, cases, spans
from grader.source.code_edits import fix
from grader.source.cuda_code import cuda_code, text, units
from grader.source.flow import Tensor

FACTORIES = frozenset({"zeros", "empty", "ones", "full", "rand", "randn"})
DTYPES = {"kFloat32", "kFloat", "kInt", "kInt32", "kLong", "kInt64", "kDouble", "kHalf"}
POINTERS = ("data_ptr", "cudaMalloc")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for tensors made without saying where among the kernels' arguments, and for what a run showed of host code."""
    yield from _in_kernels(source, context)
    followed = observed_evidence(context, "host-access")
    for item in followed[:1]:
        place = next((place for unit in units(source) for place in _places(unit)), None)
        yield RULE.finding(place, item.text, evidence=followed)


def _in_kernels(source: Source, context: Context) -> Iterator[Finding]:
    kernels, proof = spans(source), observed_evidence(context, "host-memory")
    found: dict[int, Finding] = {}
    for case in cases(source, context):
        for region in global_regions(case):
            tensor = region.tensor
            if tensor is not None and tensor.node is not None and _is_on_host(tensor):
                found.setdefault(tensor.node.id, _finding(case, tensor, region.name))
    yield from confirm(found.values(), proof, source)
    told = {finding.kernels[0] for finding in found.values()}
    rest = [item for item in proof if kernel_of(item, kernels) not in told]
    yield from settle(RULE, (), rest, source)


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
    inputs = [p.name for p in case.launch.host.parameters if p.kind.endswith("Tensor")]
    given = _given(tensor)
    if not inputs or tensor.name == "full" or len(given) not in {1, 2}:
        return ()
    options = f"{inputs[0]}.options()" + (f".dtype({text(given[1])})" if len(given) == 2 else "")
    edit = case.unit.edit(given[0].end_byte, given[-1].end_byte, f", {options}")
    return fix(f"make it where `{inputs[0]}` is", [edit])


def _places(unit: Unit) -> Iterator[Place]:
    """Yield where host code indexes or follows a pointer that it got from a tensor."""
    code = cuda_code(unit)
    follows = [node for node in code.of("pointer_expression") if text(node).startswith("*")]
    nodes = [*code.of("subscript_expression"), *follows]
    for node in sorted(nodes, key=lambda one: one.start_byte):
        base, function = text(node.child_by_field_name("argument")), code.function(node)
        if function is not None and function.runs == "host" and not code.is_off(node):
            body = text(function.body)
            if any(name in base for name in POINTERS) or _is_pointer(base, body):
                yield unit.place(node)


def _is_pointer(name: str, body: str) -> bool:
    """Whether a function's text makes the name from a tensor's pointer."""
    made = [line for line in body.split(";") if name.isidentifier() and f"{name} =" in line]
    return any(word in line for line in made for word in POINTERS)


RULE = Rule(
    **read_page(__file__),
    formerly=("MEM013",),
    detects=("text", "evidence"),
    check=check,
    predicts="traps",
)

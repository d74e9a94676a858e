"""MEM003: a pointer is dereferenced on the wrong side: the CPU's in a kernel, or the GPU's in host code."""

from collections.abc import Iterator

from grader.records import NotDeviceMemory
from grader.records.observed import kernel_of, observed_evidence
from grader.rules import Context, Evidence, Finding, Place, Source, Unit, rule_of
from grader.rules.proofs import report_by_line
from grader.source.analysis.cases import Case, cases, spans
from grader.source.analysis.host_code import origin
from grader.source.flow import Tensor
from grader.source.nodes import text

POINTERS = ("data_ptr", "cudaMalloc")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report evidence of CPU pointers passed to kernels, and of host code that dereferences GPU pointers."""
    found: dict[int, tuple[Case, Tensor, list[Evidence]]] = {}
    rest: list[Evidence] = []
    for item in observed_evidence(context, "host-memory"):
        case, tensor = _given_tensor(source, context, item)
        if case is None or tensor is None or tensor.node is None:
            rest.append(item)
        else:
            found.setdefault(tensor.node.id, (case, tensor, []))[2].append(item)
    for case, tensor, items in found.values():
        yield RULE.finding(
            case.place(tensor.node),
            f"the tensor made here lives in CPU memory, and `{case.kernel}` gets its pointer: the GPU can't read it",
            evidence=items,
            kernels=(case.kernel,),
        )
    yield from report_by_line(RULE, rest)
    followed = observed_evidence(context, "host-access")
    for item in followed[:1]:
        place = next((place for unit in source.units for place in _places(unit)), None)
        yield RULE.finding(place, item.text, evidence=followed)


def _given_tensor(
    source: Source, context: Context, item: Evidence
) -> tuple[Case | None, Tensor | None]:
    """Return the launch with the tensor that it passes to the parameter named by a run."""
    kernel = kernel_of(item, spans(source))
    case = next((one for one in cases(source, context) if one.kernel == kernel), None)
    refused = item.details
    if case is None or not isinstance(refused, NotDeviceMemory):
        return None, None
    given = [*case.launch.arguments[refused.parameter :][:1], None][0]
    return case, origin(given) if isinstance(given, Tensor) else None


def _places(unit: Unit) -> Iterator[Place]:
    """Yield the places where host code dereferences a tensor's pointer."""
    follows = [node for node in unit.nodes("pointer_expression") if text(node).startswith("*")]
    nodes = [*unit.nodes("subscript_expression"), *follows]
    for node in sorted(nodes, key=lambda one: one.start_byte):
        base, function = text(node.child_by_field_name("argument")), unit.function_around(node)
        if function is not None and function.runs == "host" and not unit.is_switched_off(node):
            body = text(function.body)
            if any(name in base for name in POINTERS) or _is_pointer(base, body):
                yield unit.place(node)


def _is_pointer(name: str, body: str) -> bool:
    """Whether a function defines the name from a tensor's pointer."""
    made = [line for line in body.split(";") if name.isidentifier() and f"{name} =" in line]
    return any(word in line for line in made for word in POINTERS)


RULE = rule_of(__file__, check, predicts="traps")

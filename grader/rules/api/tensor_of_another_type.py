"""API005: `data_ptr` asks for another type than the tensor has, so the call ends in an error."""

from collections.abc import Iterator

from grader.rules import Context, Evidence, Finding, Fix, Source, Unit, fix, rule_of
from grader.source.code_edits import replace_node
from grader.source.cpp import Call, Declare, Name, walk
from grader.source.functions import Function
from grader.source.nodes import one_line
from grader.source.scalar_types import RAISED, TYPES

NAMED = {
    "kFloat32": "Float", "kFloat": "Float", "kFloat64": "Double", "kDouble": "Double",
    "kInt64": "Long", "kLong": "Long", "kInt32": "Int", "kInt": "Int", "kFloat16": "Half",
    "kHalf": "Half", "kBFloat16": "BFloat16", "kBool": "Bool", "kUInt8": "Byte",
}  # fmt: skip
MAKERS = ("empty", "zeros", "ones", "full", "arange", "empty_like", "zeros_like", "to")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the types of tensors with those of their pointers, and read the exceptions raised."""
    matches = ((item, RAISED.search(item.said)) for item in context.evidence_of("python"))
    raised = [(item, match[1], match[2]) for item, match in matches if match]
    functions = [(unit, function) for unit in source.cuda for function in unit.functions]
    pointers = [(u, f, call, kind) for u, f in functions for call, kind in _pointers(f)]
    named = [(*one, _made_as(one[1], one[2])) for one in pointers]
    wrong = [
        (u, call, kind, name) for u, _, call, kind, name in named if name and _scalar(name) != kind
    ]
    for unit, call, wanted, name in wrong:
        made = _scalar(name)
        proof = [item for item, want, got in raised if (want, got) == (wanted, made)]
        edit = replace_node(unit, name.node, f"torch::k{wanted}")
        fixes = fix(f"make the tensor as torch::k{wanted}", [edit])
        yield _finding(unit, call, wanted, made, proof, fixes)
    for item, wanted, made in raised if not wrong else ():
        asking = [(u, call) for u, _, call, kind in pointers if kind.lower() == wanted.lower()]
        for unit, call in asking[:1]:
            yield _finding(unit, call, wanted, made, [item], ())


def _pointers(function: Function) -> Iterator[tuple[Call, str]]:
    """Yield the calls of `data_ptr<T>()` with their scalar type."""
    for part in walk(function.code):
        if isinstance(part, Call) and part.name in {"data_ptr", "data"} and part.template:
            wanted = TYPES.get(part.template[0].removeprefix("const ").strip())
            if wanted and part.base is not None:
                yield part, wanted


def _made_as(function: Function, call: Call) -> Name | None:
    """Return the one name of a scalar type in the initialiser that makes a pointer's tensor."""
    tensor = call.base.id if isinstance(call.base, Name) else ""
    declared = [p for p in walk(function.code) if isinstance(p, Declare) and p.name == tensor]
    init = declared[-1].init if declared else None
    if not isinstance(init, Call) or init.name not in MAKERS:
        return None
    named = [p for p in walk(init) if isinstance(p, Name) and _scalar(p)]
    return named[0] if len({_scalar(p) for p in named}) == 1 else None


def _scalar(name: Name) -> str:
    return NAMED.get(name.id.rsplit("::", 1)[-1], "")


def _finding(
    unit: Unit, call: Call, wanted: str, made: str, proof: list[Evidence], fixes: tuple[Fix, ...]
) -> Finding:
    return RULE.finding(
        unit.place(call.node),
        f"`{one_line(call.node, 50)}` asks for {wanted}, the tensor is {made}: the call raises before any kernel runs",
        evidence=proof,
        fixes=fixes,
    )


RULE = rule_of(__file__, check)

"""BLD010: one name for dynamic shared memory, declared with two types."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Extension, Function, SharedArray, Source, Unit
from grader.source.analysis.diagnostics import confirming
from grader.source.code_edits import fix, replace_node
from grader.source.instantiations import instantiations

KINDS = ("incompatible-declaration", "redefinition")
Declared = tuple["Unit", "Function", "SharedArray"]


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the types that each dynamic array gets over all instantiations of all kernels."""
    for extension in source.extensions:
        by_name: dict[str, list[Declared]] = {}
        for unit in extension.cuda:
            for function in (*unit.kernels, *unit.device_functions):
                for array in function.shared:
                    if array.dynamic:
                        by_name.setdefault(array.name, []).append((unit, function, array))
        for name, places in by_name.items():
            yield from _name(extension, name, places, context)


def _name(
    extension: Extension, name: str, places: list[Declared], context: Context
) -> Iterator[Finding]:
    types: dict[str, None] = {}
    template: Declared | None = None
    for unit, function, array in places:
        own = _types(extension, function, array)
        types.update(dict.fromkeys(own))
        if array.element_type in {one.name for one in function.template_parameters}:
            template = template or (unit, function, array)
    evidence = confirming(context, KINDS, (name,))
    if len(types) > 1 or evidence:
        yield _error(name, places, template, tuple(types), evidence)
    elif template is not None:
        unit, _, array = template
        yield RULE.finding(
            unit.place(array.node),
            f"{name} has the template's type {array.element_type}: this builds only as long as the "
            "kernel is instantiated with a single type",
            severity="note",
            fixes=_fixes([template]),
        )


def _error(
    name: str,
    places: list[Declared],
    template: Declared | None,
    types: tuple[str, ...],
    evidence: tuple[Evidence, ...],
) -> Finding:
    unit, _, array = template or places[-1]
    kinds = " and ".join(types[:3]) or "several types"
    return RULE.finding(
        unit.place(array.node),
        f"the dynamic shared array {name} is declared as {kinds}: all declarations of one name in "
        "a file are the same variable, so this does not compile",
        evidence=evidence,
        fixes=_fixes(places),
    )


def _types(extension: Extension, function: Function, array: SharedArray) -> tuple[str, ...]:
    """Return the types that an array gets; empty where a template is not seen to be used."""
    if array.element_type not in {one.name for one in function.template_parameters}:
        return (array.element_type,)
    kernels = [kernel for unit in extension.cuda for kernel in unit.kernels if kernel is function]
    found = [
        instance.types[array.element_type]
        for kernel in kernels
        for instance in instantiations(extension.cuda, kernel)
        if array.element_type in instance.types
    ]
    known = [one for one in found if one not in {"scalar_t", array.element_type}]
    return tuple(dict.fromkeys(known))


def _fixes(places: list[Declared]) -> tuple[Fix, ...]:
    edits = []
    for unit, _, array in places:
        raw = f"{array.name}_bytes"
        edits.append(
            replace_node(
                unit,
                array.node,
                f"extern __shared__ __align__(16) unsigned char {raw}[];\n"
                f"    {array.element_type}* {array.name} = "
                f"reinterpret_cast<{array.element_type}*>({raw});",
            )
        )
    label = "declare the dynamic shared memory as bytes and cast once"
    return fix(label, edits)


_BAD = """
template <typename T> __global__ void k(T* y) {
    extern __shared__ T buffer[];
    buffer[threadIdx.x] = T(1);
    y[threadIdx.x] = buffer[threadIdx.x];
}
torch::Tensor f(torch::Tensor x) {
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", ([&] {
        k<scalar_t><<<1, 32, 32 * sizeof(scalar_t)>>>(x.data_ptr<scalar_t>());
    }));
    return x;
}
"""
RULE = Rule(
    code="BLD010",
    name="extern-shared-template-type",
    severity="error",
    summary="Two versions of a templated kernel declare the same dynamic shared array with different types, which does not compile.",
    why="`extern __shared__` names one variable for the whole file. Declare it as bytes, aligned, "
    "and cast the pointer to the type that the kernel needs.",
    bad=_BAD,
    good=_BAD.replace(
        "T buffer[];\n    buffer[threadIdx.x] = T(1",
        "__align__(16) unsigned char raw[];\n    T* buffer = reinterpret_cast<T*>(raw",
    ).replace(
        "torch::Tensor f",
        "__global__ void a(float* y) { extern __shared__ float s[]; s[0] = 1; y[0] = s[0]; }\n__global__ void b(float* y) { extern __shared__ float s[]; s[0] = 1; y[0] = s[0]; }\ntorch::Tensor f",
    ),
    detects=("text", "build"),
    languages=("cuda",),
    guards="A template that is instantiated with one type compiles: a note.",
    fix="Declares aligned bytes and casts the pointer once.",
    check=check,
)

"""MEM013: host code follows a pointer into the GPU's memory."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, Place
from grader.records.observed import observed
from grader.rules.rule import Example, Rule
from grader.source import Source, Unit
from grader.source.cuda_code import cuda_code, text, units

POINTERS = ("data_ptr", "cudaMalloc")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report what a run showed, at the first place of host code that does such a thing."""
    proof = observed(context, "host-access")
    if proof:
        place = next((place for unit in units(source) for place in _places(unit)), None)
        yield RULE.finding(place, proof[0].text, evidence=proof)


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


_CODE = """
__global__ void scale(const float* x, float* y, float s, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * s;
}
torch::Tensor run(torch::Tensor x, torch::Tensor s) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    float factor = FACTOR;
    scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), factor, n);
    return y;
}
"""

RULE = Rule(
    code="MEM013",
    name="host-touches-device-memory",
    summary="Host code reads or writes the GPU's memory through a pointer, which ends the process.",
    why="`data_ptr()` of a CUDA tensor is an address of the GPU's. The CPU has no such page: the process stops with a segmentation "
    "fault. Copy the value over first (`x.item<float>()`, `cudaMemcpy`), or hand the pointer to the kernel.",
    bad=Example(
        _CODE.replace("FACTOR", "s.data_ptr<float>()[0]"),
        Context(
            evidence=(
                Evidence(
                    kind="simulator",
                    code="host-access",
                    text="The host code reads the GPU's memory through a pointer.",
                ),
            )
        ),
    ),
    good=_CODE.replace("FACTOR", "s.item<float>()"),
    detects=("evidence",),
    guards="Only what a run has shown; tensors of the CPU may be read so.",
    check=check,
    predicts="traps",
)

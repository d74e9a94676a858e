"""What compilers say is understood in their dialects, and explains one cause by one finding."""

# ruff: noqa: RUF001  -- compilers print typographic quotes

from __future__ import annotations

import pytest

from grader.records import Context, Evidence, Finding
from grader.source import Source, parse
from grader.source.analysis.diagnostics import explain
from grader.source.edits import apply
from tests.rules.examples import as_submission
from tests.rules.reviews import review_with_fixes

# as printed by nvcc 13.0, clang 21 (zig) and g++ for one and the same mistake
DIALECTS = {
    "no-member": (
        'namespace "at::cuda" has no member "getCurrentCUDAStream"',
        "no member named 'getCurrentCUDAStream' in namespace 'at::cuda'",
        "‘getCurrentCUDAStream’ is not a member of ‘at::cuda’",
        'class "at::Tensor" has no member "nothing"',
        "no member named 'nothing' in 'at::Tensor'",
        "‘struct at::Tensor’ has no member named ‘nothing’",
    ),
    "undefined-identifier": (
        'identifier "undefined_name" is undefined',
        "use of undeclared identifier 'undefined_name'",
        "‘undefined_name’ was not declared in this scope",
        "unknown type name 'Type'",
        "‘Type’ was not declared in this scope; did you mean ‘typeof’?",
    ),
    "no-overload": (
        'no instance of overloaded function "std::min" matches the argument list',
        "no matching function for call to 'min'",
        "no matching function for call to ‘min(long int, int)’",
    ),
    "no-operator": (
        'no operator "*" matches these operands',
        "invalid operands to binary expression ('S' and 'S')",
        "no match for ‘operator*’ (operand types are ‘S’ and ‘S’)",
    ),
    "no-conversion": (
        'a value of type "int" cannot be used to initialize an entity of type "float *"',
        "cannot initialize a variable of type 'float *' with an lvalue of type 'int'",
        "invalid conversion from ‘int’ to ‘float*’ [-fpermissive]",
        (
            'no suitable conversion function from "const at::DeprecatedTypeProperties" to '
            '"c10::ScalarType" exists'
        ),
    ),
    "redefinition": (
        '"a" has already been declared in the current scope',
        "redefinition of 'a'",
        'function "g" has already been defined (previous definition at line 7)',
        "redefinition of ‘int g(at::Tensor, int, int)’",
        "multiple definition of `PyInit_l2_norm'",
    ),
    "modify-constant": (
        "expression must be a modifiable lvalue",
        "cannot assign to variable 'c' with const-qualified type 'const int'",
        "assignment of read-only variable ‘c’",
    ),
    "missing-header": (
        'cannot open source file "nothere.h"',
        "'nothere.h' file not found",
        "fatal error: nothere.h: No such file or directory",
        "nothere.h: No such file or directory",
    ),
    "syntax": (
        "expected a member name",
        'expected a ";"',
        "expected ';' after expression",
        "expected ‘;’ before ‘}’ token",
    ),
    "ambiguous-call": (
        'more than one instance of overloaded function "min" matches the argument list:',
        "call to 'min' is ambiguous",
        "call of overloaded ‘min(long int, int)’ is ambiguous",
    ),
    "argument-count": (
        "too many arguments in function call",
        "too many arguments to function call, expected 1, have 2",
    ),
    "not-constant": ("expression must have a constant value",),
    "incompatible-declaration": ('declaration is incompatible with previous "s"',),
    "shared-memory": (
        (
            "ptxas error   : Entry function '_Z1kIdEvPKT_PS0_i' uses too much shared data "
            "(0x40000 bytes, 0xc000 max)"
        ),
    ),
    "undefined-symbol": (
        "undefined symbol: _Z5scaleN2at6TensorEf",
        "undefined reference to `scale(at::Tensor, float)'",
    ),
    "python-attribute": ("module 'e' has no attribute 'forward'",),
    "python-argument": (
        "load_inline() got an unexpected keyword argument 'cuda_headers'",
        "Model.__init__() missing 1 required positional argument: 'num_features'",
    ),
}


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in DIALECTS.items() for text in texts]
)
def test_messages_of_every_dialect(kind: str, text: str) -> None:
    meaning = explain(text)
    assert meaning is not None
    assert meaning.kind == kind
    assert "{" not in meaning.sentence


def test_unknown_words_are_left_alone() -> None:
    assert explain("an entirely new complaint") is None


def error(source: Source, text: str, needle: str, kind: str = "compiler") -> Evidence:
    """Return an error as the build would report it, at the line that holds some text."""
    line = next(i for i, one in enumerate(source.lines, 1) if needle in one)
    return Evidence(kind=kind, code="error", text=text, place=source.line_place(line))  # type: ignore[arg-type]


def build(source: Source, *evidence: Evidence) -> tuple[Finding, ...]:
    return review_with_fixes(source, Context(evidence=evidence), select=("EXT", "BLD", "CHT"))


STREAM = as_submission("""
#include <torch/extension.h>
__global__ void k(float* p) { p[threadIdx.x] = 1.0f; }
torch::Tensor f(torch::Tensor x) {
    k<<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>());
    return x;
}
""")


def test_a_rule_that_explains_the_error_takes_it_over() -> None:
    source = parse(STREAM)
    said = error(source, DIALECTS["no-member"][0], "getCurrentCUDAStream")
    again = error(source, DIALECTS["no-member"][1], "getCurrentCUDAStream")
    findings = build(source, said, again)
    assert [(one.rule, one.confidence) for one in findings] == [("BLD001", "proven")]
    assert said in findings[0].evidence
    assert findings[0].also == ()


@pytest.mark.parametrize(
    ("line", "said", "name", "header"),
    [
        (
            "thrust::device_ptr<float> q(p);",
            ['namespace "thrust" has no member "device_ptr"', 'identifier "q" is undefined'],
            "thrust::device_ptr",
            "thrust/device_ptr.h",
        ),
        (
            "using Reduce = cub::BlockReduce<float, 256>;",
            ['name followed by "::" must be a class or namespace name', 'expected a ";"'],
            "cub",
            "cub/cub.cuh",
        ),
        (
            "using Reduce = cub::BlockReduce<float, 256>;",
            ['namespace "cub" has no member "BlockReduce"', 'expected a ";"'],
            "cub::BlockReduce",
            "cub/cub.cuh",
        ),
        (
            "float low = -CUDART_INF_F;",
            ['identifier "CUDART_INF_F" is undefined'],
            "CUDART_INF_F",
            "math_constants.h",
        ),
        (
            "cublasHandle_t handle;",
            ["‘cublasHandle_t’ was not declared in this scope"],
            "cublasHandle_t",
            "cublas_v2.h",
        ),
        (
            "float total = cooperative_groups::reduce(warp, v, cooperative_groups::plus<float>());",
            [
                "no member named 'reduce' in namespace 'cooperative_groups'",
                'namespace "cooperative_groups" has no member "plus"',
            ],
            "cooperative_groups::reduce and cooperative_groups::plus",
            "cooperative_groups/reduce.h",
        ),
    ],
)
def test_a_header_of_a_library_is_missed_where_the_compiler_says_so(
    line: str, said: list[str], name: str, header: str
) -> None:
    groups = "#include <torch/extension.h>\n#include <cooperative_groups.h>"
    code = STREAM.replace("at::cuda::getCurrentCUDAStream()", "nullptr")
    code = code.replace("p[threadIdx.x] = 1.0f;", f"float v = 1.0f; auto warp = v; {line}")
    code = code.replace("#include <torch/extension.h>", groups)
    source = parse(code)
    assert not build(source)
    findings = build(source, *(error(source, text, line) for text in said))
    assert [(one.rule, one.confidence) for one in findings] == [("BLD001", "proven")]
    assert findings[0].message.startswith(f"{name} ")
    assert f"#include <{header}>" in apply(code, findings[0].fixes[0].edits)
    included = parse(code.replace("#include <torch/extension.h>", f"#include <{header}>"))
    found = build(included, *(error(included, text, line) for text in said))
    assert "BLD001" not in [one.rule for one in found]


def test_what_is_no_python_is_said_once() -> None:
    source = parse("import torch\nprototype = (\n    // comes later\n)\n")
    said = error(source, "SyntaxError: invalid syntax (line 3)", "// comes later", "python")
    assert [(one.rule, one.also) for one in build(source, said)] == [("EXT001", ())]


def test_what_no_rule_explains_is_said_in_words() -> None:
    source = parse(STREAM.replace("at::cuda::getCurrentCUDAStream()", "my_stream(x)"))
    first = error(source, 'identifier "my_stream" is undefined', "my_stream")
    rest = error(source, 'expected a ";"', "return x")
    findings = build(source, first, rest)
    assert [one.rule for one in findings] == ["BLD015"]
    assert "the name `my_stream` is not defined" in findings[0].message
    assert findings[0].place is not None
    assert "my_stream" in findings[0].place.excerpt
    assert len(findings[0].evidence) == 2


def test_two_causes_are_two_findings() -> None:
    source = parse(
        STREAM.replace("at::cuda::getCurrentCUDAStream()", "my_stream(x)").replace(
            "p[threadIdx.x] = 1.0f", "p[threadIdx.x] = other(1.0f)"
        )
    )
    findings = build(
        source,
        error(source, 'identifier "other" is undefined', "other(1.0f)"),
        error(source, 'identifier "my_stream" is undefined', "my_stream"),
    )
    assert [one.rule for one in findings] == ["BLD015", "BLD015"]


def test_a_name_that_a_refused_line_would_have_declared_is_no_cause_of_its_own() -> None:
    code = STREAM.replace("at::cuda::getCurrentCUDAStream()", "nullptr").replace(
        "p[threadIdx.x] = 1.0f;", "Missing<float> *kept = make();\n    p[0] = kept[0];"
    )
    source = parse(code)
    first = error(source, 'identifier "Missing" is undefined', "Missing<float>")
    second = error(source, 'identifier "kept" is undefined', "p[0] = kept[0]")
    (finding,) = build(source, first, second)
    assert finding.evidence == (first, second)


def test_python_speaks_only_where_the_compilers_were_content() -> None:
    source = parse(STREAM)
    said = error(source, DIALECTS["no-member"][0], "getCurrentCUDAStream")
    python = Evidence(kind="python", code="RuntimeError", text="Error building extension 'e'")
    assert [one.rule for one in build(source, said, python)] == ["BLD001"]


def test_the_loader_proves_a_wrong_prototype() -> None:
    code = as_submission("torch::Tensor scale(torch::Tensor x, double a) {\n    return x;\n}")
    source = parse(
        code.replace("scale(torch::Tensor x, double a);", "scale(torch::Tensor x, float a);")
    )
    said = Evidence(kind="link", code="error", text=DIALECTS["undefined-symbol"][0])
    findings = [one for one in build(source, said) if one.rule.startswith("BLD")]
    assert [(one.rule, one.confidence) for one in findings] == [("BLD002", "proven")]


def test_ptxas_proves_the_shared_array() -> None:
    code = as_submission("""
__global__ void k(float* y) {
    __shared__ float rows[20000];
    rows[threadIdx.x] = 1.0f;
    y[threadIdx.x] = rows[threadIdx.x];
}
torch::Tensor f(torch::Tensor x) {
    k<<<1, 256>>>(x.data_ptr<float>());
    return x;
}
""")
    said = Evidence(
        kind="ptxas",
        code="error",
        text="Entry function '_Z1kPf' uses too much shared data (0x13880 bytes, 0xc000 max)",
    )
    findings = [one for one in build(parse(code), said) if one.rule.startswith("BLD")]
    assert [(one.rule, one.confidence) for one in findings] == [("BLD009", "proven")]
    labels = [fix.label for fix in findings[0].fixes]
    assert labels[0] == "make rows dynamic shared memory and opt in to its size"


CALLED = """
import torch
from torch.utils.cpp_extension import load_inline
source = "torch::Tensor f(torch::Tensor x) {{ return x; }}"
ext = load_inline(name="e", cpp_sources="torch::Tensor f(torch::Tensor x);", cuda_sources=source, functions=["f"])
class ModelNew(torch.nn.Module):
    def forward(self, x):
        {}
"""


@pytest.mark.parametrize(
    ("body", "said", "rule"),
    [
        ("return ext(x)", "TypeError: 'module' object is not callable", "BLD003"),
        ("return ext.g(x)", "AttributeError: module 'e' has no attribute 'g'", "BLD003"),
        ("return ext.f(x * eps)", "NameError: name 'eps' is not defined", "EXT003"),
    ],
)
def test_what_the_run_raised_proves_what_the_text_says(body: str, said: str, rule: str) -> None:
    source = parse(CALLED.format(body))
    foretold = ["likely"] if rule == "EXT003" else []
    for raised, confidences in ((said, ["proven"]), ("ValueError: no", foretold)):
        item = Evidence(kind="python", code="raised", text=raised, workload="w")
        found = review_with_fixes(source, Context(evidence=(item,)))
        assert [f.confidence for f in found if f.rule == rule] == confidences

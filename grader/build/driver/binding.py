"""The main.cpp of most answers: declarations of functions, and torch's own lines that bind them.

Such a file means the same with torch's headers for C++ and for CUDA. So it is compiled with the CUDA file's precompiled
header, in which bindings of usual signatures are instantiated, and no other header need be precompiled.
"""

from __future__ import annotations

import re

from grader.build.driver.comments import without_comments

_INCLUDE = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*[<\"]torch/extension\.h[>\"][ \t]*$", re.MULTILINE
)
_PLAIN = (
    r"(?>(?:torch|at)::(?:TensorList|Tensor|IntArrayRef|ScalarType|Scalar)\b|(?:std::)?u?int(?:32|64)_t\b|(?:std::)?size_t\b"
    r"|std::string\b|(?:unsigned\s++|long\s++)?(?:int|long)\b|(?:unsigned|short|bool|float|double|void)\b)"
)
_TYPE = (
    rf"(?>(?:const\s++)?(?:{_PLAIN}|(?:std|c10|torch|at)::(?:vector|optional|tuple)\s*+<\s*+{_PLAIN}(?:\s*+,\s*+{_PLAIN})*+\s*+>)"
    r"(?:\s++const\b)?\s*+&?+)"
)
_DEFAULT = r"(?>-?[\d.]++(?:e-?\d++)?[fFlLuU]*+|true|false|(?:std|c10|torch|at)::nullopt)"
_PARAMETER = rf"(?>{_TYPE}\s*+\w*+\s*+(?:=\s*+{_DEFAULT}\s*+)?)"
_FUNCTION = rf"(?>{_TYPE}\s*+\b\w++\s*+\(\s*+(?:{_PARAMETER}(?:,\s*+{_PARAMETER})*+)?+\)\s*+;\s*+)"
_BOUND = r'm\.def\("\w*", torch::wrap_pybind_function\(\w+\), "[^"\\\n]*+"\);\n'
_FILE = re.compile(
    rf"\s*+{_FUNCTION}*+(?:PYBIND11_MODULE\(TORCH_EXTENSION_NAME, m\) \{{\n(?:{_BOUND})*+\}}\s*+)?"
)
_DOC = re.compile(r'(?<=\), )(?="[^"\\\n]*"\);\n)')


def only_declares(text: str) -> bool:
    """Whether a C++ text is functions of plain types, declared, and their binding by load_inline."""
    return _FILE.fullmatch(_INCLUDE.sub("", without_comments(text))) is not None


def with_docs_of_one_type(text: str) -> str:
    """Return such a text with docstrings as pointers: as arrays, each length would instantiate its own template."""
    return _DOC.sub("(const char*)", text)

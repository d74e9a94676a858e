"""How nvcc, clang, gcc, ptxas, ld and Python word what they complain of: the table of patterns."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Message:
    """A kind of message: its wordings, and the sentence with `{0}`, `{1}` for what was named."""

    kind: str
    patterns: tuple[re.Pattern[str], ...]
    sentence: str


def _message(kind: str, sentence: str, *patterns: str) -> Message:
    return Message(kind, tuple(re.compile(pattern) for pattern in patterns), sentence)


MARKS = "\"\u2018\u2019\u201c\u201d`'"
"""What compilers put around names; gcc uses typographic ones."""


QUOTE = f"[{MARKS}]"


NAME = f"{QUOTE}([^{MARKS}]+){QUOTE}"


MESSAGES = (
    _message(
        "name-of-a-type",
        "{0} is the template's type, and a parameter of the function has the same name",
        rf"template parameter {NAME} may not be redeclared",
        rf"declaration of {QUOTE}(?:[^{MARKS}]*\b)?(\w+){QUOTE} shadows template parameter",
    ),
    _message(
        "standard",
        "torch's headers need {0} or later; the build asks for an older standard (`-std=`)",
        r"(C\+\+\d\d) or later compatible compiler is required",
        r"requires (C\+\+\d\d)",
        r"not supported by this compiler.*std",
    ),
    _message(
        "open-quote",
        "a quoted text is not closed on its line",
        r"missing closing quote",
        r"missing terminating",
        r"unterminated",
    ),
    _message(
        "stray-character",
        "this character is none of C++'s",
        r"unrecognized token",
        r"stray",
        r"non-ASCII",
        r"unexpected character",
        r"extra text after",
        r"<U\+",
        r"\\\d{3}",
        r"invalid character",
    ),
    _message(
        "c-linkage",
        '`extern "C"` holds a template or two functions of one name, which C does not have',
        r'may not have extern "C" linkage',
        r'has "C" linkage',
        r"templates? (?:must have C\+\+|with C) linkage",
        r"conflicts with .*C linkage",
    ),
    _message(
        "kernel-returns",
        "a kernel returns nothing: its type is void",
        r"__global__\W* function .*void return type",
        r"kernel function type .* must have void return type",
    ),
    _message(
        "unconfigured-kernel",
        "a kernel is called like a function, without `<<<...>>>`",
        r"__global__ function call must be configured",
        r"call to global function '?\w*'? not configured",
    ),
    _message(
        "shared-initialiser",
        "shared memory can't be declared with a value",
        r"initializer not allowed for",
        r"initializ\w+ (?:is )?not (?:allowed|supported) for .*__shared__",
        r"__shared__ variable",
    ),
    _message(
        "casts-const-away",
        "a cast takes the const off what a pointer points to",
        r"cast(?: from .*?)? casts? away",
        r"cannot cast away const",
        r"casts away qualifiers",
    ),
    _message(
        "narrowing",
        "a value in braces does not fit the type {0}",
        r"narrowed from type .*? to '([^']+)'",
        r"narrowing conversion .*? to \W([\w ]+)\W",
        r"narrowing conversion from \"[^\"]+\" to \"([^\"]+)\"",
    ),
    _message(
        "method-not-called",
        "a method is named and not called",
        r"pointer to a bound function",
        r"reference to non-static member function must be called",
        r"invalid use of (?:non-static )?member function",
    ),
    _message(
        "wrong-return",
        "a function returns another type than it is declared with",
        r"return value type does not match",
        r"void function",
        r"return-statement with a value",
    ),
    _message(
        "missing-header",
        "the header {0} does not exist here",
        rf"cannot open source file {NAME}",
        rf"fatal error: {NAME} file not found",
        r"(?:^|fatal error: |g\+\+: )([\w./+-]+): No such file",
        rf"{NAME} file not found",
    ),
    _message(
        "no-member",
        "{1} has no member called {0}",
        rf"no member named {NAME} in (?:namespace )?{NAME}",
    ),
    _message(
        "no-member",
        "{0} has no member called {1}",
        rf"(?:class|struct|namespace|union|enum) {NAME}(?: \(.*?\))? has no member {NAME}",
        rf"{QUOTE}(?:class |struct |const |union )*([^{MARKS}]+){QUOTE}"
        rf" has no member named {NAME}",
    ),
    _message("no-member", "{1} has no member called {0}", rf"{NAME} is not a member of {NAME}"),
    _message(
        "undefined-in-device",
        "{0} does not exist in device code, only on the host",
        rf"identifier {NAME} is undefined in device code",
    ),
    _message(
        "undefined-identifier",
        "the name {0} is not defined at this point",
        rf"identifier {NAME} is undefined",
        rf"use of undeclared identifier {NAME}",
        rf"{NAME} was not declared in this scope",
        rf"unknown type name {NAME}",
        rf"{NAME} does not name a type",
        rf"no template named {NAME}",
        rf"name followed by \"::\" must be a class or namespace name: {NAME}",
    ),
    _message(
        "ambiguous-call",
        "the call of {0} fits several versions of the function equally well",
        rf"more than one instance of (?:overloaded )?function {NAME} matches",
        rf"call to {NAME} is ambiguous",
        rf"call of overloaded {NAME} is ambiguous",
        rf"more than one operator {NAME} matches",
        rf"ambiguous overload for {NAME}",
    ),
    _message(
        "no-overload",
        "no version of {0} takes arguments of these types",
        rf"no instance of (?:overloaded )?(?:function|function template|constructor) {NAME}"
        r"(?: template)? matches",
        rf"no matching (?:function for call to|member function for call to|constructor for"
        rf" initialization of) {NAME}",
    ),
    _message(
        "no-operator",
        "the operator {0} does not exist for operands of these types",
        rf"no operator {NAME} matches these operands",
        rf"no match for {NAME}",
    ),
    _message(
        "no-operator",
        "the operator does not exist for operands of type {0} and {1}",
        rf"invalid operands to binary expression \({NAME} and {NAME}\)",
        rf"invalid operands of types {NAME} and {NAME}",
    ),
    _message(
        "argument-type",
        "a value of type {0} is passed where {1} is expected",
        rf"argument of type {NAME} is incompatible with parameter of type {NAME}",
        rf"no known conversion from {NAME} to {NAME} for",
        rf"cannot convert {NAME} to {NAME} for argument",
    ),
    _message(
        "no-conversion",
        "a value of type {0} can't be turned into {1}",
        rf"no suitable (?:user-defined )?conversion(?: function)? from {NAME} to {NAME}",
        rf"no suitable constructor exists to convert from {NAME} to {NAME}",
        rf"a value of type {NAME} cannot be (?:used to initialize|assigned to) an entity of type"
        rf" {NAME}",
        rf"no viable conversion from {NAME} to {NAME}",
        rf"(?:cannot|could not) convert {NAME} (?:from {NAME} )?to {NAME}",
        rf"invalid conversion from {NAME} to {NAME}",
        r"invalid type conversion",
    ),
    _message(
        "no-conversion",
        "a value of type {1} can't be turned into {0}",
        rf"cannot initialize a (?:variable|parameter|return object|member) of type {NAME} with an?"
        rf" (?:lvalue|rvalue|prvalue|xvalue)?.*? of type {NAME}",
        rf"assigning to {NAME} from incompatible type {NAME}",
    ),
    _message(
        "argument-count",
        "the call has the wrong number of arguments",
        r"too (?:few|many) arguments (?:in|to) function call",
        rf"too (?:few|many) arguments to function {NAME}",
        r"too (?:few|many) template arguments",
        r"no matching member function",
    ),
    _message(
        "not-constant",
        "the size of an array must be known when the code is compiled",
        r"expression must have a constant value",
        r"variable length array(?:s)? (?:cannot|are not|declaration)",
        r"a variable length array cannot have",
        r"is not an integral constant expression",
        r"storage size of .* isn't constant",
    ),
    _message(
        "redefinition",
        "{0} is defined twice",
        rf"function {NAME}(?: \(.*?\))? has already been defined",
        rf"{NAME} has already been declared in the current scope",
        rf"(?:redefinition|redeclaration) of {NAME}",
        rf"multiple definition of [{MARKS}]([^{MARKS}]+)",
        r"duplicate symbol:? [`'\"]?([^'\"\s]+)",
    ),
    _message(
        "incompatible-declaration",
        "the declaration of {0} does not agree with an earlier one",
        rf"declaration is incompatible with (?:previous )?{NAME}",
        rf"conflicting (?:types for|declaration) {NAME}",
    ),
    _message(
        "host-in-device",
        "the kernel {1} calls {0}, which only exists on the host",
        r"calling a (?:constexpr )?__host__ function\(?[ ]*[\"']([^\"']+)[\"']\)? from a "
        r"__(?:global|device)__ function\(?[ ]*[\"']([^\"']+)",
        rf"reference to __host__ function {NAME} in __(?:global|device)__ function()",
    ),
    _message(
        "shared-memory",
        "the kernel {0} asks for {1} bytes of fixed shared memory; a block may have {2}",
        r"Entry function '([^']+)' uses too much shared data \((0x[0-9a-f]+) bytes, (0x[0-9a-f]+)",
    ),
    _message(
        "unresolved-device-function",
        "the device code calls {0}, which is declared but defined nowhere",
        r"Unresolved extern function '([^']+)'",
        r"Undefined reference to '([^']+)'",
    ),
    _message(
        "undefined-symbol",
        "the extension uses {0}, which is declared but defined nowhere",
        r"undefined symbol:? ([\w.$@]+)",
        rf"undefined reference to [{MARKS}]([^{MARKS}]+)",
    ),
    _message(
        "missing-compiler",
        "the build calls {0}, a compiler that is not on this machine",
        r"(?:^|: )(\S+): command not found",
    ),
    _message(
        "gpu-architecture",
        "the GPU architecture {0} is not supported by this compiler",
        rf"[Uu]nsupported gpu architecture {NAME}",
        r"Value '(sm_\w+)' is not defined for option",
        r"no kernel image is available()",
    ),
    _message(
        "type-not-allowed",
        "a type stands where a value is expected",
        r"type name is not allowed",
        r"namespace name is not allowed",
        r"unexpected namespace name",
        r"expected expression before type",
    ),
    _message(
        "not-a-template", "{0} is not a template, but is given <...>", rf"{NAME} is not a template"
    ),
    _message(
        "modify-constant",
        "something that was declared const is written to",
        r"expression must be a modifiable lvalue",
        r"assignment of read-only",
        r"cannot assign to",
        r"read-only variable is not assignable",
    ),
    _message(
        "syntax",
        "the braces of this text don't close one another",
        r"extraneous closing brace",
        r"function definition is not allowed",
        r"end of file",
        r"extra\w* tokens",
    ),
    _message(
        "syntax",
        "the text does not follow the grammar here: {0} is expected",
        r"expected an? ([a-z]+(?: (?!before|after|at|in)[a-z]+)*)",
        r"expected an? \"?([^\"\s]+)\"?",
        rf"expected {NAME}",
        r"expected (\w+[\w -]*?)(?: before| after| at|$)",
    ),
    _message(
        "python-import",
        "Python can't import {0}",
        r"No module named '([^']+)'",
        r"cannot import name '([^']+)'",
    ),
    _message("python-name", "the Python name {0} is not defined", r"name '([^']+)' is not defined"),
    _message(
        "python-attribute",
        "{0} has no attribute {1}",
        r"(?:module|type object) '([^']+)' has no attribute '([^']+)'",
        r"'([^']+)' object has no attribute '([^']+)'",
    ),
    _message(
        "python-call",
        "a {0} is called, which is no function",
        r"TypeError: '(\w+)' object is not callable",
    ),
    _message(
        "python-argument",
        "{0}() is called with the argument {1}, which it does not know",
        r"([\w.]+)\(\) got an unexpected keyword argument '([^']+)'",
    ),
    _message(
        "python-argument",
        "{0}() is called without an argument that it needs: {1}",
        r"([\w.]+)\(\) missing \d+ required (?:keyword-only |positional )+arguments?: (.+)",
    ),
    _message(
        "no-module-function",
        "the library exports no Python module: neither functions= nor PYBIND11_MODULE is there",
        r"dynamic module does not define module export function",
    ),
)

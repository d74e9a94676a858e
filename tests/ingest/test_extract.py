"""What is taken from transcripts of every shape, and where each line came from."""

from __future__ import annotations

import html

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.ingest import extract
from grader.records import Extraction, Sample
from grader.source import parse

from .programs import CODE, OTHER, REFERENCE, indented, sample

FENCED = f"```python\n{CODE}```\n"
FINAL = "<|channel|>final<|message|>"
QUOTED = "".join(f"> {line}".rstrip() + "\n" for line in CODE.split("\n")[:-1])

SHAPES = {
    "one block": f"Hi\n\n{FENCED}bye, it's done",
    "tildes": f"Hi\n~~~python\n{CODE}~~~\nbye",
    "no language": f"Hi\n```\n{CODE}```\nbye",
    "wrong language": f"Hi\n```cpp\n{CODE}```\nbye",
    "in a list": f"1. Do:\n\n   ```python\n{indented(CODE, '   ')}   ```\nbye",
    "in a tabbed list": f"1. Do:\n\n\t```python\n{indented(CODE, chr(9))}\t```\nbye",
    "code deeper than its fence": f"Do:\n```python\n{indented(CODE, '    ')}```\n",
    "in a quote": f"> ```python\n{QUOTED}> ```\n",
    "unclosed": f"Hi\n```python\n{CODE}",
    "unclosed, then prose": f"Hi\n```python\n{CODE}\nThis kernel's fast. x = y.\n- a list\n",
    "unclosed, then a heading": f"Hi\n```python\n{CODE}\nExplanation\n\nThis is why it's fast.\n",
    "unclosed, then a stray tag": f"Hi\n```python\n{CODE}</think>\nSo it's done.",
    "no fence": f"Here is what I think it's like.\n\n{CODE}\nThis should work, it's good.\n",
    "nothing but code": CODE,
    "only a closing fence": f"Sure, here's the code:\n\n{CODE}```\nThat's it, folks.",
    "doubled opening": f"Hi\n```python\n```python\n{CODE}```\n```\n",
    "markdown in markdown": f"Hi\n````markdown\n{FENCED}````\n",
    "language on its own line": f"```\npython\n{CODE}```",
    "fence after text": f"Here:```python\n{CODE}```\n",
    "closing fence after code": f"Here\n```python\n{CODE.rstrip()}```\nbye",
    "stray fence in the code": f"```python\n{CODE}```\n".replace("\n\n\nclass", "\n\n```\n\nclass"),
    "channel tags": f"<|channel|>analysis<|message|>Hm<|end|>{FINAL}{CODE}<|end|>",
    "channels on the fences' lines": (
        f"<|channel|>analysis<|message|>Hm\n```python\n{OTHER}```<|end|><|start|>assistant"
        f"{FINAL}{FENCED.rstrip()}<|return|>"
    ),
    "an indented fence around code that is not": f"1. Do:\n   ```python\n{CODE}   ```\n",
    "from a web page": html.escape(f"Hi\n\n{FENCED}bye, it's done", quote=False),
    "from a web page, quotes as well": html.escape(f"Hi\n\n{FENCED}bye"),
    "in a page's tags": f'<pre><code class="language-python">{html.escape(CODE)}</code></pre>',
    "channel tags and fence": f"{FINAL}{FENCED.rstrip()}<|return|>",
    "answer tags": f"<think>hm</think>\n<answer>\n{CODE}</answer>\n",
    "answer tags and fence": f"<think>hm</think>\n<answer>\n{FENCED}</answer>\n",
    "tag inside the block": f"```python\n{CODE}</think>\n```\n",
    "draft in the reasoning": f"<think>\n```python\n{OTHER}```\n</think>\nFinal:\n{FENCED}",
    "reasoning never opened": f"So I do\n```python\n{OTHER}```\nNo.\n</think>\n{FENCED}",
    "stray closing tag after it": f"{FENCED}</think>\nnothing",
    "reasoning only": f"<think>\n{FENCED}</think>\nThe code above is it.",
    "two answers": f"```python\n{OTHER}```\nOops\n{FENCED}",
    "reference first": f"The architecture:\n```python\n{REFERENCE}```\nAnswer:\n{FENCED}",
    "reference quoted after": f"{FENCED}The original was\n```python\n{REFERENCE}```\n",
    "KernelBench's prompt": (
        f"Example:\n```\n{OTHER}```\nYou are given the following architecture:\n"
        f"```python\n{REFERENCE}```\nAnswer:\n{FENCED}"
    ),
    "roles": (
        f"<|im_start|>user\n```python\n{OTHER}```\n<|im_end|>\n<|im_start|>assistant\n{FENCED}"
    ),
    "reference without fence": f"Given:\n\n{REFERENCE}\n\nMine is this:\n\n{CODE}\n\nThe end.",
    "skeleton last": f"{FENCED}Use:\n```python\nclass ModelNew(nn.Module):\n    ...\n```\n",
    "usage last": f"{FENCED}Use:\n```python\nm = ModelNew()\n```\n",
    "shell last": f"{FENCED}Run:\n```bash\npip install torch\n```\n",
    "json first": f"```json\n{{}}\n```\n```\n{CODE}```",
    "long fences": f"``````python\n{CODE}``````\n",
    "spaces after fences": f"```python   \n{CODE}```   \n",
    "code on the fence's line": f"Hi\n```{CODE}```\n",
    "code after the language": f"Hi\n```python {CODE}```\n",
    "upper case": f"```Python\n{CODE}```\n",
}


def code_of(extraction: Extraction) -> str:
    assert extraction.submission is not None, extraction.found
    return extraction.submission.code


def check_line_map(one: Sample, extraction: Extraction) -> None:
    """Each mapped line of the code stands in the line of the sample that it is mapped to."""
    submission = extraction.submission
    assert submission is not None
    lines = html.unescape(one.text).split("\n")  # as a page shows them
    code = submission.code.split("\n")
    assert code.pop() == ""
    assert len(submission.line_map) == len(code)
    for text, number in zip(code, submission.line_map, strict=True):
        assert number == 0 or text.strip() in lines[number - 1]
    mapped = [number for number in submission.line_map if number]
    assert len(mapped) == len(set(mapped))


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_the_final_answer_is_found(text: str) -> None:
    one = sample(text)
    extraction = extract(one)
    assert code_of(extraction).strip() == CODE.strip()
    check_line_map(one, extraction)


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_extraction_is_idempotent(text: str) -> None:
    code = code_of(extract(sample(text)))
    again = extract(sample(code))
    assert code_of(again) == code
    assert again.submission is not None
    assert again.submission.line_map == tuple(range(1, code.count("\n") + 1))


def test_lines_are_exact_in_a_plain_block() -> None:
    one = sample(f"a\nb\n\n```python\n{CODE}```\n")
    submission = extract(one).submission
    assert submission is not None
    assert submission.line_map == tuple(range(5, 5 + CODE.count("\n")))
    assert submission.sample_line(1) == 5
    assert submission.notes == ()


@pytest.mark.parametrize("fence", ["```", "```python"])
def test_a_fence_in_a_docstring_stays(fence: str) -> None:
    docstring = f'    """Use:\n\n    {fence}\n    m = ModelNew()\n    ```\n    """\n'
    code = CODE.replace("class ModelNew(nn.Module):\n", "class ModelNew(nn.Module):\n" + docstring)
    one = sample(f"Hi\n```python\n{code}```\nbye\n")
    extraction = extract(one)
    assert code_of(extraction) == code
    check_line_map(one, extraction)


BROKEN = {
    "a real error": CODE.replace("def forward(self, x):", "def forward(self, x:"),
    "an unclosed string": CODE.replace('return x; }\n"""', "return x; }\n"),
    "cut off": CODE[: CODE.index("        return ext")] + "        return ext.f(",
    "cut off in the kernel": CODE.replace("src = ", "class ModelNew(nn.Module): ...\nsrc = ")[:330],
}


@pytest.mark.parametrize("code", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("closing", ["", "\n```\nThat's it.\n"])
def test_what_the_model_broke_stays_broken(code: str, closing: str) -> None:
    one = sample(f"Hi\n```python\n{code}{closing}")
    extraction = extract(one)
    assert code_of(extraction).strip() == code.strip()
    check_line_map(one, extraction)


def test_an_answer_in_two_python_blocks() -> None:
    at = CODE.index("class ModelNew")
    one = sample(f"First\n```python\n{CODE[:at]}```\nthen\n```python\n{CODE[at:]}```\n")
    extraction = extract(one)
    assert code_of(extraction).split() == CODE.split()
    assert extraction.submission is not None
    assert any("split" in note for note in extraction.submission.notes)
    check_line_map(one, extraction)


def test_an_answer_in_cuda_and_python() -> None:
    cuda = "__global__ void k(float* x) {}\ntorch::Tensor f(torch::Tensor x) { return x; }\n"
    head, tail = CODE.split('src = """')[0], CODE.split('"""\n', 2)[2]
    one = sample(f"Kernel:\n```cuda\n{cuda}```\nModule:\n```python\n{head}{tail}```\n")
    extraction = extract(one)
    assert f'src = r"""\n{cuda}"""\n' in code_of(extraction)
    check_line_map(one, extraction)


KERNEL = "__global__ void k(float* x) {}\ntorch::Tensor f(torch::Tensor x) { return x; }\n"
BINDING = "#include <torch/extension.h>\ntorch::Tensor f(torch::Tensor x);\n"


@pytest.mark.parametrize(
    ("before", "after", "read"),
    [
        (f"Kernel:\n```cuda\n{KERNEL}```\n", "", 'open("kernel.cu").read()'),
        ("", f"And `my/kernel.cu`:\n```cpp\n{KERNEL}```\n", 'Path("my/kernel.cu").read_text()'),
        (
            f"`kernel.cu`\n```cuda\n{KERNEL}```\n`binding.cpp`\n```cpp\n{BINDING}```\n",
            "",
            'open(os.path.join(os.path.dirname(__file__), "kernel.cu")).read()',
        ),
        (
            f"```cuda\n// kernel.cu\n{KERNEL}```\n```cpp\n{BINDING}```\n",
            "",
            'open("kernel.cu").read()',
        ),
    ],
)
def test_a_file_given_in_a_block_of_its_own_is_there(before: str, after: str, read: str) -> None:
    head, tail = CODE.split('src = """')[0], CODE.split('"""\n', 2)[2]
    code = f"from pathlib import Path\nimport os\n{head}src = {read}\n{tail}"
    one = sample(f"{before}Module:\n```python\n{code}```\n{after}")
    extraction = extract(one)
    assert extraction.submission is not None
    assert any("kernel.cu` is the block at line" in note for note in extraction.submission.notes)
    check_line_map(one, extraction)
    source = parse(code_of(extraction))
    assert [kernel.name for unit in source.cuda for kernel in unit.kernels] == ["k"]
    place = source.compiled_place("cuda.cu", 6 if "// kernel.cu" in before else 5, 0)
    assert place is not None
    number = extraction.submission.sample_line(place.line)
    assert one.text.split("\n")[number - 1].startswith("__global__")


def test_a_file_that_is_not_given_is_left_to_fail() -> None:
    head, tail = CODE.split('src = """')[0], CODE.split('"""\n', 2)[2]
    code = f'{head}src = open("a.cu").read() + open("b.cu").read()\n{tail}'
    one = sample(f"Kernel:\n```cuda\n{KERNEL}```\nModule:\n```python\n{code}```\n")
    assert code_of(extract(one)) == code


REFERENCES = {
    "in the transcript": sample(f"Given\n```python\n{REFERENCE}```\nAnswer\n{FENCED}"),
    "in the prompt": sample(FENCED, prompt=f"Given\n```python\n{REFERENCE}```\nAnswer!"),
    "the prompt itself": sample(CODE, prompt=REFERENCE),
    "the last of the prompt": sample(
        FENCED, prompt=f"```\n{REFERENCE.replace('relu', 'abs')}```\nNow:\n```\n{REFERENCE}```"
    ),
    "without an answer": sample(f"Given\n```python\n{REFERENCE}```\nI can't."),
}


@pytest.mark.parametrize("one", REFERENCES.values(), ids=REFERENCES)
def test_the_reference_is_kept(one: Sample) -> None:
    assert extract(one).reference == REFERENCE


@pytest.mark.parametrize(
    "asked",
    [
        f"<|im_start|>user\n```python\n{REFERENCE}```\n<|im_start|>assistant\n",
        f"### User\nSpeed this up:\n```python\n{REFERENCE}```\n### Assistant\n",
        f"You are given the following architecture:\n```python\n{REFERENCE}```\n",
    ],
)
def test_what_was_asked_is_the_reference_whatever_the_answer_quotes(asked: str) -> None:
    easier = REFERENCE.replace("return", "return x  #")
    text = f"{asked}The original, as I read it:\n```python\n{easier}```\nFaster:\n{FENCED}"
    assert extract(sample(text)).reference == REFERENCE


def test_the_user_s_last_word_is_what_was_asked() -> None:
    example = REFERENCE.replace("return", "return 2 *")
    turns = (("user", example), ("assistant", "class A: pass\n"), ("user", REFERENCE))
    said = "".join(f"<|im_start|>{who}\n```python\n{text}```\n" for who, text in turns)
    assert extract(sample(f"{said}<|im_start|>assistant\n{FENCED}")).reference == REFERENCE


def test_a_reference_after_the_answer_is_none() -> None:
    assert extract(sample(f"{FENCED}Original:\n```python\n{REFERENCE}```\n")).reference is None


NOTHING = {
    "prose": ("I can't do that.", "4 words without a code block"),
    "empty": (" \n", "the text is empty"),
    "the reference": (f"```python\n{REFERENCE}```", "only the reference"),
    "a kernel": ("```cuda\n__global__ void k() {}\n```", "CUDA code, but no Python class"),
    "something else": ("```python\nprint(1)\n```", "1 code block, none with a class ModelNew"),
    "a mention": ("I would write class ModelNew and so on.", "words without a code block"),
}


@pytest.mark.parametrize(("text", "found"), NOTHING.values(), ids=NOTHING)
def test_without_code_it_says_what_was_there(text: str, found: str) -> None:
    extraction = extract(sample(text))
    assert extraction.submission is None
    assert found in extraction.found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import torch\n", "Python code, but no class ModelNew"),
        ('source = "__global__ void k() {}"\n', "CUDA code, but no Python class ModelNew"),
        (REFERENCE, "only the reference"),
        (
            CODE.replace("ModelNew", "Model"),
            "kernels in a class Model, which must be called ModelNew",
        ),
        ("I can't do that.\n", "4 words without a code block"),
    ],
)
def test_a_python_file_without_an_answer_is_no_words(text: str, found: str) -> None:
    extraction = extract(sample(text, "python"))
    assert extraction.submission is None
    assert found in extraction.found


def test_prose_before_and_after() -> None:
    extraction = extract(sample(f"Plan.\n{FENCED}Claim: 3x faster.\n"))
    assert [(one.before_code, one.line, one.text.strip()) for one in extraction.prose] == [
        (True, 1, "Plan."),
        (False, 3 + CODE.count("\n") + 1, "Claim: 3x faster."),
    ]


def test_a_python_file_is_taken_whole() -> None:
    broken = CODE.replace("def forward(self, x):", "def forward(self, x:")
    for code in (CODE, broken):
        assert code_of(extract(sample(code, "python"))) == code
    assert code_of(extract(sample(FENCED, "python"))) == CODE  # a transcript under a wrong name


# properties

pieces = st.sampled_from(
    [
        CODE,
        OTHER,
        REFERENCE,
        indented(CODE, "   "),
        CODE[:200],
        "```python\n",
        "```\n",
        "~~~\n",
        "````\n",
        "   ```cuda\n",
        "> ```\n",
        "<think>\n",
        "</think>\n",
        "<|im_start|>assistant\n",
        "You are given the following architecture:\n",
        "class ModelNew(nn.Module):\n",
        "    def forward(self, x):\n",
        "        return src, x\n",
        "class Model(nn.Module):\n",
        "import torch\n",
        '"""\n',
        "It's prose (and more.\n",
        "__global__ void k() {}\n",
        "\n",
        "x = cuda_sources\n",
        "```",
        "\x0c\u2028",
    ]
)
transcripts = st.lists(pieces, max_size=12).map("".join)


@settings(max_examples=400, deadline=None)
@given(transcripts)
def test_any_mixture_keeps_its_lines(text: str) -> None:
    one = sample(text)
    extraction = extract(one)
    if extraction.submission is not None:
        check_line_map(one, extraction)
    else:
        assert extraction.found
    lines = text.split("\n")
    for prose in extraction.prose:
        assert prose.text.split("\n")[0] in lines[prose.line - 1]


@settings(max_examples=200, deadline=None)
@given(transcripts)
def test_any_mixture_is_extracted_once(text: str) -> None:
    submission = extract(sample(text)).submission
    if submission is not None and parse(submission.code).syntax_error is None:
        again = extract(sample(submission.code)).submission
        assert again is not None
        assert again.code == submission.code


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=300))
def test_any_text_gives_an_extraction(text: str) -> None:
    extract(sample(text))
    extract(sample(text, "python", prompt=text))

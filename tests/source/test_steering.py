"""What the text says of a line that a run names: what chooses its element, what a loop forgets."""

from __future__ import annotations

from grader.records import Place
from grader.source import Source, parse
from grader.source.analysis.overwritten import place_overwritten
from grader.source.analysis.steering import element_chosen


def kernel(body: str) -> tuple[Source, list[str]]:
    code = f'SOURCE = """\n__global__ void k(const float* x, float* y, int n, int m) {{\n{body}}}\n"""\n'
    return parse(code), code.splitlines()


def line(lines: list[str], text: str) -> Place:
    at = next(number for number, one in enumerate(lines, 1) if text in one)
    return Place(line=at, end_line=at)


FLAT = """    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int column = i / n;
    int row = i % n;
    float v = x[row * m + column];
    y[i] = v;
"""


def test_a_number_that_is_taken_apart_chooses_the_element_that_is_stored_at_it() -> None:
    source, lines = kernel(FLAT)
    chosen = element_chosen(source, line(lines, "float v"), several=False)
    assert chosen is not None
    assert chosen.line == line(lines, "int column").line


def test_a_store_that_puts_its_place_together_chooses_it_where_all_is_read_for_another() -> None:
    body = FLAT.replace("i / n", "blockIdx.x").replace("i % n", "threadIdx.x")
    source, lines = kernel(body.replace("y[i]", "y[column * n + row]"))
    place = line(lines, "float v")
    assert element_chosen(source, place, several=False) is None
    chosen = element_chosen(source, place, several=True)
    assert chosen is not None
    assert chosen.line == line(lines, "y[column").line


def test_a_loop_forgets_what_it_sets_anew_and_not_what_it_adds_to() -> None:
    body = "    float s = 0.0f;\n    for (int k = 0; k < n; ++k) {\n        s = x[k];\n    }\n    y[0] = s;\n"
    source, lines = kernel(body)
    found = place_overwritten(source, [line(lines, "s = x[k]")])
    assert found is not None
    assert found.line == line(lines, "s = x[k]").line
    source, lines = kernel(body.replace("s = x[k]", "s = s + x[k]"))
    assert place_overwritten(source, [line(lines, "s = s + x[k]")]) is None

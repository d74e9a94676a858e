"""Weaves all candidates into one program, which runs the one selected by number."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.languages import names_in
from grader.records import Edit, Submission
from grader.repair.candidates.candidate import Candidate, Piece
from grader.repair.candidates.cuda.scope import works
from grader.source import Unit, edits, parse

CHOICE = "kg_choice_"
PRELUDE = Path(__file__).with_name("choice.cuh").read_text("utf-8")
BREAK = "\n/*@*/"
"""Begins a line of its own for each alternative of an expression: by it a compiler's message tells which one it is about."""
TURN = f"const int {CHOICE}now = {CHOICE}turn(); (void){CHOICE}now; "
UNROLLED = re.compile(r"#pragma unroll\b[^\n\\]*")
"""Copies of a loop with a hundred alternatives in it take a compiler a quarter of an hour."""
EPILOGUE = "\n\n" + Path(__file__).with_name("choice.py.txt").read_text("utf-8")
"""`forward` takes the candidate's number after its own arguments."""


TEXTS = Path(__file__).parent / "triton" / "choice.py.txt"
"""The same of Triton programs: a text is read, and its kernels compiled, once its number is called."""


@dataclass
class _Insertions:
    """Insertions at each byte of a text: ends of inner expressions, statements, beginnings."""

    closing: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    between: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    opening: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))

    def edits(self, unit: Unit) -> list[Edit]:
        """Return the insertions as edits of the submission; ValueError where one can't be made."""
        found = []
        for at in sorted({*self.closing, *self.between, *self.opening}):
            parts = (*self.closing[at], *self.between[at], *self.opening[at])
            edit = unit.edit(at, at, "".join(parts))
            if edit is None:
                msg = f"the text can't be changed at byte {at}"
                raise ValueError(msg)
            found.append(edit)
        return found


def weave(submission: Submission, numbered: Mapping[int, Candidate]) -> Submission:
    """Return the program with all candidates in it.

    Raises ValueError where the texts can't be edited, as in strings with escapes that hide positions.
    """
    source = parse(submission.code)
    if names_in(source) == {"triton"}:
        code = _with_texts(submission, numbered)
    else:
        touched = _by_unit(numbered)
        made = (_weave_pieces(unit, touched.get(_name(unit), [])) for unit in source.cuda)
        woven = edits.apply(submission.code, [one for each in made for one in each])
        code = UNROLLED.sub("#pragma unroll 1", woven) + EPILOGUE
    return submission.model_copy(update={"code": code, "line_map": (0,) * len(code.splitlines())})


def _with_texts(submission: Submission, numbered: Mapping[int, Candidate]) -> str:
    """Return a Triton program with all candidates as separate texts: a kernel compiles quickly, so nothing need be shared."""
    fixes = {number: one.fix() for number, one in numbered.items()}
    changes = {n: [(e.start, e.end, e.text) for e in fix.edits] for n, fix in fixes.items() if fix}
    held = f"\n\n\nkg_choice_text = {submission.code!r}\nkg_choice_edits = {changes!r}\n"
    return f"{submission.code}{held}\n\n\n{TEXTS.read_text('utf-8')}"


def _by_unit(
    numbered: Mapping[int, Candidate],
) -> dict[tuple[int, str], list[tuple[int, Piece]]]:
    found: dict[tuple[int, str], list[tuple[int, Piece]]] = {}
    for number, candidate in numbered.items():
        for piece in candidate.pieces:
            if isinstance(piece.text, Unit):
                found.setdefault(_name(piece.text), []).append((number, piece))
    return found


def _name(unit: Unit) -> tuple[int, str]:
    """Return a key of a text in its submission, the same for each parse."""
    return unit.place_span(0, 0).line, unit.text


def _weave_pieces(unit: Unit, pieces: list[tuple[int, Piece]]) -> list[Edit]:
    put = _Insertions()
    sites: dict[tuple[int, int], list[tuple[int, Piece]]] = {}
    for number, piece in pieces:
        start = piece.node.start_byte
        if piece.kind == "replace":
            sites.setdefault((start, piece.node.end_byte), []).append((number, piece))
        elif piece.kind == "guard":
            put.between[start].append(f"if ({CHOICE} != {number} || ({piece.code})) ")
        else:  # before any guard, which would hold the statement otherwise
            put.between[start].insert(0, f"if ({CHOICE} == {number}) {{ {piece.code} }} ")
    for (start, end), alternatives in sorted(
        sites.items(), key=lambda item: (item[0][0], -item[0][1])
    ):
        asked = "".join(f"{BREAK}{CHOICE} == {n} ? ({piece.code}) : " for n, piece in alternatives)
        put.opening[start].append(f"({asked}{BREAK}(")
        put.closing[end].insert(0, "))")
    for function in unit.host_functions:
        body = function.body
        if body is not None and works(unit, function):
            put.between[body.start_byte + 1].append(f" {TURN}")
    put.between[0].insert(0, PRELUDE)
    return put.edits(unit)


def candidates_named(numbered: Mapping[int, Candidate], woven: str, lines: set[int]) -> set[int]:
    """Return the candidates whose numbers are on these lines of a woven program."""
    texts = woven.split("\n")
    words = "\n".join(texts[line - 1] for line in lines if 1 <= line <= len(texts))
    return numbered.keys() & {int(n) for n in re.findall(rf"{CHOICE} [!=]= (\d+)", words)}

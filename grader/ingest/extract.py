"""From a sample to its submission: the final answer, with a map of every line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.ingest.bare_module import BareModule, with_class
from grader.ingest.entities import without_entities
from grader.ingest.escaped import Quoted, quoted_texts
from grader.ingest.fences import Segment, cut_segments, find_fences, segment_lines
from grader.ingest.markers import answer_start, is_asked, thought_end
from grader.ingest.numbered import join_lines, number_lines, trim_blank_lines
from grader.ingest.plain_function import Unclear, Wrapped, with_class_around
from grader.ingest.prose import prose_outside
from grader.ingest.python_region import class_line, defines, find_program, python_error
from grader.ingest.restore import Program, restore
from grader.ingest.same_class import NOTE, with_its_own_name
from grader.ingest.source_files import with_files
from grader.ingest.split_answer import Part, complete
from grader.languages import languages
from grader.records import Extraction, Sample, Submission

MODEL = "ModelNew"
REFERENCE = "Model"
MAX_CODE = 2_000_000
"""Most characters of a submission, far above any program that a model writes."""

MAX_BLOCKS = 24
"""Number of earlier blocks searched for the reference or for parts of the answer."""

_GIVEN = ("given the following architecture", "given the following PyTorch architecture")
_FORWARD = re.compile(r"^[ \t>]+(?:async )?def[ \t]+forward\b", re.MULTILINE)


def extract(sample: Sample) -> Extraction:
    """Return what a sample holds: the submission, a quoted reference, the text around it.

    Never raises. The final answer is the last block that defines `ModelNew` (of those with a `forward`, if any has
    one), after the reasoning if there is one there.
    """
    page = without_entities(sample.text)
    if page is not None and len(page) <= MAX_CODE:
        sample = sample.model_copy(update={"text": page})
    if (renamed := with_its_own_name(sample)) is not None:
        return _add_note(extract(renamed), NOTE)
    text = sample.text
    prompted = _reference_in(sample.prompt) if sample.prompt else None
    quoted = _quoted_answer(text)
    if quoted is not None:
        return _from_quoted(sample, quoted, prompted)
    if not defines(text, MODEL):
        return _without_class(sample, prompted)
    whole = _whole_text(sample)
    if whole is not None:
        return Extraction(submission=whole, reference=prompted)
    return _from_transcript(sample, prompted)


def _add_note(extraction: Extraction, note: str) -> Extraction:
    """Return the extraction with one more note on its submission."""
    submission = extraction.submission
    if submission is None:
        return extraction
    noted = submission.model_copy(update={"notes": (*submission.notes, note)})
    return extraction.model_copy(update={"submission": noted})


def _without_class(sample: Sample, prompted: str | None) -> Extraction:
    """Return an answer that is a function or an extension for a harness to call, or say what the sample has instead."""
    text = sample.text
    reference = prompted or _reference_in(text)
    segments = cut_segments(text)
    plain = _plain_function(sample, segments, reference)
    bare: Wrapped | BareModule | None = plain if isinstance(plain, Wrapped) else None
    if bare is None and plain is None and len(text) <= MAX_CODE:
        bare = with_class(text, segments, reference, MODEL)
    if bare is None:
        prose = prose_outside(text, segments, [])
        found = plain.found if isinstance(plain, Unclear) else _what_instead(sample)
        return Extraction(submission=None, reference=reference, found=found, prose=prose)
    program = Program(bare.lines, bare.notes)
    spans = [(segments[i].start, segments[i].end) for i in bare.segments]
    first = next(line.number for line in bare.lines if line.number)
    how = "the last block that binds a function for Python"
    if isinstance(plain, Wrapped):
        how = "the last block with a function that launches kernels"
    return Extraction(
        submission=_submission(sample, program, how),
        reference=reference,
        bound_to_reference=prompted is not None,
        prose=prose_outside(text, segments, spans, first),
    )


def _plain_function(
    sample: Sample, segments: tuple[Segment, ...], reference: str | None
) -> Wrapped | Unclear | None:
    """Return an answer that is a function, where no class was requested."""
    text = sample.text
    if len(text) > MAX_CODE or MODEL in text or MODEL in (sample.prompt or ""):
        return None
    return with_class_around(text, segments, reference, MODEL)


def _quoted_answer(text: str) -> Quoted | None:
    """Return the JSON string that holds the final answer, if no block after it does."""
    answers = [one for one in quoted_texts(text, MODEL) if _FORWARD.search(one.text)]
    if not answers or len(answers[-1].text) > MAX_CODE:
        return None
    plain = [one.end for one in cut_segments(text) if _defines(text, one, MODEL)]
    return answers[-1] if max(plain, default=0) <= answers[-1].start else None


def _from_quoted(sample: Sample, quoted: Quoted, prompted: str | None) -> Extraction:
    """Return the answer of a JSON string; each line of its code maps to the string's one line."""
    inner = extract(sample.model_copy(update={"text": quoted.text}))
    text = sample.text
    line = text.count("\n", 0, quoted.start) + 1
    submission = inner.submission and inner.submission.model_copy(
        update={
            "line_map": tuple(line if number else 0 for number in inner.submission.line_map),
            "how": f"the code in the JSON string at line {line}",
        }
    )
    prose = prose_outside(text, cut_segments(text), [(quoted.start, quoted.end)], line)
    return inner.model_copy(
        update={
            "submission": submission,
            "reference": prompted or inner.reference,
            "prose": prose,
        }
    )


def _whole_text(sample: Sample) -> Submission | None:
    """Return the sample's whole text as the submission, where it is a program or a Python file.

    A Python file that doesn't parse is kept as it is, unless it holds fences: then it is a transcript saved under the
    wrong name.
    """
    if len(sample.text) > MAX_CODE:
        return None
    lines = trim_blank_lines(number_lines(sample.text))
    if python_error(lines) is None:
        return _submission(sample, Program(lines), "the whole text is the program")
    if sample.format in {"python", "kernelbench"} and not find_fences(sample.text):
        return _submission(sample, Program(lines, reads=False), "the file is the program")
    return None


def _from_transcript(sample: Sample, prompted: str | None) -> Extraction:
    text = sample.text
    segments = cut_segments(text)
    chosen, how = _choose(text, segments)
    program = restore(text, segments, chosen, MODEL)
    lines, notes, used = program.lines, program.notes, set[int]()
    if program.reads:
        lines, split_notes, used = complete(lines, _earlier(text, segments, program.first_segment))
        notes += split_notes
        lines, file_notes, files = with_files(text, segments, lines, used, MAX_BLOCKS)
        notes, used = notes + file_notes, used | files
    first = min((line.number for line in lines if line.number), default=1)
    reference = prompted or _reference_before(text, segments, program.first_segment)
    spans = [(segments[i].start, segments[i].end) for i in (*used, chosen.index)]
    if not chosen.inside or program.first_segment != program.last_segment:
        spans.append(_span(text, segments, program))
    if len(join_lines(lines)) > MAX_CODE:
        found = f"code of {len(join_lines(lines)) // 1_000_000} MB; more than 2 MB are not graded"
        return Extraction(submission=None, reference=reference, found=found)
    submission = _submission(sample, program._replace(lines=lines, notes=notes), how)
    return Extraction(
        submission=submission,
        reference=reference,
        prose=prose_outside(text, segments, spans, first),
    )


def _submission(sample: Sample, program: Program, how: str) -> Submission:
    return Submission(
        sample=sample.id,
        code=join_lines(program.lines),
        line_map=tuple(line.number for line in program.lines),
        how=how,
        notes=program.notes,
    )


def _choose(text: str, segments: tuple[Segment, ...]) -> tuple[Segment, str]:
    """Return the segment of the final answer, and in words how it was chosen."""
    defining = [one for one in segments if _defines(text, one, MODEL)]
    whole = [one for one in defining if _FORWARD.search(text, one.start, one.end)] or defining
    answer, thought = max(answer_start(text), _prompt_end(text)), thought_end(text)
    said = [one for one in whole if one.start >= answer] or whole
    final = [one for one in said if one.start >= thought] or said
    chosen = final[-1]
    kind = "block" if chosen.inside else "stretch of text"
    if len(defining) == 1:
        return chosen, f"the only {kind} that defines {MODEL}"
    where = " after the reasoning" if len(final) < len(said) else ""
    return chosen, f"the last of {len(defining)} blocks that define {MODEL}{where}"


def _prompt_end(text: str) -> int:
    """Return the end of the examples in KernelBench's prompt, where the architecture is given."""
    return max(text.rfind(phrase) + 1 for phrase in _GIVEN)


def _is_given(text: str, segments: tuple[Segment, ...], one: Segment) -> bool:
    """Whether KernelBench's introduction of the architecture is right before a segment."""
    if not one.inside:
        return any(phrase in text[one.start : one.end] for phrase in _GIVEN)
    start = segments[one.index - 1].start if one.index else 0
    return any(phrase in text[start : one.start] for phrase in _GIVEN)


def _defines(text: str, segment: Segment, name: str) -> bool:
    return class_line(name).search(text, segment.start, segment.end) is not None


def _earlier(text: str, segments: tuple[Segment, ...], before: int) -> list[Part]:
    """Return the blocks before the answer that aren't whole answers or references themselves."""
    return [
        Part(trim_blank_lines(lines), one.index)
        for one in segments[max(0, before - MAX_BLOCKS) : before]
        if one.inside
        and one.end - one.start <= MAX_CODE
        and not _defines(text, one, MODEL)
        and not _defines(text, one, REFERENCE)
        and trim_blank_lines(lines := segment_lines(text, one))
    ]


def _reference_before(text: str, segments: tuple[Segment, ...], before: int) -> str | None:
    """Return the last quoted `Model` before the answer that isn't an answer itself.

    The prompt's reference takes precedence over the model's own quotation, which may differ.
    """
    quoting = [one for one in segments[:before] if _defines(text, one, REFERENCE)]
    if len(quoting) > 2 * MAX_BLOCKS:
        quoting = [*quoting[:MAX_BLOCKS], *quoting[-MAX_BLOCKS:]]
    asked = [one for one in quoting if _is_given(text, segments, one)] or [
        one for one in quoting if is_asked(text, one.start)
    ]
    for one in (*reversed(asked), *reversed(quoting)):
        if one.end - one.start > MAX_CODE or _defines(text, one, MODEL):
            continue
        lines = trim_blank_lines(segment_lines(text, one))
        if not one.inside:
            lines, _ = find_program(lines, REFERENCE)
        if lines and python_error(lines) is None:
            return join_lines(lines)
    return None


def _reference_in(text: str | None) -> str | None:
    """Return the reference in a prompt, or in an answer that has no code of its own."""
    if not text or len(text) > MAX_CODE or not defines(text, REFERENCE):
        return None
    lines = trim_blank_lines(number_lines(text))
    if python_error(lines) is None:
        return None if defines(text, MODEL) else join_lines(lines)
    segments = cut_segments(text)
    return _reference_before(text, segments, len(segments))


def _what_instead(sample: Sample) -> str:
    """Return a sentence on what the sample has instead of code."""
    text = sample.text
    if sample.unreadable:
        return f"the file could not be read: {sample.unreadable}"
    if not text.strip():
        return sample.notes[-1] if sample.notes else "the text is empty"
    blocks = [one for one in cut_segments(text) if one.inside and text[one.start : one.end].strip()]
    words = len(text.split())
    whole = (
        sample.format in {"python", "kernelbench"}
        and python_error(trim_blank_lines(number_lines(text))) is None
    )
    if not blocks and not whole:
        return f"{words} word{'s' * (words != 1)} without a code block"
    models = [one for one in blocks if _defines(text, one, REFERENCE)]
    if models or (whole and defines(text, REFERENCE)):
        said = [text[one.start : one.end] for one in models] or [text]
        if any(sign in one for one in said for sign in _signs_of_kernels()):
            return f"kernels in a class {REFERENCE}, which must be called {MODEL} to be found"
        return f"only the reference: class {REFERENCE}, and no class {MODEL}"
    for language in languages().values():
        if any(sign in text for sign in language.kernel_signs):
            return f"{language.title} code, but no Python class {MODEL}"
    if not blocks:
        return f"Python code, but no class {MODEL}"
    return f"{len(blocks)} code block{'s' * (len(blocks) != 1)}, none with a class {MODEL}"


def _signs_of_kernels() -> Iterator[str]:
    """Yield the words that show that a program has its own kernels, in any language."""
    for language in languages().values():
        yield from (*language.kernel_signs, *language.signs)


def _span(text: str, segments: tuple[Segment, ...], program: Program) -> tuple[int, int]:
    """Return the offsets from the program's first line to its last."""
    numbers = [line.number for line in program.lines if line.number]
    segment = segments[program.first_segment]
    start = segment.start
    for _ in range(numbers[0] - segment.first_line if numbers else 0):
        start = text.find("\n", start) + 1
    end = start
    for _ in range(numbers[-1] - numbers[0] + 1 if numbers else 0):
        end = text.find("\n", end) + 1 or len(text)
    return start, end

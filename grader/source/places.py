"""Places of a submission: from offsets to lines, columns and an excerpt."""

from grader.records import Place, PlaceLanguage, Submission
from grader.source.positions import Positions

EXCERPT = 200


def place_span(
    positions: Positions,
    start: int,
    end: int,
    language: PlaceLanguage = "python",
    string_line: int | None = None,
) -> Place:
    """Return the place of `text[start:end]`; offsets outside the text are moved to its ends."""
    line, column = positions.locate(start)
    end_line, end_column = positions.locate(max(start, end))
    last = len(positions.lines[line - 1]) if end_line > line else end_column
    excerpt = positions.lines[line - 1][column:last].strip()
    return Place(
        line=line,
        end_line=end_line,
        column=column,
        end_column=end_column,
        language=language,
        string_line=string_line,
        excerpt=excerpt[:EXCERPT],
    )


def in_sample(place: Place, submission: Submission) -> Place:
    """Return the place with its line in the sample."""
    return place.model_copy(update={"sample_line": submission.sample_line(place.line)})

"""A fix: an include of a header that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.source.analysis.diagnostics import explain, said
from grader.source.code_edits import delete_lines_of, fix
from grader.source.cuda_code import cuda_code, text, units

if TYPE_CHECKING:
    from grader.records import Evidence, Fix
    from grader.source import Source


def without_header(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Drop the include: helpers of samples and of other projects are rarely used."""
    meaning = explain(said(item))
    if meaning is None or meaning.kind != "missing-header":
        return ()
    edits = [
        delete_lines_of(unit, node)
        for unit in units(source)
        for node in cuda_code(unit).of("preproc_include")
        if text(node.child_by_field_name("path")).strip('<>"') == meaning.names[0]
    ]
    return fix(f"drop {meaning.names[0]}", edits)

"""What a reviewer would change where a compiler stops: one small edit for each kind of slip.

Each module holds the slips of one kind; each function takes the submission and one compiler message and
returns the fixes of the slip that the message shows, or none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.rules.build.fixes.arguments import left_out, plainly_loaded
from grader.rules.build.fixes.braces import braced
from grader.rules.build.fixes.build_call import with_argument, without_standard
from grader.rules.build.fixes.characters import escaped, plain_signs
from grader.rules.build.fixes.constness import cast_to_const, one_value, writable
from grader.rules.build.fixes.conversions import narrowed, plain_pointers
from grader.rules.build.fixes.defines import plain_macro
from grader.rules.build.fixes.device_code import (
    atomic_extremum,
    device_constant,
    device_function,
    device_maths,
    nested_extremum,
)
from grader.rules.build.fixes.headers import without_header
from grader.rules.build.fixes.helpers import defined, without_uncalled
from grader.rules.build.fixes.methods import called, sized
from grader.rules.build.fixes.names import (
    builtin,
    check_macro,
    missing_constant,
    of_tensors,
    qualified,
)
from grader.rules.build.fixes.order import declared_first
from grader.rules.build.fixes.pointers import reinterpreted
from grader.rules.build.fixes.results import returned_type
from grader.rules.build.fixes.sizes import listed
from grader.rules.build.fixes.template_names import renamed
from grader.rules.build.fixes.variables import assigned, bare_shared, counted

if TYPE_CHECKING:
    from grader.records import Evidence, Fix
    from grader.source import Source

KINDS = (
    declared_first,
    builtin,
    qualified,
    of_tensors,
    check_macro,
    missing_constant,
    defined,
    without_uncalled,
    device_constant,
    device_function,
    device_maths,
    atomic_extremum,
    nested_extremum,
    called,
    sized,
    left_out,
    plainly_loaded,
    listed,
    plain_macro,
    narrowed,
    plain_pointers,
    writable,
    cast_to_const,
    one_value,
    reinterpreted,
    returned_type,
    assigned,
    counted,
    bare_shared,
    escaped,
    plain_signs,
    renamed,
    without_header,
    without_standard,
    with_argument,
    braced,
)


def fixes(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Return the fixes of the slip that one compiler message shows."""
    return tuple(one for kind in KINDS for one in kind(source, item))

"""The meaning of a run's observation in a sentence; threads, bytes and counts stay in the evidence."""

from collections.abc import Mapping

from grader.records import Evidence, MemoryAccess, MemoryUse, Race

_ACTS: Mapping[str, tuple[str, str]] = {
    "write-read": ("reads", "writes"),
    "read-write": ("overwrites", "reads"),
    "write-write": ("overwrites", "writes"),
    "atomic-plain": ("accesses without an atomic", "updates with one"),
    "plain-atomic": ("updates with an atomic", "accesses without one"),
}
"""Words for the later and the earlier access of a race."""
_OF_PROGRAM = " in the same program"
_USES: Mapping[MemoryUse, str] = {"read": "reads", "write": "writes", "atomic": "updates"}


def cause_of(item: Evidence, what: str = "what") -> str:
    """Return the cause that an observation shows; by default its own sentence.

    `what` names the memory of a race, for "a thread reads ... another thread writes".
    """
    said = ""
    if isinstance(item.details, Race):
        said = _race(item, item.details, what)
    elif item.code == "local-out-of-bounds":
        said = f"a {_who(item)} accesses an array of its own outside of its bounds"
    elif isinstance(item.details, MemoryAccess):
        act = _say_misaligned if item.code == "misaligned" else _outside
        said = act(item, item.details)
    return said or item.text


def _race(item: Evidence, race: Race, what: str) -> str:
    acts = _ACTS.get(race.conflict)
    if acts is None or item.place is None or not item.related:
        return ""
    line = item.related[0].line
    where = "on the same line" if line == item.place.line else f"on line {line}"
    who = "warp" if race.within_program else _who(item)
    return f"a {who} {acts[0]} {what} another {who} {acts[1]} {where}{_OF_PROGRAM if race.within_program else ''}, and nothing makes one wait for the other"


def _outside(item: Evidence, access: MemoryAccess) -> str:
    verb = _USES.get(access.access)
    if verb is None or not access.region or access.offset is None:
        return ""
    if 0 <= access.offset <= access.size - access.width:
        return ""
    side = "before the start" if access.offset < 0 else "past the end"
    return f"a {_who(item)} {verb} {side} of `{access.region}`"


def _say_misaligned(item: Evidence, access: MemoryAccess) -> str:
    verb = _USES.get(access.access, "accesses")
    return f"a {_who(item)} {verb} {access.width} bytes at once, and the address is not a multiple of {access.width}"


def _who(item: Evidence) -> str:
    """Return the unit of parallelism: a thread in CUDA, a program in Triton."""
    return "program" if item.place is not None and item.place.language == "python" else "thread"

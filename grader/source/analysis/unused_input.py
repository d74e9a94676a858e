"""An input that `forward` never reads, so that it can't affect the result."""

from grader.records import Evidence
from grader.records.observed import probed_input
from grader.source import Source, nodes_under
from grader.source.analysis.own_draws import Cause


def unused_input(source: Source, seen: Evidence) -> Cause | None:
    """Return the input without influence in a probe, if `forward` does not read it at all."""
    forward = source.module.method("forward")
    number = probed_input(seen)
    if seen.code != "probe-ignored" or forward is None or number is None:
        return None
    given = forward.args.args[1:]
    if forward.args.vararg is not None or not 0 <= number < len(given):
        return None
    name = given[number].arg
    read = {getattr(node, "id", "") for node in nodes_under(forward)} & {name, "locals"}
    return None if read else Cause(source.place(given[number]), f": `forward` never reads `{name}`")

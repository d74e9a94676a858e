"""A change of compiled code in the words of its source line."""

from __future__ import annotations

import re
from typing import Final

from grader.records import Counterfactual, Place
from grader.source import Source
from grader.source.rewriting.changed_line import BETWEEN, SIGNS, VERBS, ChangedLine

MANY: Final = 3
"""Changes from which on none of them says what was meant."""
_ARGUMENT: Final = re.compile(r"argument \d+")
_COUNTS: Final = ("no", "one", "two", "three", "four")


def say_change(source: Source, place: Place, change: Counterfactual) -> str:
    """Return what a line has, and with what in its place the results are right, as a sentence without its stop."""
    count = change.workloads
    of = f"{_COUNTS[count] if count < len(_COUNTS) else count} workload{'s' * (count != 1)}"
    has = _has_and_needs(ChangedLine(source, place, change))
    lines = " and ".join(map(str, change.also)) if change.both != "exchanged" else ""
    too = f" and the same in line {lines}" if lines else ""
    others = change.alternatives - 1
    more = f", and with {others} other small changes" if others >= MANY else ""
    return f"line {change.taken_at or place.line} {has}{too} every element is right on {of}{more}"


def _has_and_needs(line: ChangedLine) -> str:
    change = line.change
    if change.taken_at and change.exchanged_dims:
        dims = "dims {} and {} of {}".format(*change.exchanged_dims, change.after)
        return f"reads `{change.parameter}` as if {dims} were exchanged: with them so"
    if change.change == "argument" and change.taken_at:
        return f"uses `{change.parameter}`: {_say_given(change)}"
    if change.change == "argument":
        return f"gives `{change.parameter}` as `{change.before}`: {_say_given(change)}"
    if change.change == "host":
        before, after = (" ".join(code.split()) for code in (change.before, change.after))
        return f"has `{before}`: with `{after}`"
    if change.change == "guard":
        holds = "never" if change.after == "never" else "always"
        return f"does this under a condition: if the condition {holds} holds,"
    if change.both == "exchanged":
        old, new = line.name_of_side("before"), line.name_of_side("after")
        return f"takes {f'`{old}`: with that and `{new}`' if old and new else 'two values: with them'} exchanged"
    if change.both == "alike":
        verb = change.after.partition(" ")[0].partition(".")[0]
        return f"takes two values: with `{VERBS.get(verb, verb)}` of both"
    if change.change == "condition":
        return f"has a condition: with {_say_compared(line, change)} beside it"
    if change.change == "carried":
        return (
            f"sets anew what earlier turns made: with that and the new value {_say_joined(change)}"
        )
    pairs = {(line.text[start:end], text) for start, end, text in line.exact()}
    if len(pairs) == 1:
        old, new = pairs.pop()
        bare = new[1:-1] if new.startswith("(") and new.endswith(")") else new
        several = change.copies > 1 and len(line.exact()) > 1
        return f"has `{old}`: with `{bare}`{' for one or more of these' * several}"
    return _vague(line, change)


def _say_joined(change: Counterfactual) -> str:
    verb = change.after.partition(".")[0]
    sign = VERBS.get(verb, verb)
    return f"joined by `{sign}`" if sign in BETWEEN else f"the `{sign}` of both"


def _say_compared(line: ChangedLine, change: Counterfactual) -> str:
    """Return a second condition; nothing but that where the text has no names for what it compares."""
    sign, _, operand = change.after.partition(" ")
    left, right = line.name_of_side("before"), line.other(operand)
    return f"`{left} {SIGNS[sign.split('.')[1]]} {right}`" if left and right else "a second one"


def _vague(line: ChangedLine, change: Counterfactual) -> str:
    """Return a change of what the line has no word for."""
    verb, _, operand = change.after.partition(" ")
    sign = VERBS.get(verb.partition(".")[0], verb.partition(".")[0])
    if verb == "selp":
        return f"takes a value: with `{operand.split()[1]}` in its place under a condition"
    if change.change == "around":
        other = f" and `{name}`" if (name := line.other(operand)) else ""
        made = re.match(rf"line (?!{line.place.line}\b)(\d+)", change.before)
        value = f"what line {made[1]} makes" if made else "a value"
        return f"takes {value}: with `{sign}` of it{other or ' and another value' * bool(operand)}"
    if change.change == "operand":
        named = f"`{name}`" if (name := line.name_of_side("after")) else _value_of(line, change)
        return f"takes a value: with {named} in its place"
    if change.change == "constant":
        return f"has a number that is {change.before} there: with `{change.after}`"
    return f"combines values: with {f'`{sign}`' if '.' in change.after else f'them {change.after}'}"


def _value_of(line: ChangedLine, change: Counterfactual) -> str:
    made = _ARGUMENT.sub(lambda found: line.name_of(found[0]) or found[0], change.after)
    made = made.partition("#")[0]
    return f"a value of {made}" if "after" in change.nameless else made


def _say_given(change: Counterfactual) -> str:
    """Return what a launch should give, `x` being what it gives."""
    if exchanged := re.fullmatch(r"(`[^`]*`) and `[^`]*`", change.after):
        return f"with that and {exchanged[1]} exchanged"
    if change.exchanged_dims:
        return "with {} with dims {} and {} exchanged".format(change.after, *change.exchanged_dims)
    if re.search(r"\bx\b", change.after):
        return f"with `{change.after}`, where `x` is that,"
    return f"with {change.after}"

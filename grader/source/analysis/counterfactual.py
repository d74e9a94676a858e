"""Sentences on a change of compiled code, in terms of its source line."""

from __future__ import annotations

from typing import Final

from grader.records import Counterfactual, Place, changes
from grader.source import Source
from grader.source.rewriting.changed_line import BETWEEN, SIGNS, VERBS, ChangedLine

MANY: Final = 3
"""Number of right changes from which on none of them shows the intent."""
_COUNTS: Final = ("no", "one", "two", "three", "four")


def say_change(source: Source, place: Place, seen: Counterfactual) -> str:
    """Return a sentence, without full stop, on a line's code and the change that makes the results right."""
    count, change = seen.workloads, seen.change
    of = f"{_COUNTS[count] if count < len(_COUNTS) else count} workload{'s' * (count != 1)}"
    if isinstance(change, changes.OtherArgument):
        has = _say_argument(change, taken=bool(seen.taken_at))
    elif isinstance(change, changes.OtherHostCode):
        has = "has {}: with {}".format(*map(_say_code, (change.before, change.after)))
    else:
        has = _has_and_needs(ChangedLine(source, place, change), seen.copies)
    exchanged = isinstance(change, changes.OtherOperand) and change.both
    lines = " and ".join(map(str, seen.also)) if not exchanged else ""
    too = f" and the same in line {lines}" if lines else ""
    others = seen.alternatives - 1
    more = f", and with {others} other small changes" if others >= MANY else ""
    return f"line {seen.taken_at or place.line} {has}{too} every element is right on {of}{more}"


def _say_code(written: tuple[str, ...]) -> str:
    return " and ".join(f"`{' '.join(code.split())}`" for code in written)


def _has_and_needs(line: ChangedLine, copies: int) -> str:
    change = line.change
    match change:
        case changes.FixedGuard(after=after):
            holds = "never" if after == "never" else "always"
            return f"does this under a condition: if the condition {holds} holds,"
        case changes.OtherOperand(both=True):
            old, new = line.name_of(change.before), line.name_of(change.after)
            return f"takes {f'`{old}`: with that and `{new}`' if old and new else 'two values: with them'} exchanged"
        case changes.OneMoreStep(both=True):
            return f"takes two values: with `{_sign(change.after)}` of both"
        case changes.SecondCondition():
            return f"has a condition: with {_say_compared(line, change)} beside it"
        case changes.AddedToOld(after=joined):
            return f"sets anew what earlier turns made: with that and the new value {_say_joined(joined)}"
    pairs = {(line.text[start:end], text) for start, end, text in line.exact()}
    if len(pairs) == 1:
        old, new = pairs.pop()
        bare = new[1:-1] if new.startswith("(") and new.endswith(")") else new
        several = copies > 1 and len(line.exact()) > 1
        return f"has `{old}`: with `{bare}`{' for one or more of these' * several}"
    return _vague(line)


def _sign(done: changes.Operation) -> str:
    """Return an operation as a text says it."""
    return VERBS.get(done.name) or SIGNS.get(done.name) or done.name


def _say_joined(joined: changes.Operation) -> str:
    sign = _sign(joined)
    return f"joined by `{sign}`" if sign in BETWEEN else f"the `{sign}` of both"


def _say_compared(line: ChangedLine, change: changes.SecondCondition) -> str:
    """Return a second condition in words; generic where the compared values have no names in the text."""
    left, right = line.name_of(change.before), line.beside(change.after)
    sign = SIGNS[change.after.name]
    return f"`{left} {sign} {right}`" if left and right else "a second one"


def _vague(line: ChangedLine) -> str:
    """Return words for a change of a value without a name in the line."""
    match line.change:
        case changes.OneMoreStep(after=changes.Operation(name="if" | "unless", number=number)):
            return f"takes a value: with `{number}` in its place under a condition"
        case changes.OneMoreStep(before=value, after=step):
            other = f" and `{name}`" if (name := line.beside(step)) else ""
            other = other or " and another value" * bool(step.values)
            elsewhere = value.origin == "line" and value.number not in {0, line.place.line}
            taken = f"what line {value.number} makes" if elsewhere else "a value"
            return f"takes {taken}: with `{_sign(step)}` of it{other}"
        case changes.EarlierStep(before=step, after=other):
            return f"does `{_sign(other)}` before `{_sign(step)}`: in the other order"
        case changes.OtherOperand(after=value):
            named = f"`{name}`" if (name := line.name_of(value)) else _say_value(line, value)
            return f"takes a value: with {named} in its place"
        case changes.OtherDivisor(after=changes.Operation(name=name, values=sizes)):
            shown = " / ".join(line.name_of(one) or _say_value(line, one) for one in sizes)
            return f"takes a value: with the {'quotient' if name == 'div' else 'rest'} by {shown} in its place"
        case changes.OtherConstant(before=before, after=after):
            return f"has a number that is {before} there: with `{after}`"
        case (
            changes.OtherComparison(after=other)
            | changes.OtherOperator(after=changes.Operation() as other)
        ):
            return f"combines values: with `{_sign(other)}`"
        case changes.OtherOperator(after=str() as part):
            return f"combines values: with {part}"
    return "computes a value: with another one"


def _say_value(line: ChangedLine, value: changes.KernelValue) -> str:
    """Return words for the origin of a value without a name in the text."""
    if value.origin == "argument":
        return line.name_where_made(value) or f"argument {value.number}"
    where = value.register or f"line {value.number}"
    return where if value.named else f"a value of {where}"


def _say_argument(change: changes.OtherArgument, *, taken: bool) -> str:
    match change.after:
        case changes.PassedTensor(name=name, exchanged_dims=(a, b)) if taken:
            return f"reads `{change.receiver}` as if dims {a} and {b} of {name} were exchanged: with them so"
    verb = "uses" if taken else "gives"
    gives = "" if taken else f" as `{change.given}`"
    return f"{verb} `{change.receiver}`{gives}: {_say_given(change)}"


def _say_given(change: changes.OtherArgument) -> str:
    """Return the right argument of a launch, as a formula of `x`, the present one."""
    passed = change.after
    if len(change.before) > 1:
        return f"with that and {_say_passed(passed)} exchanged"
    if isinstance(passed, changes.PassedNumber) and not passed.of:
        return f"with `{passed.formula}`, where `x` is that,"
    return f"with {_say_passed(passed)}"


def _say_passed(passed: changes.Passed | str) -> str:
    match passed:
        case changes.PassedArgument(number=number, launch=launch, text=text):
            earlier = f" of launch {launch}" if launch is not None else ""
            return f"`{text}`" if text else f"argument {number}{earlier}"
        case changes.PassedTensor(name=name, exchanged_dims=dims):
            return f"{name} with dims {dims[0]} and {dims[1]} exchanged" if dims else name
        case changes.PassedSize(tensor=tensor, first=first, last=last):
            sizes = " * ".join(f"size({n})" for n in range(first, last + 1))
            return f"{tensor}: {sizes}"
        case changes.PassedNumber(formula=formula, of=of):
            return formula.replace("x", f"({_say_passed(of)})")
    return passed

"""What a run on the simulator showed, as evidence at lines of the submission.

The report comes from the process that ran generated code: its shape is checked against a closed
schema, sizes are limited, and what doesn't fit is dropped. It explains a verdict and makes none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from grader.records import Evidence, JsonValue, Launch, LineCount, Place
from grader.simulator.wording import KINDS, OF_THE_HOST, sentence
from grader.source import Source

__all__ = ["KINDS", "OF_THE_HOST", "Outcome", "outcome", "to_evidence", "with_own_lines"]

MOST_FINDINGS = 200
MOST_LINES = 2000
MOST_LAUNCHES = 200
_LARGEST = 2**63
_PLAIN = re.compile(r"[^\x20-\x7e]+")


@dataclass(frozen=True)
class Outcome:
    """How the simulator says that a run ended, apart from what was found on the way."""

    hung: str = ""
    """Why it can never end; empty if it can."""
    over_budget: str = ""
    """Which launch was stopped for its length."""
    lost: str = ""
    """The error that took the context: every later call fails with it."""
    not_run: tuple[str, ...] = ()
    """Features that the simulator lacks."""
    operators: dict[str, int] = field(default_factory=dict)
    """torch operators that ran, by name."""
    launches: int = 0
    """How many kernels were launched."""


def outcome(report: JsonValue) -> Outcome:
    """Return how the run ended, from a guest's report of any shape."""
    host = _dict(_dict(report).get("host"))
    missing = _counts(host.get("not_run"), 50)
    launches = _entries(_dict(_dict(report).get("core")).get("launches"), MOST_LAUNCHES)
    return Outcome(
        hung=_text(host.get("hung")),
        over_budget=_text(host.get("over_budget")),
        lost=_text(host.get("sticky")) and _text(host.get("sticky_reason") or host.get("sticky")),
        not_run=tuple(missing),
        operators=_counts(_dict(report).get("operators"), 500),
        launches=sum(max(_int(entry.get("count")), 1) for entry in launches),
    )


def api_calls(report: JsonValue) -> dict[str, int]:
    """Return how often each function of the CUDA runtime was called, from a guest's whole report."""
    return _counts(_dict(_dict(_dict(report).get("simulator")).get("host")).get("calls"), 500)


def to_evidence(
    report: JsonValue, source: Source, workload: str | None = None
) -> tuple[tuple[Evidence, ...], tuple[LineCount, ...], tuple[Launch, ...]]:
    """Return what was found, what was counted at each line, and what was launched.

    Places are the submission's own lines; counts at lines that it doesn't have are dropped.
    """
    core = _dict(_dict(report).get("core"))
    host = _dict(_dict(report).get("host"))
    names = {key: _short(_text(text)) for key, text in list(_dict(host.get("names")).items())[:500]}
    reader = _Reader(source, workload, names)
    evidence = (
        *reader.findings(core),
        *reader.launch_errors(host),
        *reader.host_pointers(host),
        *reader.host_access(_dict(host.get("host_access"))),
        *reader.unwritten(_dict(report).get("unwritten")),
    )
    return evidence, tuple(reader.lines(core)), tuple(reader.launches(core, host))


_LINE = re.compile(r"\bline (\d{1,6})\b")


def with_own_lines(text: str, source: Source) -> str:
    """Say the submission's lines where the simulator says those of the file that nvcc saw."""

    def own(match: re.Match[str]) -> str:
        place = source.compiled_place("cuda.cu", int(match[1]))
        return f"line {place.line}" if place else match[0]

    return _LINE.sub(own, text)


class _Reader:
    """Turns the parts of one report into records."""

    def __init__(self, source: Source, workload: str | None, names: dict[str, str]) -> None:
        self._source = source
        self._workload = workload
        self._names = names

    def findings(self, core: dict[str, JsonValue]) -> Iterator[Evidence]:
        for entry in _entries(core.get("findings"), MOST_FINDINGS):
            kind = _text(entry.get("kind"))
            if kind not in KINDS:
                continue
            other = _dict(entry.get("other"))
            second = self._place(other) if other else None
            data = self._values(entry, other)
            yield Evidence(
                kind="simulator",
                code=kind,
                text=with_own_lines(sentence(kind, data, _text(entry.get("text"))), self._source),
                place=self._place(entry),
                related=(second,) if second else (),
                workload=self._workload,
                count=max(_int(entry.get("count")), 1),
                data=data,
            )

    def launch_errors(self, host: dict[str, JsonValue]) -> Iterator[Evidence]:
        for entry in _entries(host.get("launch_errors"), 50):
            kernel, error = self._kernel(entry), _text(entry.get("error"))
            seen = entry.get("seen") is True
            text = f"The launch of {kernel} failed with {error}: {_text(entry.get('reason'))}."
            yield Evidence(
                kind="simulator",
                code="launch-error" if seen else "launch-error-unseen",
                text=text if seen else f"{text} The host code never asks for the error.",
                place=self._launch_place(kernel),
                workload=self._workload,
                data={"kernel": kernel, "error": error, "seen": seen},
            )

    def host_pointers(self, host: dict[str, JsonValue]) -> Iterator[Evidence]:
        for entry in _entries(host.get("host_pointers"), 50):
            kernel, parameter = self._kernel(entry), _int(entry.get("parameter"))
            null = entry.get("null") is True
            what = "a null pointer" if null else "memory of the CPU, not of the GPU"
            yield Evidence(
                kind="simulator",
                code="null-pointer" if null else "host-memory",
                text=f"{kernel} accesses memory that it can't: argument {parameter + 1} is {what}.",
                place=self._launch_place(kernel),
                workload=self._workload,
                data={"kernel": kernel, "parameter": parameter},
            )

    def host_access(self, entry: dict[str, JsonValue]) -> Iterator[Evidence]:
        size = _int(entry.get("bytes"))
        if size:
            write = entry.get("write") is True
            text = (
                f"The host code {'writes to' if write else 'reads'} the GPU's memory through a "
                f"pointer (byte {_int(entry.get('offset'))} of a tensor of {size}): on a GPU the "
                "process ends there with a segmentation fault."
            )
            yield Evidence(
                kind="simulator",
                code="host-access",
                text=text,
                workload=self._workload,
                data={"write": write, "bytes": size},
            )

    def unwritten(self, entries: JsonValue) -> Iterator[Evidence]:
        for entry in _entries(entries, 50):
            missing, size = _int(entry.get("bytes")), _int(entry.get("of"))
            shape = entry.get("shape")
            dims = [_int(dim) for dim in shape[:16]] if isinstance(shape, list) else []
            if 0 < missing <= size:
                position = _int(entry.get("output"))
                result = f"result {position + 1}, of shape {tuple(dims)},"
                part = f"{missing} of the {size} bytes of {result} were"
                said = part if missing < size else f"{result.capitalize()} was"
                yield Evidence(
                    kind="simulator",
                    code="unwritten-output",
                    text=f"{said} never written.",
                    workload=self._workload,
                    data={"output": position, "shape": list(dims), "bytes": missing, "of": size},
                )

    def lines(self, core: dict[str, JsonValue]) -> Iterator[LineCount]:
        for entry in _entries(core.get("lines"), MOST_LINES):
            place = self._place(entry)
            if place is not None:
                yield LineCount(
                    kernel=self._kernel(entry),
                    line=place.line,
                    instructions=sum(_counts(entry.get("instructions"), 40).values()),
                    **{name: _int(entry.get(name)) for name in _COUNTED},
                )

    def launches(self, core: dict[str, JsonValue], host: dict[str, JsonValue]) -> Iterator[Launch]:
        fits = {
            (_text(fit.get("kernel")), _int(fit.get("threads")), _int(fit.get("shared"))): fit
            for fit in _entries(host.get("fits"), MOST_LAUNCHES)
        }
        for entry in _entries(core.get("launches"), MOST_LAUNCHES):
            grid, block = _triple(entry.get("grid")), _triple(entry.get("block"))
            shared = _int(entry.get("shared"))
            threads = block[0] * block[1] * block[2]
            yield Launch(
                kernel=self._kernel(entry),
                grid=grid,
                block=block,
                shared_bytes=shared,
                count=max(_int(entry.get("count")), 1),
                limits=_occupancy(fits.get((_text(entry.get("kernel")), threads, shared), {})),
            )

    def _kernel(self, entry: dict[str, JsonValue]) -> str:
        name = _text(entry.get("kernel"))
        return self._names.get(name, name)

    def _place(self, entry: dict[str, JsonValue]) -> Place | None:
        """Return the innermost frame that is a line of the submission."""
        frames = [(entry.get("file"), entry.get("line"))]
        given = entry.get("frames")
        frames += [pair for pair in given[:20] if _is_pair(pair)] if isinstance(given, list) else []
        for file, line in frames:
            place = self._compiled(_text(file), _int(line))
            if place is not None:
                return place
        return None

    def _compiled(self, file: str, line: int) -> Place | None:
        if not file or line <= 0:
            return None
        folder = file.rsplit("/", 2)[-2] if file.count("/") >= 1 else None
        named = self._source.compiled_place(file, line, extension=folder)
        return named or self._source.compiled_place(file, line)

    def _launch_place(self, kernel: str) -> Place | None:
        """Where the kernel is launched, when its text has one place that does it."""
        plain = re.sub(r"<.*", "", kernel).rsplit("::", 1)[-1]
        found = [
            unit.place(launch.node)
            for unit in self._source.cuda
            for launch in unit.launches
            if launch.kernel.rsplit("::", 1)[-1] == plain
        ]
        return found[0] if found else None

    def _values(
        self, entry: dict[str, JsonValue], other: dict[str, JsonValue]
    ) -> dict[str, JsonValue]:
        values: dict[str, JsonValue] = {"kernel": self._kernel(entry)}
        for name in ("block", "thread"):
            if isinstance(entry.get(name), list):
                values[name] = list(_triple(entry[name]))
            if isinstance(other.get(name), list):
                values[f"other_{name}"] = list(_triple(other[name]))
        if other:
            values["other_what"] = _text(other.get("what"))
        for key, value in list(_dict(entry.get("data")).items())[:30]:
            values.setdefault(_text(key), _scalar(value))
        return values


_COUNTED = (
    "accesses", "sectors", "ideal_sectors", "requests", "shared_accesses", "bank_conflicts",
    "divergent", "atomics", "stores", "bytes",
)  # fmt: skip


def _occupancy(fit: dict[str, JsonValue]) -> dict[str, JsonValue]:
    most = _int(fit.get("most_warps"))
    if not most:
        return {}
    return {
        "blocks_per_multiprocessor": _int(fit.get("blocks")),
        "limiter": _text(fit.get("limiter")),
        "occupancy": round(min(_int(fit.get("warps")) / most, 1.0), 4),
        "registers": _int(fit.get("registers")),
    }


def _short(name: str) -> str:
    """Return a demangled kernel without its return type and parameter list."""
    depth = 0
    for i in range(len(name) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(name[i], 0)
        if depth == 0 and name[i] == "(":
            name = name[:i]
            break
    return name.removeprefix("void ").replace("(anonymous namespace)::", "")


# ---------------------------------------------------------------- values of any shape


def _dict(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _entries(value: JsonValue, most: int) -> list[dict[str, JsonValue]]:
    given = value[:most] if isinstance(value, list) else []
    return [entry for entry in given if isinstance(entry, dict)]


def _text(value: JsonValue, most: int = 400) -> str:
    return _PLAIN.sub(" ", value[:most]) if isinstance(value, str) else ""


def _int(value: JsonValue) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 <= value < _LARGEST else 0  # NaN is in no range


def _counts(value: JsonValue, most: int) -> dict[str, int]:
    return {_text(key): _int(count) for key, count in list(_dict(value).items())[:most]}


def _scalar(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return [_scalar(item) for item in value[:20] if not isinstance(item, (list, dict))]
    if isinstance(value, (bool, int, float)) and abs(value) < _LARGEST:
        return value
    return None


def _triple(value: JsonValue) -> tuple[int, int, int]:
    numbers = [_int(item) for item in value[:3]] if isinstance(value, list) else []
    x, y, z = [*numbers, 0, 0, 0][:3]
    return x, y, z


def _is_pair(value: JsonValue) -> bool:
    return isinstance(value, list) and len(value) == 2

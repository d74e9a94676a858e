"""The parts of a simulator's report as records: findings, counts, launches.

Shapes are checked and sizes limited (`grader.simulator.report` says why); invalid entries are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.languages import place_compiled_line
from grader.records import (
    Actor,
    Evidence,
    HostAccess,
    JsonValue,
    Launch,
    LineCount,
    NotDeviceMemory,
    Place,
    UnwrittenOutput,
)
from grader.simulator import fields
from grader.simulator.arguments import with_parameter_names
from grader.simulator.details import details_of, refusal_of
from grader.simulator.wording import KINDS, sentence
from grader.source import Source

MOST_FINDINGS = 200
MOST_LINES = 2000
MOST_LAUNCHES = 200
_LINE = re.compile(r"\bline (\d{1,6})\b")


def with_own_lines(text: str, source: Source, file: str = "cuda.cu") -> str:
    """Replace lines of nvcc's file in a sentence by the submission's lines."""

    def own_line(match: re.Match[str]) -> str:
        place = place_compiled_line(source, file, int(match[1]))
        return f"line {place.line}" if place else match[0]

    return _LINE.sub(own_line, text)


class Reader:
    """Turns the parts of one report into records."""

    def __init__(self, source: Source, workload: str | None, names: dict[str, str]) -> None:
        self._source = source
        self._workload = workload
        self._names = names

    def findings(self, core: dict[str, JsonValue]) -> Iterator[Evidence]:
        """Yield the findings in kernels, each with its line and its counterpart."""
        for entry in fields.entries(core.get("findings"), MOST_FINDINGS):
            kind = fields.text(entry.get("kind"))
            if kind not in KINDS:
                continue
            other = fields.as_mapping(entry.get("other"))
            second = self._place(other) if other else None
            kernel, actor = self._kernel(entry), _actor(entry)
            text = with_parameter_names(fields.text(entry.get("text")), kernel, self._source)
            data = fields.as_mapping(entry.get("data"))
            region = with_parameter_names(fields.text(data.get("region")), kernel, self._source)
            yield Evidence(
                kind="simulator",
                code=kind,
                text=with_own_lines(
                    sentence(kind, kernel, actor, text),
                    self._source,
                    fields.text((other or entry).get("file")) or "cuda.cu",
                ),
                place=self._place(entry),
                related=(second,) if second else (),
                workload=self._workload,
                count=max(fields.count(entry.get("count")), 1),
                kernel=kernel,
                actor=actor,
                other_actor=_actor(other) if other else None,
                details=details_of(kind, {**data, "region": region}),
            )

    def launch_errors(self, host: dict[str, JsonValue]) -> Iterator[Evidence]:
        """Yield launches that the driver refused."""
        for entry in fields.entries(host.get("launch_errors"), 50):
            kernel, refused = self._kernel(entry), refusal_of(entry)
            text = f"The launch of {kernel} failed with {refused.error}: {fields.text(entry.get('reason'))}."
            yield Evidence(
                kind="simulator",
                code="launch-error" if refused.checked else "launch-error-unseen",
                text=text if refused.checked else f"{text} The host code never queries the error.",
                place=self._launch_place(kernel),
                workload=self._workload,
                kernel=kernel,
                details=refused,
            )

    def host_pointers(self, host: dict[str, JsonValue]) -> Iterator[Evidence]:
        """Yield kernel arguments that don't point to GPU memory."""
        for entry in fields.entries(host.get("host_pointers"), 50):
            kernel, parameter = self._kernel(entry), fields.count(entry.get("parameter"))
            null = entry.get("null") is True
            what = "a null pointer" if null else "memory of the CPU, not of the GPU"
            yield Evidence(
                kind="simulator",
                code="null-pointer" if null else "host-memory",
                text=f"{kernel} accesses memory that it can't: argument {parameter + 1} is {what}.",
                place=self._launch_place(kernel),
                workload=self._workload,
                kernel=kernel,
                details=NotDeviceMemory(parameter=parameter),
            )

    def host_access(self, entry: dict[str, JsonValue]) -> Iterator[Evidence]:
        """Yield an access of the host code to the GPU's memory."""
        size = fields.count(entry.get("bytes"))
        if size:
            write = entry.get("write") is True
            text = (
                f"The host code {'writes to' if write else 'reads'} the GPU's memory through a "
                f"pointer (byte {fields.count(entry.get('offset'))} of a tensor of {size}): on a GPU the "
                "process ends there with a segmentation fault."
            )
            yield Evidence(
                kind="simulator",
                code="host-access",
                text=text,
                workload=self._workload,
                details=HostAccess(write=write, size=size),
            )

    def unwritten_results(self, entries: JsonValue) -> Iterator[Evidence]:
        """Yield results with unwritten bytes."""
        for entry in fields.entries(entries, 50):
            missing, size = (
                fields.count(entry.get("bytes")),
                fields.count(entry.get("of")),
            )
            shape = entry.get("shape")
            dims = [fields.count(dim) for dim in shape[:16]] if isinstance(shape, list) else []
            if 0 < missing <= size:
                position = fields.count(entry.get("output"))
                result = f"result {position + 1}, of shape {tuple(dims)},"
                part = f"{missing} of the {size} bytes of {result} were"
                said = part if missing < size else f"{result.capitalize()} was"
                yield Evidence(
                    kind="simulator",
                    code="unwritten-output",
                    text=f"{said} never written.",
                    workload=self._workload,
                    details=UnwrittenOutput(
                        output=position, shape=tuple(dims), missing=missing, size=size
                    ),
                )

    def lines(self, core: dict[str, JsonValue]) -> Iterator[LineCount]:
        """Yield the counts of each of the submission's lines."""
        for entry in fields.entries(core.get("lines"), MOST_LINES):
            place = self._place(entry)
            if place is not None:
                yield LineCount(
                    kernel=self._kernel(entry),
                    line=place.line,
                    instructions=sum(fields.counts(entry.get("instructions"), 40).values()),
                    **{name: fields.count(entry.get(name)) for name in _COUNTED},
                )

    def launches(self, core: dict[str, JsonValue], host: dict[str, JsonValue]) -> Iterator[Launch]:
        """Yield the kinds of launches, each with its occupancy."""
        fits = {
            (
                fields.text(fit.get("kernel")),
                fields.count(fit.get("threads")),
                fields.count(fit.get("shared")),
            ): fit
            for fit in fields.entries(host.get("fits"), MOST_LAUNCHES)
        }
        for entry in fields.entries(core.get("launches"), MOST_LAUNCHES):
            grid, block = fields.triple(entry.get("grid")), fields.triple(entry.get("block"))
            shared = fields.count(entry.get("shared"))
            threads = block[0] * block[1] * block[2]
            yield Launch(
                kernel=self._kernel(entry),
                grid=grid,
                block=block,
                shared_bytes=shared,
                count=max(fields.count(entry.get("count")), 1),
                limits=_occupancy(
                    fits.get((fields.text(entry.get("kernel")), threads, shared), {})
                ),
            )

    def _kernel(self, entry: dict[str, JsonValue]) -> str:
        name = fields.text(entry.get("kernel"))
        return self._names.get(name, name)

    def _place(self, entry: dict[str, JsonValue]) -> Place | None:
        """Return the innermost frame that is a line of the submission."""
        frames = [(entry.get("file"), entry.get("line"))]
        given = entry.get("frames")
        frames += (
            [pair for pair in given[:20] if fields.is_pair(pair)] if isinstance(given, list) else []
        )
        for file, line in frames:
            place = place_compiled_line(self._source, fields.text(file), fields.count(line))
            if place is not None:
                return place
        return None

    def _launch_place(self, kernel: str) -> Place | None:
        """Return the place of the kernel's launch, if the text has only one."""
        plain = re.sub(r"<.*", "", kernel).rsplit("::", 1)[-1]
        found = [
            unit.place(launch.node)
            for unit in self._source.cuda
            for launch in unit.launches
            if launch.kernel.rsplit("::", 1)[-1] == plain
        ]
        return found[0] if found else None


def _actor(entry: dict[str, JsonValue]) -> Actor:
    """Return the thread that an entry is about."""
    thread, block = (
        fields.triple(entry[name]) if isinstance(entry.get(name), list) else None
        for name in ("thread", "block")
    )
    return Actor(thread=thread, block=block, did=fields.text(entry.get("what")))


_COUNTED = (
    "accesses", "sectors", "ideal_sectors", "requests", "shared_accesses", "bank_conflicts",
    "divergent", "atomics", "stores", "bytes",
)  # fmt: skip


def _occupancy(fit: dict[str, JsonValue]) -> dict[str, JsonValue]:
    most = fields.count(fit.get("most_warps"))
    if not most:
        return {}
    return {
        "blocks_per_multiprocessor": fields.count(fit.get("blocks")),
        "limiter": fields.text(fit.get("limiter")),
        "occupancy": round(min(fields.count(fit.get("warps")) / most, 1.0), 4),
        "registers": fields.count(fit.get("registers")),
    }


def short(name: str) -> str:
    """Return a demangled kernel without its return type and parameter list."""
    depth = 0
    for i in range(len(name) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(name[i], 0)
        if depth == 0 and name[i] == "(":
            name = name[:i]
            break
    return name.removeprefix("void ").replace("(anonymous namespace)::", "")

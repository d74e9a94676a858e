"""Nsight Compute's raw page as CSV, read into one profile a kernel."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from grader.records import KernelProfile

_TIME = "gpu__time_duration.sum"
_READ, _WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
_SECTORS = tuple(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st"))
_REQUESTS = tuple(f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st"))
_OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
_OPERATIONS = {
    f"sm__sass_thread_inst_executed_op_{kind}{op}_pred_on.sum": 2 if op == "fma" else 1
    for kind in "fd"
    for op in ("add", "mul", "fma")
}
METRICS = (_TIME, _READ, _WRITTEN, *_SECTORS, *_REQUESTS, _OCCUPANCY, *_OPERATIONS)
"""The requested metrics; names as in Nsight Compute's metrics reference."""
_SCALES = {
    "": 1.0, "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Tbyte": 1e12,
    "ns": 1.0, "nsecond": 1.0, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9,
    "second": 1e9, "%": 1.0, "sector": 1.0, "request": 1.0, "inst": 1.0,
}  # fmt: skip
_MOST = 64
Row = Mapping[str, float]


def read(log: str) -> tuple[KernelProfile, ...]:
    """Return the counts by kernel, the slowest first; none where the log has no table."""
    launches: dict[str, list[Row]] = defaultdict(list)
    for name, row in _rows(log):
        if name in launches or len(launches) < _MOST:
            launches[name].append(row)
    found = [_profile(name, rows) for name, rows in launches.items()]
    return tuple(sorted(found, key=lambda one: -one.milliseconds))


def _rows(log: str) -> Iterator[tuple[str, Row]]:
    """Yield kernel name and metrics in base units of each launch."""
    lines = log.splitlines()
    head = next((n for n, line in enumerate(lines) if line.startswith('"ID",')), None)
    if head is None or head + 1 >= len(lines):
        return
    names, units, *rows = csv.reader(line for line in lines[head:] if line.startswith('"'))
    scales = dict(zip(names, units, strict=False))
    for row in rows:
        values = dict(zip(names, row, strict=False))
        metrics = {m: _number(values.get(m, ""), scales.get(m, "")) for m in METRICS}
        yield values.get("Kernel Name", "?")[:200], metrics


def _number(text: str, unit: str) -> float:
    try:
        value = float(text.replace(",", "")) * _SCALES.get(unit, 1.0)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) and 0 <= value < 1e18 else 0.0


def _profile(name: str, rows: Sequence[Row]) -> KernelProfile:
    def total(*metrics: str) -> int:
        return int(sum(row[metric] for row in rows for metric in metrics))

    return KernelProfile(
        kernel=name,
        launches=len(rows),
        milliseconds=sum(row[_TIME] for row in rows) / 1e6,
        dram_bytes=total(_READ, _WRITTEN),
        sectors=total(*_SECTORS),
        requests=total(*_REQUESTS),
        operations=sum(times * total(metric) for metric, times in _OPERATIONS.items()),
        occupancy=sum(row[_OCCUPANCY] for row in rows) / 100 / len(rows),
    )

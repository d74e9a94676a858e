"""Runs single PTX instructions on arrays of bit patterns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .harness import Simulator

_HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
_REG = {16: ("b16", "rs"), 32: ("b32", "r"), 64: ("b64", "rd"), 8: ("b16", "rs")}


def kernel(op: str, out: int, sources: Sequence[int], tail: str = "") -> str:
    """A kernel that applies `op` to one element a thread; widths in bits, 1: a predicate."""
    lines = [
        ".visible .entry k(.param .u64 d",
        *(f", .param .u64 s{i}" for i in range(len(sources))),
        ") {",
    ]
    lines += [".reg .b64 %p_<9>; .reg .b64 %o; .reg .b32 %t; .reg .pred %q, %q2; .reg .b32 %c;"]
    lines += ["mov.u32 %t, %tid.x;"]
    for i, width in enumerate(sources):
        kind, _ = _REG[width]
        lines += [
            f".reg .{kind} %a{i}; ld.param.u64 %p_{i}, [s{i}];",
            f"mad.wide.u32 %p_{i}, %t, {width // 8}, %p_{i}; ld.global.b{width} %a{i}, [%p_{i}];",
        ]
    names = [f"%a{i}" for i in range(len(sources))]
    if out == 1:
        lines += [
            f"{op} {', '.join(['%q', *names])}{tail};",
            ".reg .b32 %d; selp.b32 %d, 1, 0, %q;",
        ]
        store = 32
    else:
        lines += [f".reg .{_REG[out][0]} %d;", f"{op} {', '.join(['%d', *names])}{tail};"]
        store = out
    lines += [
        "ld.param.u64 %p_8, [d];",
        f"mad.wide.u32 %o, %t, {store // 8}, %p_8; st.global.b{store} [%o], %d; ret; }}",
    ]
    return _HEAD + "\n".join(lines)


def apply(
    simulator: Simulator,
    op: str,
    out: int,
    widths: Sequence[int],
    sources: Sequence[Sequence[int]],
    tail: str = "",
) -> list[int]:
    """Results of `op` on each tuple of source patterns."""
    arrays = [
        np.array(source, f"u{width // 8}") for source, width in zip(sources, widths, strict=True)
    ]
    result = np.zeros(len(arrays[0]), f"u{max(out, 32) // 8 if out == 1 else out // 8}")
    module = simulator.load_ptx(kernel(op, out, widths, tail))
    outcome = module.launch("k", 1, len(result), result, *arrays)
    assert outcome.status == "ok", (op, outcome.reason)
    assert outcome.findings == []
    return [int(value) for value in result]

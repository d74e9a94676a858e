"""What is proposed for Triton programs: masks, atomics, grids; each for a seeded defect that it undoes."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence, Finding
from grader.repair.fixes.triton import grids, masks, own_tensors, stores
from grader.source import parse
from grader.source.edits import apply
from tests.corpus import corpus

SEEDED = {one.name: one for one in corpus.mutants("triton")}
MAKERS = {
    "MEM011": masks.FIX,
    "SYN006": stores.FIX,
    "DEP001": grids.FIX,
    "MEM010": own_tensors.FIX,
}


@pytest.mark.parametrize(
    ("name", "rule", "undone"),
    [
        ("relu_flat--no-store-mask", "MEM011", "tl.store(out_ptr + offsets, y, mask=mask)"),
        ("matrix_scalar_2d--half-mask", "MEM011", "(rows[:, None] < M) & (cols[None, :] < N)"),
        ("matmul_block_pointers--no-boundary-check", "MEM011", "boundary_check=(0, 1))"),
        ("matmul_grouped--half-mask", "MEM011", "(offs_cm[:, None] < M)"),
        ("matrix_scalar_2d--one-axis-grid", "DEP001", "M, BLOCK_M), triton.cdiv(N, BLOCK_N))"),
        ("matmul_batched_3d_grid--one-axis-grid", "DEP001", "triton.cdiv(N, 32), batch)"),
        ("l2_norm_rows--write-input", "MEM010", "own = torch.empty_like("),
        ("cosine_rows--missing-atomic", "SYN006", "tl.atomic_add(out_ptr, loss / B)"),
    ],
)
def test_a_proposed_fix_undoes_the_defect(name: str, rule: str, undone: str) -> None:
    seeded = SEEDED[name]
    source = parse(seeded.code)
    places = [source.line_place(line) for line in sorted(seeded.lines)]
    found = [
        Finding(
            rule=rule,
            name="x",
            severity="error",
            confidence="proven",
            message="m",
            place=p,
            evidence=(Evidence(kind="mismatch", code="constant-factor", text="", place=p),),
        )
        for p in places
    ]
    texts = [
        apply(seeded.code, one.edits)
        for finding in found
        for one in MAKERS[rule].propose(finding, source, Context())
    ]
    assert any(undone in text for text in texts)


def test_the_mask_of_a_product_s_other_operand_is_turned_to_fit() -> None:
    right = next(one for one in corpus.originals("triton") if one.name == "matmul_grouped").code
    mask = "mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0"
    assert right.count(f", {mask}") == 1
    source = parse(right.replace(f", {mask}", ""))
    (line,) = (n for n, text in enumerate(source.code.splitlines(), 1) if "tl.load(a_ptrs)" in text)
    finding = Finding(rule="MEM011", name="x", severity="error", confidence="proven", message="m", place=source.line_place(line))  # fmt: skip
    first = next(iter(masks.FIX.propose(finding, source, Context())))
    assert mask in apply(source.code, first.edits)


def test_a_length_that_several_accesses_leave_out_is_added_to_all_of_their_masks() -> None:
    code = """
import triton
import triton.language as tl

@triton.jit
def k(a_ptr, b_ptr, c_ptr, M, K, BLOCK: tl.constexpr):
    m = tl.arange(0, BLOCK)
    for start in range(0, K, BLOCK):
        ks = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + m[:, None] * K + ks[None, :], mask=m[:, None] < M)
        b = tl.load(b_ptr + ks)
        tl.store(c_ptr + m, tl.sum(a * b[None, :], axis=1), mask=m < M)
"""
    source = parse(code)
    place = source.line_place(10)
    found = Finding(
        rule="MEM011", name="x", severity="error", confidence="proven", message="m", place=place
    )
    first = next(iter(masks.FIX.propose(found, source, Context())))
    fixed = apply(code, first.edits)
    assert "mask=(m[:, None] < M) & (ks[None, :] < K))" in fixed
    assert "tl.load(b_ptr + ks, mask=(ks < K), other=0.0)" in fixed

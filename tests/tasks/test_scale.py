"""Variants of a problem: smaller numbers of the same kind, equal ones staying equal."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.tasks.scale import chains, divide_size, sizes_of

TEXT = """
batch_size = 112
features, groups = 64, 8
dim1 = 512
M = 1024 * 2
inner = 777  # the inner size

class Model:
    width = 4096

def get_inputs():
    return [rand(batch_size, features, dim1, 512, 4096)]

def get_init_inputs():
    return [features, groups, [features, dim1]]
"""


def constants(text: str) -> dict[str, int]:
    space: dict[str, int] = {}
    body = [n for n in ast.parse(text).body if isinstance(n, ast.Assign)]
    exec(compile(ast.Module(body, []), "x", "exec"), space)
    return {k: v for k, v in space.items() if isinstance(v, int)}


def test_every_variant_is_python_and_leaves_the_model_alone():
    found = chains(TEXT)
    assert {chain.kind for chain in found} == {"spatial", "all", "long", "odd", "low", "whole"}
    for chain in found:
        assert len({variant.text for variant in chain.variants}) == len(chain.variants)
        for variant in chain.variants:
            ast.parse(variant.text)
            assert "width = 4096" in variant.text
            made = constants(variant.text)
            assert made["features"] == 8 * made["groups"]


def test_spatial_variants_keep_features():
    for chain in chains(TEXT):
        if chain.kind == "spatial":
            found = [constants(variant.text) for variant in chain.variants]
            assert {c["features"] for c in found} == {64}
            assert found[0]["dim1"] < found[-1]["dim1"]


def test_a_long_variant_keeps_one_number_and_makes_the_others_small():
    long = [chain.variants for chain in chains(TEXT) if chain.kind == "long"]
    assert len(long) == 2
    assert all("M = 1024 * 2" in variant.text for variant in long[0])
    alone, variant = long[1]
    assert constants(alone.text)["batch_size"] == 1
    assert "dim1, 4, 4096" not in variant.text
    assert "features, dim1, 32, 4096" in variant.text
    assert constants(variant.text)["dim1"] == 4
    assert constants(variant.text)["batch_size"] == 2


READS = """
batch_size = 112
features = 4096

class Model:
    def __init__(self, features):
        self.hidden = randn(batch_size, features)

    def forward(self, x):
        return x

def get_inputs():
    return [rand(batch_size, features)]

def get_init_inputs():
    return [features]
"""


def test_what_the_model_reads_of_the_module_stays():
    for chain in chains(READS):
        for variant in chain.variants:
            assert constants(variant.text)["batch_size"] == 112
    assert any(
        constants(variant.text)["features"] < 4096
        for chain in chains(READS)
        for variant in chain.variants
    )


def test_the_kind_of_a_number_is_kept():
    for chain in chains(TEXT):
        for variant in chain.variants:
            found = constants(variant.text)
            if chain.kind == "odd":
                assert found["dim1"] % 2 == 1
            else:
                assert found["dim1"] & (found["dim1"] - 1) == 0
                assert found["inner"] % 2 == 1


def test_a_product_of_numbers_is_one_number():
    text = "M = 1024 * 2\nN = 1024\n"
    assert sizes_of(text) == {2048, 1024}
    for chain in chains(text):
        for variant in chain.variants:
            made = constants(variant.text)
            assert made["M"] > made["N"]
            assert chain.kind != "odd" or made["M"] % 2


def test_no_python_no_variants():
    assert chains("def (") == ()
    assert chains("\0") == ()


@given(value=st.integers(0, 2**31), factor=st.sampled_from([1, 2, 8, 1024]), floor=st.just(32))
def test_divided(value, factor, floor):
    smaller = divide_size(value, factor, floor)
    assert smaller <= max(value, floor)
    if value > floor:
        assert smaller >= floor
        assert (smaller & (smaller - 1) == 0) == (value & (value - 1) == 0) or factor > 1


@pytest.mark.parametrize(("value", "smaller"), [(65535, 8191), (65536, 8192), (393216, 49152)])
def test_divided_by_eight(value, smaller):
    assert divide_size(value, 8, 32) == smaller


ATTENTION = """
batch_size = 16
seq_len = 1024
n_embd = 768
n_head = 12
n_classes = 10

def get_inputs():
    return [rand(batch_size, seq_len, n_embd)]
"""


def test_fewer_heads_are_as_wide_as_they_were():
    found = chains(ATTENTION)
    assert {chain.kind for chain in found} == {"spatial", "all", "odd", "low", "whole"}
    for chain in found:
        for variant in chain.variants:
            made = constants(variant.text)
            assert made["n_embd"] == 64 * made["n_head"]
            assert 2 <= made["n_head"] <= 12
            assert made["n_classes"] == 10
    assert {constants(v.text)["n_head"] for c in found for v in c.variants} >= {2, 3, 12}


def test_where_two_numbers_of_heads_are_named_widths_shrink_as_all_do():
    text = ATTENTION + "kv_heads = 4\n"
    found = [constants(v.text) for c in chains(text) if c.kind == "all" for v in c.variants]
    assert {c["n_head"] for c in found} == {12}
    assert all(c["n_embd"] % 12 == 0 for c in found)
    assert min(c["n_embd"] for c in found) == 96


def test_the_groups_of_a_norm_stay_as_wide():
    text = """
batch_size = 1024
in_features = 512
out_features = 8192
num_groups = 512
"""
    for chain in chains(text):
        for variant in chain.variants:
            made = constants(variant.text)
            assert made["out_features"] == 16 * made["num_groups"]


def test_a_depthwise_convolution_keeps_a_group_for_each_channel():
    text = """
batch_size = 16
channels = 64
groups = 64

def get_inputs():
    return [rand(batch_size, channels, 512, 512)]
"""
    for chain in chains(text):
        for variant in chain.variants:
            made = constants(variant.text)
            assert made["channels"] == made["groups"]


def test_sizes_that_are_to_stay_do_but_in_the_odd_ones():
    kept = frozenset({512, 64})
    assert kept < sizes_of(TEXT)
    found = chains(TEXT, kept)
    assert {chain.kind for chain in found} == {"spatial", "all", "odd"}
    for chain in found:
        for variant in chain.variants:
            made = constants(variant.text)
            assert ({made["dim1"], made["features"]} == kept) == (chain.kind != "odd")
    smallest = [constants(c.variants[0].text)["M"] for c in found if c.kind == "all"]
    assert {1024, 64} <= set(smallest)


def test_a_small_height_is_a_size_that_is_changed_and_may_stay():
    """Heights and widths become smaller than other numbers may: an answer that writes 16 is asked about 16."""
    text = "batch_size = 64\nD, H = 16, 16\ndim, groups = 16, 8\ndef get_inputs():\n    return []\n"
    assert sizes_of(text) == {64, 16}
    assert 16 not in sizes_of(text.replace("D, H", "a, b"))
    for chain in chains(text, frozenset({16})):
        if chain.kind != "odd":
            assert all("D, H = 16, 16" in variant.text for variant in chain.variants)


def test_a_batch_that_is_to_stay_does():
    for chain in chains(TEXT, frozenset({112})):
        if chain.kind != "odd":
            assert {constants(variant.text)["batch_size"] for variant in chain.variants} == {112}


@given(st.text(max_size=40))
def test_any_text_has_sizes_or_none(text: str) -> None:
    assert all(size > 4 for size in sizes_of(text))


@pytest.mark.parametrize(
    ("shapes", "init", "odd"),
    [
        ("randn(64, 32, 64, 64)", "[32]", [3, 32, 5, 5]),
        ("randn(32, 999)", "[]", [3, 33]),
        ("randn(32, 64), randn(64, 32)", "[]", [32, 33]),  # rows of one, columns of the other
        ("randn(32, 64), randint(0, 32, (5,))", "[]", [32, 33]),
    ],
)
def test_a_number_without_a_name_is_what_its_place_in_a_shape_says(
    shapes: str, init: str, odd: list[int]
) -> None:
    text = f"def get_inputs():\n    return [{shapes}]\ndef get_init_inputs():\n    return {init}\n"
    found = next(chain.variants[0].text for chain in chains(text) if chain.kind == "odd")
    first = next(node for node in ast.walk(ast.parse(found)) if isinstance(node, ast.Call))
    assert [ast.literal_eval(one) for one in first.args] == odd

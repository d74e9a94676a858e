"""Programs written from a traced reference: stages, fusion, and why there is none."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from grader.repair.compose import UncoveredError, compose, read_graph


def node(
    name: str, kind: str, target: str, *args: Any, shape: Any = (4, 8), **more: Any
) -> dict[str, Any]:
    return {
        "name": name, "kind": kind, "target": target, "args": list(args), "kwargs": more.pop("kwargs", {}),
        "shape": None if shape is None else list(shape), "dtype": "float32", **more,
    }  # fmt: skip


def ref(name: str) -> dict[str, str]:
    return {"node": name}


X = node("x", "placeholder", "x")


def written(*nodes: dict[str, Any]) -> str:
    body = "def forward(self, x):\n        return x"
    text = f"import torch\n\nclass Model(torch.nn.Module):\n    {body}\n"
    last = node("output", "output", "output", ref(nodes[-1]["name"]))
    code = compose(text, read_graph({"nodes": [X, *nodes, last]}), "t", "ops").code
    ast.parse(code)
    return code


def forward(*nodes: dict[str, Any]) -> str:
    return written(*nodes).partition("def forward")[2]


def test_an_argument_keeps_the_name_that_the_reference_gives_it() -> None:
    """torch.fx calls the node of an argument `A` `a`."""
    given = node("a", "placeholder", "A")
    last = node("output", "output", "output", ref("b"))
    text = "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, A):\n        return A\n"
    made = compose(
        text, read_graph({"nodes": [given, node("b", "call_function", "relu", ref("a")), last]}), "t", "ops"
    )  # fmt: skip
    assert "def forward(self, A):" in made.code
    assert "fused_relu_forward(A)" in made.code


def test_a_number_among_the_arguments_is_given_as_it_is() -> None:
    given = [node("a", "placeholder", "A"), node("s", "placeholder", "s", shape=None)]
    product = node("b", "call_function", "mul", ref("a"), ref("s"))
    last = node("output", "output", "output", ref("b"))
    text = "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, A, s):\n        return A\n"
    made = compose(text, read_graph({"nodes": [*given, product, last]}), "t", "ops")
    assert "fused_mul_forward(A, s)" in made.code


def test_elementwise_neighbours_share_a_kernel() -> None:
    a = node("a", "call_function", "relu", ref("x"))
    b = node("b", "call_function", "tanh", ref("a"))
    assert "b = ops.fused_relu_tanh_forward(x)" in written(a, b)


def test_a_kernel_returns_all_that_is_needed_outside_of_it() -> None:
    a = node("a", "call_function", "relu", ref("x"))
    b = node("b", "call_function", "tanh", ref("a"))
    c = node("c", "call_function", "cumsum", ref("a"), 0)
    d = node("d", "call_function", "add", ref("b"), ref("c"))
    code = written(a, b, c, d)
    assert "a, b = ops.fused_relu_tanh_forward(x)" in code
    assert "d = ops.fused_add_forward(b, c)" in code


def test_reductions_of_rows_share_a_kernel_with_the_formulas_beside_them() -> None:
    a = node("a", "call_function", "relu", ref("x"))
    b = node("b", "call_function", "softmax", ref("a"), kwargs={"dim": 1})
    c = node("c", "call_function", "add", ref("b"), ref("a"))
    code = written(a, b, c)
    assert code.count("<<<") == 1
    assert "row_amax = row_sum_exp_all.x;" in code


def test_a_group_has_no_member_that_needs_what_is_made_of_it_elsewhere() -> None:
    a = node("a", "call_function", "relu", ref("x"))
    b = node("b", "call_function", "cumsum", ref("a"), 0)
    c = node("c", "call_function", "mul", ref("a"), ref("b"))
    code = written(a, b, c)
    assert (
        code.index("fused_relu_forward(x)")
        < code.index("cumsum_forward(a")
        < code.index("fused_mul_forward(a, b)")
    )


def test_sizes_are_read_at_run_time_where_they_follow_from_the_arguments() -> None:
    norm = node(
        "a", "call_module", "ln", ref("x"), module="LayerNorm", attributes={"normalized_shape": [8]}
    )
    assert "x.numel() // torch.Size(self.ln.normalized_shape).numel()" in written(norm)
    depthwise = {"stride": 1, "padding": 1, "dilation": 1, "groups": 64}
    conv = node(
        "a",
        "call_module",
        "dw",
        ref("x"),
        shape=(2, 64, 8, 8),
        module="Conv2d",
        attributes=depthwise,
    )
    assert "self.dw.groups)" in written(
        node("x2", "call_function", "relu", ref("x"), shape=(2, 64, 8, 8)),
        conv | {"args": [ref("x2")]},
    )
    loss = node(
        "a",
        "call_function",
        "kl_div",
        ref("x"),
        ref("x"),
        shape=(),
        kwargs={"reduction": "batchmean"},
    )
    assert "4.0f" not in written(loss)


def test_a_linear_function_with_a_bias_is_a_product_and_a_sum() -> None:
    w = node("w", "get_attr", "w", shape=(5, 8))
    b = node("b", "get_attr", "b", shape=(5,))
    made = node("a", "call_function", "linear", ref("x"), ref("w"), ref("b"), shape=(4, 5))
    assert "fused_add_forward(matmul_s1, self.b)" in written(w, b, made)


@pytest.mark.parametrize(
    ("made", "lines"),
    [
        (node("a", "call_function", "var", ref("x"), 1, shape=(4,)),
         ("after_sub * after_sub", "row_mean", "x.size(1) - 1", "double number0")),
        (node("a", "call_function", "normalize", ref("x")), ("row_sum", "< 1e-12f ?")),
        (node("a", "call_module", "act", ref("x"), module="PReLU", attributes={"num_parameters": 8}),
         ("fused_prelu_relu_forward(x, self.act.weight)",)),
        (node("a", "call_module", "n", ref("x"), module="RMSNorm", attributes={"normalized_shape": [8], "eps": None}),
         ("self.n.weight", f"{2.0**-23!r}f")),
        (node("a", "call_function", "glu", ref("x"), shape=(4, 4)), ("x.chunk(2, -1)",)),
        (node("a", "call_function", "addmm", ref("x"), ref("x"), ref("x")), ("matmul_forward(x, x)",)),
        (node("a", "call_function", "einsum", "ik,jk->ij", ref("x"), ref("x"), shape=(4, 4)),
         ("x.permute([1, 0])", "matmul_forward(unsqueeze")),
        (node("a", "call_function", "masked_fill", ref("x"), ref("x"), float("-inf")), ("? (-INFINITY) : v0",)),
        (node("a", "call_function", "group_norm", ref("x"), 4), ("normalise_forward(x, None, None, x.size(0) * 4,",)),
        (node("a", "call_function", "getitem", ref("x"), [{"ellipsis": True}, {"slice": [None, 4, None]}]),
         ("x[..., :4]",)),
    ],
)  # fmt: skip
def test_an_operation_is_written_out_as_simpler_ones(
    made: dict[str, Any], lines: tuple[str, ...]
) -> None:
    code = written(made, node("z", "call_function", "relu", ref("a"), shape=made["shape"]))
    for line in lines:
        assert line in code


def test_the_smaller_of_two_tensors_is_elementwise_and_a_made_number_goes_into_the_formula() -> (
    None
):
    number = node("t", "call_function", "tensor", 0.5, shape=())
    code = written(number, node("a", "call_function", "min", ref("x"), ref("t")))
    assert "fused_minimum_forward(x)" in code
    assert "0.5f" in code


def test_the_values_of_a_maximum_along_a_dim_are_a_reduction() -> None:
    found = node("m", "call_function", "max", ref("x"), shape=None, kwargs={"dim": 1})
    code = written(found, node("a", "call_function", "getattr", ref("m"), "values", shape=(4,)))
    assert "a = ops.max_forward(x, 1, False)" in code


def test_a_comparison_lives_inside_a_kernel_only() -> None:
    truth = node("g", "call_function", "gt", ref("x"), 0.0, dtype="bool") | {"dtype": "bool"}
    picked = node("a", "call_function", "where", ref("g"), ref("x"), 0.0)
    assert "(v0 > 0.0f ? 1.0f : 0.0f)" in written(truth, picked)
    with pytest.raises(UncoveredError, match="truth values"):
        written(truth)


def test_what_a_view_left_out_of_order_is_brought_into_it_under_another_name_too() -> None:
    turned = node("a", "call_method", "transpose", ref("x"), 0, 1, shape=(8, 4))
    named = node("b", "call_method", "unsqueeze", ref("a"), 0, shape=(1, 8, 4))
    copied = node("c", "call_method", "contiguous", ref("b"), shape=(1, 8, 4))
    last = node("d", "call_function", "relu", ref("c"), shape=(1, 8, 4))
    assert "c = b.contiguous()" in forward(turned, named, copied, last)
    assert "contiguous()" not in forward(node("c", "call_method", "contiguous", ref("x")), last)


def test_the_same_chain_of_operations_is_one_kernel_however_often_it_stands() -> None:
    nodes = [node("a", "call_function", "relu", ref("x"))]
    nodes.append(node("b", "call_function", "cumsum", ref("a"), 1))
    nodes.append(node("c", "call_function", "relu", ref("b")))
    code = written(*nodes)
    assert code.count("void apply(") == 1
    assert code.count("ops.fused_relu_forward(") == 2


def test_a_layer_without_a_bias_is_a_product_alone() -> None:
    layer = node(
        "a", "call_module", "fc", ref("x"), shape=(4, 5), module="Linear",
        attributes={"out_features": 5}, tensors=["weight"],
    )  # fmt: skip
    code = written(layer)
    assert "matmul_forward(x, " in code
    assert "bias" not in code


def test_a_huber_loss_keeps_its_threshold() -> None:
    loss = node("a", "call_function", "huber_loss", ref("x"), ref("x"), shape=(), kwargs={"delta": 0.25})  # fmt: skip
    assert "> 0.25f ? 0.25f" in written(loss)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (node("a", "call_module", "drop", ref("x"), module="Dropout", attributes={"p": 0.5, "training": True}), "random"),
        (node("a", "call_function", "fft_rfft", ref("x")), "`fft_rfft` isn't composed yet"),
        (node("a", "call_module", "c", ref("x"), shape=(1, 2, 3, 3), module="Conv2d", attributes={"padding_mode": "reflect"}), "padding"),
        (node("a", "call_function", "tril", ref("x")), "something else than a product"),
    ],
)  # fmt: skip
def test_what_is_not_covered_says_why(made: dict[str, Any], said: str) -> None:
    with pytest.raises(UncoveredError, match=said):
        written(made)


@pytest.mark.parametrize(
    "told",
    [
        None,
        {"error": "ValueError: no"},
        {"nodes": [{}]},
        {"nodes": [node("x; import os", "placeholder", "x")]},
        {"nodes": [node("a", "get_attr", "fc.weight);import os;(")]},
        {"nodes": [node("a", "call_function", "relu", ref("nobody"))]},
    ],
)
def test_a_graph_that_makes_no_sense_is_refused(told: Any) -> None:
    with pytest.raises(UncoveredError):
        read_graph(told)


def in_bfloat16(*nodes: dict[str, Any]) -> str:
    half = [{**one, "dtype": "bfloat16"} for one in (X, *nodes)]
    last = node("output", "output", "output", ref(nodes[-1]["name"]))
    text = "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
    return compose(text, read_graph({"nodes": [*half, last]}), "t", "ops").code


def test_formulas_read_and_write_half_precision_themselves() -> None:
    code = in_bfloat16(
        node("a", "call_function", "silu", ref("x")),
        node("b", "call_method", "t", ref("a"), shape=(8, 4)),
    )
    assert "const at::BFloat16* __restrict__ x0, at::BFloat16* __restrict__ y0" in code
    assert "constexpr int kPack = 8;" in code
    assert ".float()" not in code
    assert ".to(torch.bfloat16)" not in code


def test_reductions_of_rows_read_and_write_half_precision_themselves() -> None:
    code = in_bfloat16(node("a", "call_function", "softmax", ref("x"), kwargs={"dim": -1}))
    assert "const at::BFloat16* __restrict__ x, at::BFloat16* __restrict__ y" in code
    beside = node("b", "call_function", "silu", ref("x"))
    fused = in_bfloat16(beside, node("a", "call_function", "softmax", ref("b"), kwargs={"dim": -1}))
    assert "at::BFloat16* __restrict__ y0" in fused
    assert ".float()" not in code + fused


def test_a_norm_of_half_precision_whose_result_a_formula_takes_is_written_in_float32() -> None:
    norm = node("n", "call_function", "group_norm", ref("x"), 4)
    code = in_bfloat16(norm, node("a", "call_function", "matmul", ref("n"), ref("n")))
    assert "const at::BFloat16* __restrict__ x, float* __restrict__ y" in code
    assert "constexpr int kPack = 4;" in code


def test_operands_of_one_shape_need_no_layout_and_views_do() -> None:
    view = node("v", "call_method", "t", ref("x"), shape=(8, 4))
    code = in_bfloat16(view, node("a", "call_function", "silu", ref("v"), shape=(8, 4)))
    assert "struct Layout" in code
    assert "struct Layout" not in in_bfloat16(node("a", "call_function", "silu", ref("x")))


def test_sizes_beside_what_is_moved_do_not_widen_it() -> None:
    size = node("n", "call_method", "size", ref("x"), 0, shape=None)
    wide = node("w", "call_method", "reshape", ref("x"), [ref("n"), -1], shape=(4, 8))
    code = in_bfloat16(size, wide, node("a", "call_function", "silu", ref("w")))
    assert "const at::BFloat16* __restrict__ x0" in code


def test_long_rows_of_an_odd_length_are_moved_in_packs_that_begin_before_them() -> None:
    layer = {"kwargs": {"dim": -1}, "shape": (4, 1025)}
    odd = node("o", "call_method", "reshape", ref("x"), [4, 1025], shape=(4, 1025))
    wide = node("w", "call_function", "silu", ref("o"), shape=(4, 1025))
    code = in_bfloat16(odd, wide, node("a", "call_function", "softmax", ref("w"), **layer))
    assert "- base % kCount" in code
    assert code.count("threadIdx.x < ends)") == 2
    even = node("w", "call_function", "silu", ref("x"))
    short = in_bfloat16(even, node("a", "call_function", "softmax", ref("w"), kwargs={"dim": -1}))
    assert "ends" not in short


def test_a_sum_over_another_dim_reads_half_precision_itself() -> None:
    code = in_bfloat16(node("a", "call_function", "sum", ref("x"), 0, shape=(8,)))
    assert "column_kernel" in code
    assert "x.data_ptr<at::BFloat16>()" in code
    assert ".float()" not in code


def test_the_values_of_a_maximum_of_half_precision_are_narrowed() -> None:
    pair = node("m", "call_function", "max", ref("x"), 1, shape=None)
    code = in_bfloat16(pair, node("a", "call_function", "getitem", ref("m"), 0, shape=(4,)))
    assert "return a.to(torch.bfloat16)" in code


def test_a_norm_of_a_whole_tensor_begins_with_its_rows_and_divides_once() -> None:
    wide = node("w", "call_method", "reshape", ref("x"), [1, -1], shape=(1, 32))
    length = node("n", "call_function", "norm", ref("w"), shape=())
    code = in_bfloat16(wide, length, node("a", "call_function", "truediv", ref("w"), ref("n"), shape=(1, 32)))  # fmt: skip
    assert "fused_mul_sum_forward(w)" in code
    assert "fused_sqrt_reciprocal_forward(" in code
    assert ".float()" not in code


def test_what_another_kernel_reads_is_widened_before_and_narrowed_after_it() -> None:
    code = in_bfloat16(node("a", "call_function", "cumsum", ref("x"), kwargs={"dim": 0}))
    assert "x = x.float()" in code
    assert ".to(torch.bfloat16)" in code


def test_long_chains_of_what_only_moves_are_followed() -> None:
    chain = [node("m0", "call_method", "t", ref("x"))]
    for k in range(1, 1500):
        chain.append(node(f"m{k}", "call_method", "t", ref(f"m{k - 1}")))
    code = in_bfloat16(*chain, node("a", "call_function", "silu", ref("m1499")))
    assert "load<at::BFloat16, kCount>" in code


def test_what_several_ways_through_a_row_take_is_computed_once() -> None:
    scaled = node("a", "call_function", "mul", ref("x"), 2.0)
    total = node("s", "call_function", "sum", ref("a"), -1, True, shape=(4, 1))
    code = written(scaled, total, node("b", "call_function", "truediv", ref("a"), ref("s")))
    assert "kept_after_mul[first + h][k] = after_mul;" in code
    assert code.count("v0 * 2.0f") == 1


def test_what_leads_to_no_result_is_left_out() -> None:
    unused = node("u", "call_function", "cumsum", ref("x"), 0)
    assert "cumsum" not in written(unused, node("a", "call_function", "relu", ref("x")))


def test_narrow_operands_are_kept_as_they_were_read_where_that_takes_no_more_registers() -> None:
    both = node("a", "call_function", "add", ref("x"), ref("x"))
    total = node("s", "call_function", "sum", ref("a"), -1, True, shape=(4, 1))
    code = in_bfloat16(both, total, node("b", "call_function", "truediv", ref("a"), ref("s")))
    assert "Pack<at::BFloat16, kCount> kept_v0[kHeld];" in code
    assert "kept_after_add" not in code
    costly = node("a", "call_function", "exp", ref("x"))
    code = in_bfloat16(costly, total, node("b", "call_function", "truediv", ref("a"), ref("s")))
    assert "float kept_after_exp[kHeld][kCount];" in code

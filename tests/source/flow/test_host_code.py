"""What following host code shows: launches, with their sizes and arguments."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from grader.source.flow import ODD, USUAL, Flow, Sizes, flow
from grader.source.positions import Positions
from grader.source.text import computed_text
from grader.source.units import Unit

KERNELS = sorted((Path(__file__).parents[2] / "rules" / "kernels").glob("*.cu"))
TEXTS = [path.read_text() for path in KERNELS]


def followed(text: str) -> Flow:
    return flow(Unit("cuda", computed_text(text, 0, 0), Positions("")))


def test_launches_are_computed_from_the_sizes() -> None:
    text = """
#define THREADS 64
__global__ void k(float* y, int n) {}
void run(torch::Tensor x, int m) {
    const int n = x.size(1);
    dim3 block(THREADS, 2), grid((n + THREADS - 1) / THREADS, x.size(0));
    size_t bytes = block.x * block.y * sizeof(double);
    if (m > 3) k<<<grid, block, bytes>>>(x.data_ptr<float>(), n);
}
"""
    sizes = Sizes("test", tensors=((5, 1000),), numbers={"m": 4})
    (launch,) = followed(text).launches(sizes)
    assert (launch.grid, launch.block, launch.shared) == ((16, 5, 1), (64, 2, 1), 1024)
    assert followed(text).launches(Sizes("few", ((5, 9),), {"m": 3})) == ()


def test_a_check_that_throws_is_passed_where_it_cannot_be_told_and_refuses_where_it_can() -> None:
    text = """
__global__ void k(float* y) {}
void run(torch::Tensor x, int m) {
    auto device = x.device();
    if (device.type() != torch::kCUDA) { throw std::runtime_error("not on the GPU"); }
    if (m > 3) throw std::invalid_argument("m");
    k<<<m, 32>>>(x.data_ptr<float>());
}
"""
    few, many = (Sizes("test", ((4, 4),), {"m": m}) for m in (2, 4))
    (launch,) = followed(text).launches(few)
    assert launch.grid == (2, 1, 1)
    (run,) = followed(text).host(many)
    assert run.refused
    assert not run.launches


def test_a_dispatch_and_a_template_reach_the_kernel() -> None:
    text = """
template <typename T, int N> __global__ void k(const T* x) { __shared__ T s[N]; s[threadIdx.x] = x[0]; }
void run(torch::Tensor x) {
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "k", ([&] {
        k<scalar_t, 32><<<1, 32>>>(x.data_ptr<scalar_t>());
    }));
}
"""
    (launch,) = followed(text).launches(USUAL)
    assert launch.template == ("float", "32")


def test_a_long_loop_of_the_host_is_left_after_its_first_turns() -> None:
    text = """
__global__ void k(const float* x, int b) {}
void run(torch::Tensor x) {
    int last = 0;
    for (int b = 0; b < x.numel(); ++b) { last = b; k<<<b + 1, 32>>>(x.data_ptr<float>(), b); }
    k<<<last, 64>>>(x.data_ptr<float>(), 0);
}
"""
    first, after = followed(text).launches(Sizes("long", tensors=((4, 1 << 30),)))
    assert (first.grid[0], after.grid[0]) == (1, None)


def test_odd_sizes_give_odd_blocks() -> None:
    text = """
__global__ void k(const float* x) {}
void run(torch::Tensor x) { k<<<x.size(0), std::min((int)x.size(1), 256)>>>(x.data_ptr<float>()); }
"""
    assert [followed(text).launches(sizes)[0].threads for sizes in (USUAL, ODD)] == [256, 100]


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(TEXTS), st.integers(0, 4000), st.integers(0, 400), st.text(max_size=12))
def test_never_raises(text: str, at: int, cut: int, new: str) -> None:
    at %= len(text)
    broken = text[:at] + new + text[at + cut :]
    followed(broken).launches(USUAL)

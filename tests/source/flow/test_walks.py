"""What following threads through a kernel's text shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.records import Context
from grader.source import parse
from grader.source.analysis import apart
from grader.source.analysis.walks import Case, cases
from grader.source.flow import ODD, USUAL, Flow, Sizes, Walk, flow
from grader.source.positions import Positions
from grader.source.text import computed_text
from grader.source.units import Unit
from tests.rules.examples import as_submission

KERNELS = sorted((Path(__file__).parents[2] / "rules" / "kernels").glob("*.cu"))
TEXTS = [path.read_text() for path in KERNELS]


def followed(text: str) -> Flow:
    return flow(Unit("cuda", computed_text(text, 0, 0), Positions("")))


def walked(kernel: str, launch: str, sizes: Sizes = USUAL) -> Walk:
    host = (
        "torch::Tensor run(torch::Tensor x) {\n    auto y = torch::empty_like(x);\n"
        f"    {launch}\n    return y;\n}}\n"
    )
    return followed(kernel + host).walks(sizes)[0]


def cased(kernel: str, launch: str) -> Case:
    host = f"torch::Tensor run(torch::Tensor x) {{\n    auto y = torch::empty_like(x);\n{launch}\n    return y;\n}}\n"
    (case,) = cases(parse(as_submission(kernel + host)), Context())
    return case


STORE = "k<<<x.size(0), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));"


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
    assert launch.sure
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
    (walk,) = followed(text).walks(USUAL)
    assert walk.launch.template == ("float", "32")
    assert [region.cells for region in walk.regions if region.space == "shared"] == [32]


def test_long_loops_are_not_walked_to_their_end() -> None:
    text = """
__global__ void k(const float* x, float* y, int n) {
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[i];
    y[threadIdx.x] = s;
}
"""
    sizes = Sizes("long", tensors=((4, 1 << 30),))
    walk = walked(text, STORE, sizes)
    assert not walk.stopped
    assert walk.steps < 50
    last = max(one.offset or 0 for one in walk.accesses if one.kind == "load")
    assert last == (1 << 30) - 128


def test_odd_sizes_give_odd_blocks() -> None:
    text = "__global__ void k(const float* x, float* y, int n) { y[threadIdx.x] = 1; }\n"
    launch = STORE.replace("128", "std::min((int)x.size(1), 256)")
    assert walked(text, launch).threads == 256
    assert walked(text, launch, ODD).threads == 100


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(TEXTS), st.integers(0, 4000), st.integers(0, 400), st.text(max_size=12))
def test_never_raises(text: str, at: int, cut: int, new: str) -> None:
    at %= len(text)
    broken = text[:at] + new + text[at + cut :]
    followed(broken).walks(USUAL)


@pytest.mark.parametrize("cast", ["reinterpret_cast<scalar_t*>(raw)", "(scalar_t*)raw"])
def test_bytes_of_shared_memory_are_counted_in_the_type_they_are_used_as(cast: str) -> None:
    kernel = """
template <typename scalar_t> __global__ void k(const scalar_t* x, scalar_t* y, int n) {
    extern __shared__ char raw[];
    scalar_t* s = CAST;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = x[blockIdx.x * n + i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = s[n - 1 - i];
}
""".replace("CAST", cast)
    launch = STORE.replace("k<<<", "k<float><<<").replace("128>>>", "128, BYTES>>>")
    assert not apart.past_the_end(
        cased(kernel, launch.replace("BYTES", "x.size(1) * sizeof(float)"))
    )
    assert apart.past_the_end(cased(kernel, launch.replace("BYTES", "x.size(1)")))


def test_a_cast_of_a_two_dimensional_array_walks_its_elements() -> None:
    kernel = """
__global__ void k(float* y) {
    __shared__ float tile[128][8];
    for (int i = threadIdx.x; i < 128 * 8; i += blockDim.x) ((float*)tile)[i] = 0.0f;
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x / 2][3];
}
"""
    case = cased(kernel, "k<<<x.size(0), 256>>>(y.data_ptr<float>());")
    assert not apart.past_the_end(case)

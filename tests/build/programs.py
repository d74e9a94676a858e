"""Small submissions of many styles, each with what the stock compilers say of it.

`BUILT` ones must build, `FAILED` ones must not, with the given text among the errors. Written for this project; used
by the tests (fast way) and by benchmarks/build_agreement.py (fast against stock).
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Program:
    """One load_inline call: sources and arguments, and the expected outcome."""

    cuda: str
    cpp: str = "torch::Tensor run(torch::Tensor x);"
    functions: str = '["run"]'
    arguments: dict[str, str] = field(default_factory=dict)
    error: str = ""
    """Text of the error; empty where it builds."""

    @property
    def code(self) -> str:
        """The submission's Python text."""
        extra = "".join(f", {name}={value}" for name, value in self.arguments.items())
        functions = f", functions={self.functions}" if self.functions else ""
        return (
            "import torch\nfrom torch.utils.cpp_extension import load_inline\n"
            f"CUDA = r'''{self.cuda}'''\nCPP = r'''{self.cpp}'''\n"
            f"module = load_inline(name='program', cpp_sources=CPP, cuda_sources=CUDA{functions}{extra})\n"
            "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return module.run(x)\n"
        )


def _elementwise(
    body: str = "y[i] = x[i] * 2.0f;",
    *,
    head: str = "#include <torch/extension.h>\n",
    before: str = "",
    host: str = "",
    launch: str = "scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);",
    check: str = "",
) -> str:
    return f"""{head}{before}
__global__ void scale(const float* x, float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {{ {body} }}
}}
{host}
torch::Tensor run(torch::Tensor x) {{
    {check}
    auto y = torch::empty_like(x);
    int n = x.numel();
    {launch}
    return y;
}}
"""


BUILT: dict[str, Program] = {
    "plain": Program(_elementwise()),
    "no_torch_include": Program(_elementwise(head="")),
    "cuda_runtime_and_math": Program(
        _elementwise(
            "y[i] = expf(x[i]) + M_PI + INFINITY;",
            head="#include <torch/extension.h>\n#include <cmath>\n",
        )
    ),
    "dispatch_half": Program(
        """#include <torch/extension.h>
template <typename scalar_t>
__global__ void k(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, size_t n) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = static_cast<scalar_t>(static_cast<float>(x[i]) * 2.f);
}
torch::Tensor run(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be on the GPU");
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    auto y = torch::zeros({x.size(0), x.size(1)}, x.options());
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "run", ([&] {
        k<scalar_t><<<128, 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
    }));
    return y;
}
"""
    ),
    "dispatch_all_and_half_index": Program(
        """#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
template <typename scalar_t, typename index_t, int N>
__global__ void __launch_bounds__(256, 2) k(const scalar_t* x, scalar_t* y, index_t n) {
    __shared__ scalar_t s[N];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < n) y[threadIdx.x] = s[N - 1 - threadIdx.x];
}
torch::Tensor run(torch::Tensor x) {
    const at::cuda::OptionalCUDAGuard guard(device_of(x));
    auto stream = at::cuda::getCurrentCUDAStream();
    auto y = at::empty(x.sizes(), x.options().dtype(x.scalar_type()));
    AT_DISPATCH_ALL_TYPES_AND(at::ScalarType::Half, x.scalar_type(), "run", [&] {
        k<scalar_t, int64_t, 256><<<1, 256, 0, stream>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""
    ),
    "accessors": Program(
        """#include <torch/extension.h>
template <typename T>
__global__ void k(const torch::PackedTensorAccessor32<T, 2, torch::RestrictPtrTraits> x,
                  torch::PackedTensorAccessor32<T, 2, torch::RestrictPtrTraits> y) {
    int r = blockIdx.x, c = threadIdx.x;
    if (c < x.size(1)) y[r][c] = x[r][c] * 2;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "run", ([&] {
        k<scalar_t><<<x.size(0), x.size(1)>>>(
            x.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
            y.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
    }));
    return y;
}
"""
    ),
    "cub_block_reduce": Program(
        _elementwise(
            "typedef cub::BlockReduce<float, 256> R; __shared__ typename R::TempStorage t; "
            "float s = R(t).Sum(x[i]); if (threadIdx.x == 0) y[blockIdx.x] = s;",
            head="#include <torch/extension.h>\n#include <cub/cub.cuh>\n",
        )
    ),
    "cub_and_thrust_on_a_device": Program(
        """
#include <torch/extension.h>
#include <cub/cub.cuh>
#include <thrust/device_ptr.h>
#include <thrust/scan.h>
#include <thrust/execution_policy.h>
struct Larger {
    template <typename T> __device__ T operator()(const T& a, const T& b) const { return b > a ? b : a; }
};
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    float *from = x.data_ptr<float>(), *to = y.data_ptr<float>();
    int n = x.numel();
    size_t bytes = 0;
    cub::DeviceReduce::Reduce(nullptr, bytes, from, to, n, Larger(), -INFINITY);
    auto room = torch::empty({(long)bytes}, x.options().dtype(torch::kUInt8));
    cub::DeviceReduce::Reduce(room.data_ptr(), bytes, from, to, n, Larger(), -INFINITY);
    thrust::device_ptr<float> begin(from);
    thrust::inclusive_scan(thrust::cuda::par.on(0), begin, begin + n, thrust::device_ptr<float>(to));
    return y;
}
"""
    ),
    "cooperative_groups": Program(
        _elementwise(
            "auto b = cg::this_thread_block(); auto w = cg::tiled_partition<32>(b); "
            "y[i] = cg::reduce(w, x[i], cg::plus<float>());",
            head="#include <torch/extension.h>\n#include <cooperative_groups.h>\n"
            "#include <cooperative_groups/reduce.h>\nnamespace cg = cooperative_groups;\n",
        )
    ),
    "half_intrinsics": Program(
        _elementwise(
            "__half2 h = __floats2half2_rn(x[i], x[i]); h = __hadd2(h, h); y[i] = __low2float(h) + "
            "__bfloat162float(__float2bfloat16(x[i]));",
            head="#include <torch/extension.h>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n",
        )
    ),
    "constant_and_symbol": Program(
        _elementwise(
            "y[i] = x[i] * factors[i % 4]; atomicAdd(&counter, 1);",
            before="__constant__ float factors[4];\n__device__ int counter = 0;\n",
            check="float f[4] = {1, 2, 3, 4}; cudaMemcpyToSymbol(factors, f, sizeof(f)); int z = 0; "
            "cudaMemcpyToSymbol(counter, &z, sizeof(int)); cudaMemcpyFromSymbol(&z, counter, sizeof(int));",
        )
    ),
    "large_dynamic_shared": Program(
        """#include <torch/extension.h>
template <int TILE>
__global__ void k(const float* x, float* y, int n) {
    extern __shared__ float s[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = s[n - 1 - i] * TILE;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    size_t bytes = 96 * 1024;
    cudaFuncSetAttribute(k<2>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    int blocks = 0;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k<2>, 256, bytes);
    int grid = 0, block = 0;
    cudaOccupancyMaxPotentialBlockSize(&grid, &block, k<2>, bytes, 0);
    k<2><<<1, 256, bytes>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""
    ),
    "host_min_max_and_dim3": Program(
        _elementwise(
            check="const int threads = min(1024, (int)x.size(0)); long long big = max(1LL, 2LL); dim3 g(threads, 1); "
            "(void)big; (void)g;",
            launch="dim3 grid((n + 255) / 256), block(256); scale<<<grid, block, 0, 0>>>(x.data_ptr<float>(), "
            "y.data_ptr<float>(), n);",
        )
    ),
    "own_binding": Program(
        _elementwise()
        + 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run, "scale"); }\n',
        cpp="",
        functions="",
    ),
    "defaults_declared_twice": Program(
        _elementwise().replace("run(torch::Tensor x)", "run(torch::Tensor x, int times = 1)"),
        cpp="torch::Tensor run(torch::Tensor x, int times = 1);",
    ),
    "flags": Program(
        # What torch's own headers bring along under nvcc, so that no answer includes it.
        _elementwise("y[i] = fminf(x[i], FLT_MAX) + 0 * INT_MAX;"),
        arguments={
            "extra_cflags": "['-O3', '-DNDEBUG']",
            "extra_cuda_cflags": "['-O3', '--use_fast_math', '-Xptxas', '-v', '--expt-relaxed-constexpr', "
            "'--extended-lambda', '-lineinfo', '-DWIDTH=4']",
        },
    ),
    "arch_flag": Program(
        _elementwise(),
        arguments={"extra_cuda_cflags": "['-gencode=arch=compute_80,code=sm_80', '-std=c++20']"},
    ),
    "namespaces_and_static": Program(
        _elementwise(
            "y[i] = twice(x[i]);",
            before="namespace {\nconstexpr int kBlock = 256;\n__device__ __forceinline__ float twice(float v) "
            "{ return v + v; }\n__global__ void other(float* p) { p[0] = twice(p[0]); }\n}\nstatic __global__ void "
            "third(float* p) { p[1] = 0; }\n",
            launch="scale<<<(n + kBlock - 1) / kBlock, kBlock>>>(x.data_ptr<float>(), y.data_ptr<float>(), n); "
            "other<<<1, 1>>>(y.data_ptr<float>()); third<<<1, 1>>>(y.data_ptr<float>());",
        )
    ),
    "functor_host_device": Program(
        """#include <torch/extension.h>
struct Relu { __host__ __device__ float operator()(float v) const { return v > 0 ? v : 0; } };
#define CUDA_CHECK(call) do { cudaError_t e = (call); TORCH_CHECK(e == cudaSuccess, cudaGetErrorString(e)); } while (0)
template <typename F> __global__ void map(const float* x, float* y, int n, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = f(x[i]);
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, torch::TensorOptions().dtype(torch::kFloat32).device(x.device()));
    Relu relu; float probe = relu(-1.0f); (void)probe;
    map<<<4, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), (int)x.numel(), relu);
    CUDA_CHECK(cudaGetLastError());
    return y;
}
"""
    ),
    "device_constructor": Program(
        _elementwise(
            "y[i] = Inverse(x[i]).at(2.0f);",
            before="""
struct Inverse {
    const float value;
    float half;
    __device__ explicit Inverse(float v) : value(rsqrtf(v)), half{__fdividef(v, 2.0f)} {}
    __device__ float at(float by) const { return value * by + half; }
};
""",
        )
    ),
    "macro_kernel": Program(
        """#include <torch/extension.h>
#define DEFINE(NAME, EXPR) __global__ void NAME(const float* x, float* y, int n) { \\
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { float v = __ldg(x + i); y[i] = EXPR; } }
DEFINE(square, v * v)
DEFINE(cube, __fmul_rn(v, v) * v)
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    square<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    cube<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""
    ),
    "vector_types_and_asm": Program(
        _elementwise(
            'float4 v = reinterpret_cast<const float4*>(x)[i]; int lane; asm volatile("mov.u32 %0, %laneid;" : '
            '"=r"(lane)); y[i] = v.x + v.y + lane + __shfl_down_sync(0xffffffff, v.z, 16);',
        )
    ),
    "device_lambda": Program(
        """#include <torch/extension.h>
template <typename F> __global__ void each(int n, F f) { int i = threadIdx.x; if (i < n) f(i); }
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    float* p = y.data_ptr<float>();
    each<<<1, 256>>>((int)x.numel(), [=] __device__(int i) { p[i] = 1.0f; });
    return y;
}
""",
        arguments={"extra_cuda_cflags": "['--extended-lambda']"},
    ),
    "tensor_methods": Program(
        _elementwise(
            check="auto m = std::get<0>(x.max(1)); auto s = x.sum({0, 1}, true).to(torch::kFloat).contiguous(); "
            "auto v = x.view({-1}).reshape({1, -1}).permute({1, 0}).t(); x = x.to(torch::kFloat32); "
            "std::vector<torch::Tensor> parts = {m, s}; auto c = torch::cat(parts.size() ? torch::TensorList() : "
            "torch::TensorList()); auto o = torch::ones_like(x) + 1.0 - x / 2; float q = s.item<float>(); "
            "std::vector<int64_t> sizes(x.sizes().begin(), x.sizes().end()); (void)q; (void)v; (void)c; (void)o;"
        )
    ),
    "several_functions": Program(
        """#include <torch/extension.h>
#include <vector>
__global__ void k(float* p) { p[threadIdx.x] += 1; }
std::vector<torch::Tensor> run(torch::Tensor x, c10::optional<torch::Tensor> b, double eps, bool flag) {
    k<<<1, 32>>>(x.data_ptr<float>());
    return {x, b.has_value() ? *b : x};
}
std::tuple<torch::Tensor, int64_t> other(const torch::Tensor& x, std::vector<int64_t> dims) {
    return std::make_tuple(x, dims.empty() ? 0 : dims[0]);
}
""",
        cpp="#include <vector>\nstd::vector<torch::Tensor> run(torch::Tensor x, c10::optional<torch::Tensor> b, "
        "double eps, bool flag);\nstd::tuple<torch::Tensor, int64_t> other(const torch::Tensor& x, "
        "std::vector<int64_t> dims);",
        functions='["run", "other"]',
    ),
    "wmma": Program(
        """#include <torch/extension.h>
#include <mma.h>
using namespace nvcuda;
__global__ void k(const half* a, const half* b, float* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
torch::Tensor run(torch::Tensor x) {
    auto h = x.to(at::kHalf);
    auto y = torch::empty({16, 16}, x.options());
    k<<<1, 32>>>(reinterpret_cast<const half*>(h.data_ptr<at::Half>()),
                 reinterpret_cast<const half*>(h.data_ptr<at::Half>()), y.data_ptr<float>());
    return y;
}
"""
    ),
}

FAILED: dict[str, Program] = {
    "stream_without_header": Program(
        _elementwise(
            launch="scale<<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), "
            "y.data_ptr<float>(), n);"
        ),
        error="getCurrentCUDAStream",
    ),
    "check_without_header": Program(
        _elementwise(launch="C10_CUDA_CHECK(cudaGetLastError());"), error="C10_CUDA_CHECK"
    ),
    "type_in_dispatch": Program(
        """#include <torch/extension.h>
template <typename scalar_t> __global__ void k(scalar_t* p) { p[0] = 0; }
torch::Tensor run(torch::Tensor x) {
    AT_DISPATCH_FLOATING_TYPES(x.type(), "run", ([&] { k<scalar_t><<<1, 1>>>(x.data_ptr<scalar_t>()); }));
    return x;
}
""",
        error="DeprecatedTypeProperties",
    ),
    "undefined_in_kernel": Program(
        _elementwise("y[i] = gelu_exact(x[i]);"), error='"gelu_exact" is undefined'
    ),
    "syntax_in_kernel": Program(_elementwise("y[i] = x[i] * 2.0f"), error='expected a ";"'),
    "missing_header": Program(
        _elementwise(head="#include <torch/extension.h>\n#include <kernels/fast.cuh>\n"),
        error="kernels/fast.cuh",
    ),
    "shared_too_large": Program(
        _elementwise(
            "__shared__ float s[20000]; s[threadIdx.x] = x[i]; __syncthreads(); y[i] = s[(i * 7) % 20000];"
        ),
        error="uses too much shared data",
    ),
    "function_not_declared": Program(_elementwise(), cpp="", error="run"),
    "function_not_defined": Program(
        _elementwise().replace("torch::Tensor run(", "torch::Tensor forward("),
        error="undefined symbol",
    ),
    "function_of_its_own_file": Program(
        _elementwise().replace("torch::Tensor run", "static torch::Tensor run"),
        error="undefined symbol: _Z3runN2at6TensorE",
    ),
    "inline_function": Program(
        _elementwise().replace("torch::Tensor run", "inline torch::Tensor run"),
        error="undefined symbol: _Z3runN2at6TensorE",
    ),
    "relocatable": Program(
        _elementwise(),
        arguments={"extra_cuda_cflags": '["-rdc=true"]'},
        error="undefined symbol: __cudaRegisterLinkedBinary",
    ),
    "bad_host_call": Program(_elementwise(check="x.not_a_method();"), error="not_a_method"),
    "wrong_argument": Program(
        _elementwise(launch="scale<<<1, 256>>>(x, y.data_ptr<float>(), n);"),
        error="argument of type",
    ),
    "device_calls_host": Program(
        _elementwise("y[i] = helper(x[i]);", before="float helper(float v) { return v * 2; }\n"),
        error="calling a __host__ function",
    ),
    "host_calls_device": Program(
        _elementwise(
            before="__device__ float helper(float v) { return v * 2; }\n",
            check="float z = helper(1.0f); (void)z;",
        ),
        error="calling a __device__ function",
    ),
    "unknown_arch": Program(
        _elementwise(), arguments={"extra_cuda_cflags": "['-arch=sm_999']"}, error="sm_999"
    ),
    "plugin": Program(
        _elementwise(), arguments={"extra_cflags": "['-fplugin=/tmp/evil.so']"}, error="refused"
    ),
    "template_shared_types": Program(
        """#include <torch/extension.h>
template <typename T> __global__ void k(T* p) { extern __shared__ T s[]; s[threadIdx.x] = p[threadIdx.x]; p[0] = s[1]; }
torch::Tensor run(torch::Tensor x) {
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "run", [&] { k<scalar_t><<<1, 32, 256>>>(x.data_ptr<scalar_t>()); });
    return x;
}
""",
        error="s",
    ),
}

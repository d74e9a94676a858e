"""Cheats of many kinds are named; honest programs that look like them are not accused."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.records import Context, Evidence, Launch
from grader.records.observed import KERNELS_MATTER
from grader.source import parse
from tests.rules.examples import as_submission
from tests.rules.reviews import review_text

HEAD = '''import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void scale_kernel(const float* __restrict__ x, float* __restrict__ y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
torch::Tensor scale(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "x");
    auto y = torch::empty_like(x);
    long n = x.numel();
    scale_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
void scale_into(torch::Tensor x, torch::Tensor y) {
    long n = x.numel();
    scale_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
}
"""
cpp_source = """
torch::Tensor scale(torch::Tensor x);
void scale_into(torch::Tensor x, torch::Tensor y);
"""
'''
BUILD = """ext = load_inline(name="scale_ext_1", cpp_sources=cpp_source, cuda_sources=cuda_source,
                  functions=["scale", "scale_into"])
"""
MODEL = """
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.cache = {}
        self.out = None
        self.calls = 0
    def forward(self, x):
"""


def with_forward(body: str, before: str = "") -> str:
    """Return a submission with this forward, and something between the build and the class."""
    lines = "".join(f"        {line}\n" for line in body.strip("\n").split("\n"))
    return f"{HEAD}{BUILD}{before}{MODEL}{lines}"


CHEATS = {
    "output by identity": ("CHT004", with_forward(
        "if getattr(self, 'last', None) is x:\n    return self.out\n"
        "self.last = x\nself.out = ext.scale(x)\nreturn self.out")),
    "output by address": ("CHT004", with_forward(
        "k = (x.data_ptr(), x._version)\nif k in self.cache:\n    return self.cache[k]\n"
        "y = ext.scale(x)\nself.cache[k] = y\nreturn y")),
    "output in a global": ("CHT004", with_forward(
        "if 'y' not in STORE:\n    STORE['y'] = ext.scale(x)\nreturn STORE['y']", "STORE = {}\n")),
    "remembered by lru_cache": ("CHT004", with_forward(
        "return run(x)",
        "import functools\n@functools.lru_cache(None)\ndef run(t):\n    return ext.scale(t)\n")),
    "decoy kernel": ("CHT003", with_forward("ext.scale(x)\nreturn F.relu(x)")),
    "kernel times zero": ("CHT003", with_forward("return F.relu(x) + ext.scale(x) * 0.0")),
    "kernel under a false flag": ("CHT003", with_forward(
        "if USE:\n    return ext.scale(x)\nreturn F.relu(x)", "USE = False\n")),
    "never reached": ("CHT003", with_forward("return torch.relu(x)")),
    "fallback in forward": ("CHT001", with_forward(
        "try:\n    return ext.scale(x)\nexcept Exception:\n    pass\nreturn x * torch.sigmoid(x)")),
    "fallback by helper": ("CHT001", HEAD + "try:\n" + "".join(
        f"    {line}\n" for line in BUILD.strip().split("\n")) + "    OK = True\n"
        "except Exception:\n    OK = False\n" + MODEL
        + "        if OK:\n            return ext.scale(x)\n        return F.relu(x)\n"),
    "patched clock": ("CHT005", with_forward("return ext.scale(x)",
        "torch.cuda.Event.elapsed_time = lambda self, other: 1e-6\n")),
    "patched comparison": ("CHT005", with_forward("return ext.scale(x)",
        "import numpy as np\nnp.allclose = lambda *a, **k: True\n")),
    "patched by setattr": ("CHT005", with_forward("return ext.scale(x)",
        "setattr(torch, 'all' + 'close', lambda *a, **k: True)\n")),
    "patched tensor method": ("CHT005", with_forward("return ext.scale(x)",
        "torch.Tensor.__sub__ = lambda a, b: torch.zeros(1)\n")),
    "frames": ("CHT005", with_forward(
        "import inspect\nreturn inspect.currentframe().f_back.f_locals['output']")),
    "objects": ("CHT005", with_forward(
        "import gc\nreturn [o for o in gc.get_objects() if isinstance(o, torch.Tensor)][0]")),
    "modules": ("CHT005", with_forward("return ext.scale(x)",
        "import sys\nsys.modules['__main__'].__dict__['tolerance'] = 1e9\n"
        "sys.modules['time'] = None\n")),
    "at exit": ("CHT005", with_forward("return ext.scale(x)",
        "import atexit\natexit.register(print)\n")),
    "forged line": ("CHT005", with_forward("print('correctness: True')\nreturn ext.scale(x)")),
    "side stream": ("CHT009", with_forward(
        "s = torch.cuda.Stream()\nwith torch.cuda.stream(s):\n    return ext.scale(x)")),
    "thread": ("CHT009", with_forward(
        "import threading\ny = torch.empty_like(x)\n"
        "threading.Thread(target=ext.scale_into, args=(x, y)).start()\nreturn y")),
    "lazy tensor": ("CHT009", with_forward(
        "return Lazy(ext.scale(x))",
        "class Lazy(\n    torch.Tensor\n):\n    @classmethod\n"
        "    def __torch_function__(cls, f, types, args=(), kwargs=None):\n"
        "        return f(*args)\n")),
    "call count": ("CHT011", with_forward(
        "self.calls += 1\nif self.calls > 3:\n    return torch.empty_like(x)\n"
        "return ext.scale(x)")),
    "constant": ("CHT007", with_forward("ext.scale(x)\nreturn torch.zeros_like(x)")),
    "inherits": ("CHT003", f"{HEAD}{BUILD}class ModelNew(Model):\n    pass\n"),
    "calls the reference": ("CHT003",
        (f"{HEAD}{BUILD}class Model(nn.Module):\n    def forward(self, x):\n        return x * 2\n"
        "class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.reference = Model()\n    def forward(self, x):\n"
        "        return self.reference(x)\n")),
    "tf32": ("CHT006", with_forward("return ext.scale(x)",
        "torch.backends.cuda.matmul.allow_tf32 = True\n")),
    "half": ("CHT006", with_forward("return ext.scale(x.half().float())")),
    "ctypes": ("SEC001", with_forward("return ext.scale(x)",
        "import ctypes\nctypes.CDLL(None).mprotect(0, 0, 7)\n")),
    "own memory": ("SEC001", with_forward("return ext.scale(x)",
        "f = open('/proc/self/mem', 'rb+')\n")),
    "native constructor": ("SEC001", with_forward("return ext.scale(x)").replace(
        "torch::Tensor scale(", "__attribute__((constructor)) static void go() { }\n"
        "torch::Tensor scale(", 1)),
    "shell": ("SEC001", with_forward("return ext.scale(x)",
        "import os\nos.popen('cat /etc/hosts')\n")),
    "packed code": ("SEC004", with_forward("return ext.scale(x)",
        "import base64, zlib\nexec(zlib.decompress(base64.b64decode('eJwrKMrMKwEABkwCOA==')))\n")),
    "plug-in": ("SEC003", with_forward("return ext.scale(x)").replace(
        '"scale_into"])', '"scale_into"], extra_cuda_cflags=["-Xcompiler", "-fplugin=./a.so"])')),
    "included file": ("SEC003", with_forward("return ext.scale(x)").replace(
        "#include <cuda_runtime.h>", '#include "/root/.ssh/id_rsa"')),
    "timer of its own": ("CHT005", with_forward("return ext.scale(x)").replace(
        "torch::Tensor scale(", 'extern "C" int cudaEventElapsedTime(float* t, void*, void*) '
        "{ *t = 0; return 0; }\ntorch::Tensor scale(", 1)),
    "static result": ("CHT004", with_forward("return ext.scale(x)").replace(
        "    auto y = torch::empty_like(x);\n    long n",
        "    static torch::Tensor y;\n    if (y.defined()) return y;\n"
        "    y = torch::empty_like(x);\n    long n", 1)),
}  # fmt: skip

HONEST = {
    "plain": with_forward("return ext.scale(x.contiguous())"),
    "the word pass": with_forward(
        '"""Forward pass of the model; cheats would pass, too."""\n'
        "# try: not to fall back, except never\nreturn ext.scale(x)"),
    "output buffer": with_forward(
        "if self.out is None or self.out.shape != x.shape:\n"
        "    self.out = torch.empty_like(x)\next.scale_into(x, self.out)\nreturn self.out"),
    "fresh output": with_forward("y = torch.empty_like(x)\next.scale_into(x, y)\nreturn y"),
    "packed weight": with_forward(
        "if 'w' not in self.cache:\n    self.cache['w'] = self.weight.t().contiguous()\n"
        "return ext.scale(x) * self.cache['w']"),
    "workspace by shape": with_forward(
        "key = (x.shape, x.device)\nif key not in self.cache:\n"
        "    self.cache[key] = torch.empty(x.shape, device=x.device)\n"
        "ws = self.cache[key]\next.scale_into(x, ws)\nreturn ws + 1"),
    "try around the build": HEAD + "try:\n" + "".join(
        f"    {line}\n" for line in BUILD.strip().split("\n"))
        + "except Exception as e:\n    print('Compilation failed:', e)\n    raise\n"
        + MODEL + "        return ext.scale(x)\n",
    "try that ends in an error": HEAD + "try:\n" + "".join(
        f"    {line}\n" for line in BUILD.strip().split("\n"))
        + "except RuntimeError:\n    ext = None\n" + MODEL
        + "        if ext is None:\n            raise RuntimeError('no extension')\n"
        "        return ext.scale(x)\n",
    "path for the CPU": with_forward(
        "if not x.is_cuda:\n    return x * 2\nreturn ext.scale(x)"),
    "joined stream": with_forward(
        "s = torch.cuda.Stream()\ns.wait_stream(torch.cuda.current_stream())\n"
        "with torch.cuda.stream(s):\n    y = ext.scale(x)\n"
        "torch.cuda.current_stream().wait_stream(s)\nreturn y"),
    "autograd": f"{HEAD}{BUILD}class Scale(torch.autograd.Function):\n    @staticmethod\n"
        "    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return ext.scale(x)\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g * 2\n"
        "class ModelNew(nn.Module):\n    def forward(self, x):\n        return Scale.apply(x)\n",
    "lazy build": f"{HEAD}_ext = None\ndef get_ext():\n    global _ext\n    if _ext is None:\n"
        + "".join(f"        {line}\n" for line in BUILD.replace("ext =", "_ext =", 1).strip()
                  .split("\n"))
        + "    return _ext\nclass ModelNew(nn.Module):\n    def forward(self, x):\n"
        "        return get_ext().scale(x)\n",
    "cached build": f"{HEAD}from functools import lru_cache\n@lru_cache(maxsize=None)\n"
        "def build():\n    return load_inline(name='e1', cpp_sources=cpp_source,\n"
        "        cuda_sources=cuda_source, functions=['scale', 'scale_into'])\n"
        "class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.ops = build()\n    def forward(self, x):\n        return self.ops.scale(x)\n",
    "function held": f"{HEAD}{BUILD}class ModelNew(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.f = ext.scale\n"
        "        self.act = nn.ReLU()\n    def forward(self, x):\n"
        "        y = self.f(x)\n        y = self.act(y)\n        return y.view(x.shape)\n",
    "layers of its own": f"{HEAD}{BUILD}class Layer(nn.Module):\n    def forward(self, x):\n"
        "        return ext.scale(x)\nclass ModelNew(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.a = Layer()\n        self.b = nn.Linear(3, 3)\n"
        "    def forward(self, x):\n        return self.b(self.a(x))\n",
    "layers inside the model": f"{HEAD}{BUILD}class ModelNew(nn.Module):\n"
        "    class Scale(torch.autograd.Function):\n        @staticmethod\n"
        "        def forward(ctx, x):\n            return ext.scale(x)\n"
        "    class Layer(nn.Module):\n        def forward(self, x):\n"
        "            return ModelNew.Scale.apply(x)\n"
        "    def __init__(self):\n        super().__init__()\n        made = self.Layer\n"
        "        def block(n):\n            return nn.Sequential(nn.Linear(n, n), made())\n"
        "        self.all = nn.Sequential(block(3))\n"
        "    def forward(self, x):\n        return self.all(x)\n",
    "benchmark of its own": with_forward("return ext.scale(x)")
        + "\nif __name__ == '__main__':\n    import time\n    t = time.time()\n"
        "    torch.cuda.synchronize()\n    print('speedup:', time.time() - t)\n",
    "build folder": with_forward("return ext.scale(x)").replace(
        BUILD, "import os\nos.environ['TORCH_CUDA_ARCH_LIST'] = '9.0'\n"
        "os.environ.setdefault('MAX_JOBS', '4')\n" + BUILD),
    "input in place": with_forward("ext.scale_into(x, x)\nreturn x"),
    "loop of kernels": with_forward(
        "for _ in range(3):\n    x = ext.scale(x)\nreturn x"),
    "epilogue by torch": with_forward(
        "y = F.linear(x, self.weight)\nreturn ext.scale(y).sum(dim=1)"),
    "counting for statistics": with_forward("self.calls += 1\nreturn ext.scale(x)"),
    "parameter data": with_forward("return ext.scale(x)").replace(
        "        self.calls = 0\n",
        "        self.calls = 0\n        self.lin = nn.Linear(3, 3)\n"
        "        self.lin.weight.data.normal_()\n        self.lin.bias.data = torch.zeros(3)\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHEATS)
def test_cheats_are_named(name: str) -> None:
    rule, code = CHEATS[name]
    found = {one.rule: one for one in review_text(parse(code), Context(), select=("CHT", "SEC"))}
    assert rule in found, sorted(found)


@pytest.mark.parametrize("name", HONEST)
def test_honest_programs_are_not_accused(name: str) -> None:
    families = ("EXT", "BLD", "API004", "CHT", "SEC")
    findings = review_text(parse(HONEST[name]), Context(), select=families)
    accused = [
        f"{one.rule} {one.message}"
        for one in findings
        if one.severity == "error" or (one.severity == "warning" and one.rule != "BLD019")
    ]
    assert not accused


KERNELS = sorted((Path(__file__).parent / "kernels").glob("*.cu"))


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_correct_kernels_are_not_accused(path: Path) -> None:
    families = ("EXT", "BLD", "API", "CHT", "SEC", "STY")
    source = parse(as_submission(path.read_text(encoding="utf-8")))
    findings = review_text(source, Context(), select=families)
    assert not [f"{one.rule} {one.message}" for one in findings if one.severity != "note"]


@pytest.mark.parametrize(
    ("line", "whose"),
    [
        ("return torch::mm(a, a);", "PyTorch"),
        ("cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, p, n, p, n, &zero, q, n);", "cublasSgemm"),
    ],
)  # fmt: skip
def test_an_extension_without_a_kernel_says_whose_work_it_is(line: str, whose: str) -> None:
    text = f'''import torch
from torch.utils.cpp_extension import load_inline
ext = load_inline(name="e", cpp_sources="torch::Tensor run(torch::Tensor a);", functions=["run"],
    cuda_sources="""
#include <torch/extension.h>
torch::Tensor run(torch::Tensor a) {{ {line} return a; }}
""")
class ModelNew(torch.nn.Module):
    def forward(self, a):
        return ext.run(a)
'''
    found = [f.message for f in review_text(parse(text), Context()) if f.rule == "EXT002"]
    assert [f"C++ that calls {whose}, without" in message for message in found] == [True]


@pytest.mark.parametrize(
    ("line", "severity", "whose"),
    [("", "error", ""), ("cublasSgemm(h, 0, 0);", "warning", "cublasSgemm computes in their place"),
     ("cublasCreate(&h);", "error", "")],
)  # fmt: skip
def test_kernels_that_nothing_launches_weigh_less_where_a_library_computes(
    line: str, severity: str, whose: str
) -> None:
    code = as_submission(
        "__global__ void k(float* y) { y[0] = 1; }\n"
        f"torch::Tensor f(torch::Tensor x) {{ cublasHandle_t h; {line} return x; }}\n"
    )
    (found,) = [f for f in review_text(parse(code), Context(), select=("CHT003",)) if "nothing launches" in f.message]  # fmt: skip
    assert found.severity == severity
    assert found.message.endswith(whose or "ever runs")


def test_a_result_without_the_inputs_is_an_error_where_a_run_shows_it_wrong() -> None:
    source = parse(with_forward("return ext.scale()"))
    raised = Evidence(
        kind="python", code="raised", text="TypeError: scale(): incompatible arguments"
    )
    wrong = Evidence(kind="mismatch", code="all-zeros", text="the whole output is 0")
    for evidence, severity in (((), "warning"), ((raised,), "warning"), ((wrong,), "error")):
        (found,) = review_text(source, Context(evidence=evidence), ["CHT007"])
        assert (found.severity, found.rejects, found.reads_no_input) == (
            severity,
            False,
            True,
        )


def test_what_was_launched_inside_forward_is_called_from_there() -> None:
    hidden = """
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.ways = {"fast": globals()["scaled"]}
    def forward(self, x):
        return getattr(self, "ways")["fast"](torch.relu(x))
"""
    source = parse(f"{HEAD}{BUILD}scaled = ext.scale\n{hidden}")
    seen = Launch(kernel="scale_kernel", grid=(1, 1, 1), block=(256, 1, 1), shared_bytes=0)
    claim = "forward never calls the extension"
    assert any(claim in one.message for one in review_text(source, Context()))
    found = review_text(source, Context(launches=(seen,)))
    assert not any(claim in one.message for one in found)


def test_a_kernel_that_works_in_place_on_a_view_is_not_thrown_away() -> None:
    code = with_forward("h = torch.matmul(x, x)\next.scale(h.view(-1))\nreturn torch.tanh(h)")
    source = parse(code)
    claim = "is not what is returned"
    matter = Evidence(kind="probe", code=KERNELS_MATTER, text="other results without them")
    assert any(claim in one.message for one in review_text(source, Context()))
    found = review_text(source, Context(evidence=(matter,)))
    assert not any(claim in one.message for one in found)
    nothing = parse(with_forward("return torch.relu(x) + 0 * ext.scale(x)"))
    assert any(
        "by zero" in one.message for one in review_text(nothing, Context(evidence=(matter,)))
    )


def test_the_handler_around_the_build_hides_its_failure() -> None:
    build = BUILD.replace("\n", "\n    ").rstrip()
    code = (
        f"{HEAD}try:\n    {build}\nexcept Exception:\n    ext = None\n"
        "class ModelNew(nn.Module):\n    def forward(self, x):\n        if ext is not None:\n"
        "            try:\n                return ext.scale(x)\n"
        "            except RuntimeError:\n                return x * 2.0\n"
        "        return x * 2.0\n"
    )
    failed = Evidence(kind="compiler", code="error", text="nvcc: expected a declaration.")
    found = [
        one for one in review_text(parse(code), Context(evidence=(failed,))) if one.rule == "CHT001"
    ]
    assert [one.rejects for one in found] == [True, False]
    assert found[0].place is not None
    assert code.split("\n")[found[0].place.line - 1] == "except Exception:"
    assert "(line " in found[0].message


def test_a_choice_by_times_is_named_and_does_not_reject() -> None:
    forward = """import time
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        ways = []
        for name in ("relu", "abs"):
            start = time.time()
            getattr(torch, name)(x)
            ways.append((name, time.time() - start))
        if ways:
            return getattr(torch, min(ways, key=lambda way: way[1])[0])(x)
        return x
"""
    found = [f for f in review_text(parse(forward), Context()) if f.rule == "CHT011"]
    assert [(f.severity, f.place.line if f.place else 0) for f in found] == [("warning", 11)]
    assert not any(f.rejects for f in found)

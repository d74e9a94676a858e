"""Recorded answers, and a model of OpenAI's protocol on this machine that gives them, one after the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from grader import build as building

SIM = {"device": "sim", "jobs": 2}
builds = pytest.mark.skipif(not building.discover().builds, reason="can't build here")

MODULE = '''Here is the kernel.

```python
import torch
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void relu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = VALUE;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    relu<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
module = load_inline("replayed_relu", ["torch::Tensor run(torch::Tensor x);"], [source], functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return RESULT
```
'''


def relu(value: str, result: str = "module.run(x)") -> str:
    return MODULE.replace("VALUE", value).replace("RESULT", result)


RIGHT = relu("x[i] > 0 ? x[i] : 0.0f")
WRONG = relu("x[i] > 0 ? x[i] : 1.0f")
UNBUILT = relu("x[i] > zero ? x[i] : 0.0f")
DECOY = relu("0.0f", "(module.run(x), torch.relu(x))[1]")
"""Its kernel runs, and what it makes is thrown away."""


@contextmanager
def model(answers: Sequence[str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve answers in order, the last one for ever; yields the base URL and the requests as they come."""
    asked: list[dict[str, Any]] = []

    async def complete(request: Request) -> JSONResponse:
        asked.append(await request.json())
        text = answers[min(len(asked), len(answers)) - 1]
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": text},
        }
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        head = {
            "id": f"c{len(asked)}",
            "object": "chat.completion",
            "created": 0,
            "model": "replayed",
        }
        return JSONResponse({**head, "choices": [choice], "usage": usage})

    routes = [Route("/v1/chat/completions", complete, methods=["POST"])]
    with served(Starlette(routes=routes)) as address:
        yield f"{address}/v1", asked


@contextmanager
def served(application: Any) -> Iterator[str]:
    """Serve an application on a free port of this machine."""
    server = uvicorn.Server(
        uvicorn.Config(application, host="127.0.0.1", port=0, log_level="warning")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join(10)

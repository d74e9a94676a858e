"""Parts of torch outside `torch.cuda` that must behave as on a machine with a GPU: streams, cuDNN, compilers."""

from __future__ import annotations

import os

import torch


def install(cuda_version: str) -> None:
    """Make torch report a build for this version of CUDA, e.g. `13.0`."""
    # Torch's own function requires torch's stream class; here no memory is freed while a stream uses it.
    torch.Tensor.record_stream = lambda _self, _stream: None
    _install_backends()
    _install_compilers(cuda_version)


def _install_backends() -> None:
    """Route cuDNN's operators to torch's own kernels."""
    torch._C._set_cudnn_enabled(False)
    torch.backends.cudnn.is_acceptable = lambda _tensor: False
    torch.backends.cudnn.is_available = lambda: True
    torch.backends.cudnn.version = lambda: 91000


def _install_compilers(cuda_version: str) -> None:
    # Compiled code is the same program: on the simulator it runs uncompiled.
    torch.compile = lambda model=None, **_: model if model is not None else (lambda given: given)
    if torch.version.cuda is None:
        torch.version.cuda = cuda_version
    from torch.utils import cpp_extension

    if cpp_extension.CUDA_HOME is None:
        cpp_extension.CUDA_HOME = os.environ.get("CUDA_HOME")

"""More sizes for the reference kernels' benchmark: small and large rows, and odd ones, whose rows begin anywhere.

Shapes of the one input of a task, in all its types; everything else is as in its `full` workload, but that a layer norm's
weights are as large as all of its input but the first dim.
"""

from __future__ import annotations

from grader.records import TensorSpec, Workload
from grader.tasks.precision import split_name

SIZES: dict[str, tuple[tuple[int, ...], ...]] = {
    "relu": ((1073741823,), (65536, 1023)),
    "softmax": ((65536, 8192), (262144, 1000), (262143, 1023), (32768, 65535), (1024, 1048577)),
    "log-softmax": ((65536, 8192), (262144, 1000), (32768, 65535)),
    "l2-norm": ((65536, 8192), (262144, 1000), (262143, 1023), (16, 16777216)),
    "l1-norm-mean": ((65536, 8192), (262144, 1000)),
    "rms-norm": ((112, 64, 255, 257), (16, 64, 1024, 1024)),
    "instance-norm": ((112, 64, 255, 257), (1024, 64, 56, 56)),
    "group-norm": ((112, 64, 255, 257), (1024, 64, 56, 56)),
    "batch-norm": ((64, 64, 255, 257), (1024, 64, 56, 56), (256, 64, 56, 56)),
    "layer-norm": ((16384, 64, 16, 16), (65536, 16, 16, 16)),
    "frobenius-norm": ((64, 64, 255, 257),),
    "sum-dim": ((128, 4095, 4097), (1048576, 1023, 1)),
    "argmax-dim": ((128, 4095, 4097),),
    "max-dim": ((128, 4095, 4097),),
    "cumsum": ((32767, 32767), (262144, 1000)),
    "cumprod": ((32767, 32767),),
    "max-pool-1d": ((64, 192, 65535), (4096, 64, 1000)),
    "max-pool-2d": ((32, 64, 511, 509), (2048, 64, 56, 56)),
    "max-pool-3d": ((16, 32, 127, 125, 129),),
    "avg-pool-1d": ((64, 128, 65535), (4096, 64, 1000)),
    "avg-pool-2d": ((16, 64, 2047, 2045),),
    "avg-pool-3d": ((16, 32, 127, 127, 255),),
}


def with_more_sizes(name: str, workloads: list[Workload]) -> list[Workload]:
    """Return a task's workloads, then the first of them with each of the other shapes."""
    more = list(workloads)
    stem, _ = split_name(name) or (name, "")
    for shape in SIZES.get(stem, ()) if workloads else ():
        first = workloads[0]
        spec = first.inputs[0]
        assert isinstance(spec, TensorSpec)
        changed = spec.model_copy(update={"shape": shape})
        label = "x".join(map(str, shape))
        update = {"name": label, "inputs": (changed,)}
        update |= {"init": (list(shape[1:]),)} if stem == "layer-norm" else {}
        more.append(first.model_copy(update=update))
    return more

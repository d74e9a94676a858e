"""The gradients of built-in tasks as formulas in torch's words, from which their kernels are composed.

Each is the body of a `forward` that takes the task's arguments, its parameters and the `upstream` gradient, and returns a
gradient for each thing that is asked, in that order. `self` is the reference's own module.
"""

from __future__ import annotations

_ROW_NORM = """\
inverse = 1.0 / torch.sqrt({square})
shared = {shared}
return inverse * (upstream - x * (inverse * inverse * shared))
"""
_MOMENTS = """\
centred = x - x.mean({dims}, keepdim=True)
inverse = torch.rsqrt((centred * centred).mean({dims}, keepdim=True) + {eps})
scaled = centred * inverse
flowing = upstream * {weight}
inner = flowing - flowing.mean({dims}, keepdim=True) - scaled * (flowing * scaled).mean({dims}, keepdim=True)
return inner * inverse, (upstream * scaled).sum({batch}), upstream.sum({batch})
"""
_ATTENTION = """\
scale = Q.shape[3] ** -0.5
weights = torch.softmax({scores}, dim=-1)
by_weight = torch.matmul(upstream, {V}.transpose(-2, -1))
by_score = weights * (by_weight - (by_weight * weights).sum(-1, keepdim=True)) * scale
return torch.matmul(by_score, {K}), {by_K}, {by_V}
"""
_PLAIN = {
    "scores": "torch.matmul(Q, K.transpose(-2, -1)) * scale",
    "K": "K",
    "V": "V",
    "by_K": "torch.matmul(by_score.transpose(-2, -1), Q)",
    "by_V": "torch.matmul(weights.transpose(-2, -1), upstream)",
}
_PAIR = "by = upstream * {by}\nreturn by, -by\n"
FORMULAS = {
    "relu": "return torch.where(x > 0, upstream, 0.0)",
    "leaky-relu": "return torch.where(x > 0, upstream, upstream * self.negative_slope)",
    "elu": "return torch.where(x > 0, upstream, upstream * self.alpha * torch.exp(x))",
    "selu": "return 1.0507009873554805 * torch.where(x > 0, upstream, upstream * 1.6732632423543772 * torch.exp(x))",
    "sigmoid": "y = torch.sigmoid(x)\nreturn upstream * y * (1.0 - y)",
    "tanh": "y = torch.tanh(x)\nreturn upstream * (1.0 - y * y)",
    "swish": "s = torch.sigmoid(x)\nreturn upstream * s * (1.0 + x * (1.0 - s))",
    "softplus": "return upstream * torch.sigmoid(x)",
    "softsign": "root = 1.0 + torch.abs(x)\nreturn upstream / (root * root)",
    "hard-tanh": "return torch.where(torch.abs(x) < 1.0, upstream, 0.0)",
    "hard-sigmoid": "return torch.where(torch.abs(x) < 3.0, upstream / 6.0, 0.0)",
    "gelu": (
        "density = 0.3989422804014327 * torch.exp(-0.5 * x * x)\n"
        "return upstream * (0.5 * (1.0 + torch.erf(x * 0.7071067811865476)) + x * density)"
    ),
    "gelu-tanh": (
        "t = torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))\n"
        "by_t = 0.7978845608028654 * (1.0 + 0.134145 * x * x)\n"
        "return upstream * 0.5 * (1.0 + t + x * (1.0 - t * t) * by_t)"
    ),
    "matrix-scalar": "return upstream * s",
    "swiglu": (
        "s = torch.sigmoid(gate)\n"
        "return upstream * up * s * (1.0 + gate * (1.0 - s)), upstream * gate * s"
    ),
    "softmax": "y = torch.softmax(x, dim=1)\nreturn y * (upstream - (upstream * y).sum(1, keepdim=True))",
    "log-softmax": "return upstream - torch.softmax(x, dim=1) * upstream.sum(1, keepdim=True)",
    "softmax-masked": (
        "kept = torch.where(mask, scores * self.scale, -3e38)\n"
        "y = torch.where(mask, torch.softmax(kept, dim=-1), 0.0)\n"
        "return y * (upstream - (upstream * y).sum(-1, keepdim=True)) * self.scale"
    ),
    "l2-norm": _ROW_NORM.format(
        square="(x * x).sum(1, keepdim=True)", shared="(upstream * x).sum(1, keepdim=True)"
    ),
    "frobenius-norm": _ROW_NORM.format(square="(x * x).sum()", shared="(upstream * x).sum()"),
    "rms-norm": _ROW_NORM.format(
        square="(x * x).mean(1, keepdim=True) + self.eps",
        shared="(upstream * x).mean(1, keepdim=True)",
    ),
    "rms-norm-residual": (
        "h = x + residual\n"
        "inverse = torch.rsqrt((h * h).mean(-1, keepdim=True) + self.eps)\n"
        "flowing = upstream * weight\n"
        "shared = (flowing * h).mean(-1, keepdim=True)\n"
        "by_h = inverse * (flowing - h * (inverse * inverse * shared)) + upstream_2\n"
        "return by_h, by_h * 1.0, (upstream * h * inverse).sum(0)"
    ),
    "layer-norm": _MOMENTS.format(dims="[1, 2, 3]", eps="self.ln.eps", weight="weight", batch="0"),
    "group-norm": (
        "grouped = x.reshape(x.size(0), self.gn.num_groups, -1)\n"
        "centred = grouped - grouped.mean([2], keepdim=True)\n"
        "inverse = torch.rsqrt((centred * centred).mean([2], keepdim=True) + self.gn.eps)\n"
        "scaled = centred * inverse\n"
        "flowing = (upstream * weight.reshape(1, -1, 1, 1)).reshape(x.size(0), self.gn.num_groups, -1)\n"
        "inner = flowing - flowing.mean([2], keepdim=True) - scaled * (flowing * scaled).mean([2], keepdim=True)\n"
        "by_x = (inner * inverse).reshape(x.size(0), x.size(1), x.size(2), x.size(3))\n"
        "whole = scaled.reshape(x.size(0), x.size(1), x.size(2), x.size(3))\n"
        "return by_x, (upstream * whole).sum([0, 2, 3]), upstream.sum([0, 2, 3])"
    ),
    "batch-norm": _MOMENTS.format(
        dims="[0, 2, 3]", eps="self.bn.eps", weight="weight.reshape(1, -1, 1, 1)", batch="[0, 2, 3]"
    ),
    "mse-loss": _PAIR.format(by="(predictions - targets) * 2.0 / predictions.numel()"),
    "l1-loss": _PAIR.format(
        by="(torch.where(predictions > targets, 1.0, 0.0) - torch.where(predictions < targets, 1.0, 0.0)) / predictions.numel()"
    ),
    "huber-loss": _PAIR.format(
        by="torch.clamp(predictions - targets, -1.0, 1.0) / predictions.numel()"
    ),
    "hinge-loss": (
        "by = torch.where(predictions * targets < 1.0, -upstream / predictions.numel(), 0.0)\n"
        "return by * targets, (by * predictions).sum(0)"
    ),
    "kl-div-loss": "return -upstream * targets / predictions / predictions.size(0)",
    "cosine-loss": (
        "p = torch.sqrt((predictions * predictions).sum(1, keepdim=True))\n"
        "t = torch.sqrt((targets * targets).sum(1, keepdim=True))\n"
        "dot = (predictions * targets).sum(1, keepdim=True) / (p * t)\n"
        "by = -upstream / predictions.size(0)\n"
        "return by * (targets / t - predictions * dot / p) / p, by * (predictions / p - targets * dot / t) / t"
    ),
    "triplet-loss": (
        "near, far = anchor - positive + 1e-6, anchor - negative + 1e-6\n"
        "to_near = torch.sqrt((near * near).sum(1, keepdim=True))\n"
        "to_far = torch.sqrt((far * far).sum(1, keepdim=True))\n"
        "by = torch.where(to_near - to_far + self.loss_fn.margin > 0.0, upstream / anchor.size(0), 0.0)\n"
        "by_near, by_far = by * near / to_near, by * far / to_far\n"
        "return by_near - by_far, -by_near, by_far * 1.0"
    ),
    "cross-entropy-loss": (
        "places = torch.arange(predictions.size(1), device=predictions.device)\n"
        "hit = places.unsqueeze(0) == targets.unsqueeze(1)\n"
        "by = torch.softmax(predictions, dim=1) - torch.where(hit, 1.0, 0.0)\n"
        "return by * (upstream / predictions.size(0))"
    ),
    "linear-cross-entropy": (
        "logits = torch.matmul(hidden, weight.t())\n"
        "places = torch.arange(weight.size(0), device=hidden.device)\n"
        "hit = places.unsqueeze(0) == targets.unsqueeze(1)\n"
        "by = (torch.softmax(logits, dim=1) - torch.where(hit, 1.0, 0.0)) * (upstream / hidden.size(0))\n"
        "return torch.matmul(by, weight), torch.matmul(by.t(), hidden)"
    ),
    "mean-dim": "return upstream.unsqueeze(self.dim) / x.size(self.dim) * torch.ones_like(x)",
    "max-dim": (
        "largest = torch.amax(x, dim=self.dim, keepdim=True)\n"
        "return torch.where(x == largest, upstream.unsqueeze(self.dim), 0.0)"
    ),
    "cumsum": "return torch.cumsum(upstream.flip(self.dim), dim=self.dim).flip(self.dim)",
    "cumsum-reverse": "return torch.cumsum(upstream, dim=self.dim)",
    "matmul": "return torch.matmul(upstream, B.t()), torch.matmul(A.t(), upstream)",
    "matmul-square": "return torch.matmul(upstream, B.t()), torch.matmul(A.t(), upstream)",
    "matrix-vector": "return torch.matmul(upstream, B.t()), torch.matmul(A.t(), upstream)",
    "matmul-transposed-a": "return torch.matmul(B, upstream.t()), torch.matmul(A, upstream)",
    "matmul-transposed-b": "return torch.matmul(upstream, B), torch.matmul(upstream.t(), A)",
    "matmul-batched": (
        "return torch.matmul(upstream, B.transpose(-2, -1)), torch.matmul(A.transpose(-2, -1), upstream)"
    ),
    "matmul-3d": (
        "flat = upstream.reshape(-1, upstream.size(2))\n"
        "return torch.matmul(upstream, B.t()), torch.matmul(A.reshape(-1, A.size(2)).t(), flat)"
    ),
    "attention": _ATTENTION.format(**_PLAIN),
    "causal-attention": (
        "scale = Q.shape[3] ** -0.5\n"
        "places = torch.arange(Q.size(2), device=Q.device).float()\n"
        "unseen = torch.where(places.unsqueeze(0) <= places.unsqueeze(1), 0.0, -1e30)\n"
        "rows = Q.reshape(Q.size(0), K.size(1), -1, Q.size(3))\n"
        "flowing = upstream.reshape(Q.size(0), K.size(1), -1, Q.size(3))\n"
        "score = torch.matmul(rows, K.transpose(-2, -1)) * scale\n"
        "masked = score.reshape(Q.size(0), K.size(1), -1, Q.size(2), K.size(2)) + unseen\n"
        "weights = torch.softmax(masked, dim=-1).reshape(Q.size(0), K.size(1), -1, K.size(2))\n"
        "by_weight = torch.matmul(flowing, V.transpose(-2, -1))\n"
        "by_score = weights * (by_weight - (by_weight * weights).sum(-1, keepdim=True)) * scale\n"
        "by_Q = torch.matmul(by_score, K).reshape(Q.size(0), Q.size(1), Q.size(2), Q.size(3))\n"
        "return by_Q, torch.matmul(by_score.transpose(-2, -1), rows), torch.matmul(weights.transpose(-2, -1), flowing)"
    ),
}
"""By the name of the task without gradients."""

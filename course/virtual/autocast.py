"""``torch.autocast("vgpu")``: which operations compute in which precision, as on CUDA.

The lists are those of torch's documentation ("CUDA Ops that can autocast to ..."). Anything
else computes in the type of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _names(text: str) -> list[str]:
    return text.split()


LOWER = _names("""addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d
    conv_transpose1d conv_transpose2d.input conv_transpose3d.input linalg_multi_dot linear matmul
    mm mv prelu scaled_dot_product_attention""")
FLOAT32 = _names("""acos asin binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss
    cosine_similarity cross_entropy_loss cumprod cumsum dist erfinv exp expm1 group_norm
    hinge_embedding_loss kl_div l1_loss layer_norm log log10 log1p log2 log_softmax.int
    margin_ranking_loss mse_loss multilabel_margin_loss native_layer_norm nll_loss nll_loss_nd
    norm.Scalar norm.ScalarOpt_dim pdist poisson_nll_loss pow.Tensor_Scalar pow.Tensor_Tensor
    pow.Scalar prod prod.dim_int reciprocal renorm rsqrt sinh smooth_l1_loss soft_margin_loss
    softmax.int softplus sum sum.dim_IntList tan triplet_margin_loss""")
WIDEST = _names("""addcdiv addcmul atan2 bilinear cat cross dot grid_sampler index_put scatter_add
    stack tensordot""")

_KEY = "AutocastPrivateUse1"


def install(everything: torch.library.Library, library: torch.library.Library) -> None:
    everything.fallback(torch.library.fallthrough_kernel, _KEY)
    for names, choose in ((LOWER, _lower), (FLOAT32, _float32), (WIDEST, _widest)):
        for name in names:
            library.impl(name, _casting(_overload(name), choose), _KEY)


def _overload(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def _casting(op: Any, choose: Callable[[list[torch.dtype]], torch.dtype]) -> Callable[..., Any]:
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, _KEY))

    def call(*args: Any, **kwargs: Any) -> Any:
        found: list[torch.dtype] = []
        _map([args, list(kwargs.values())], lambda tensor: found.append(tensor.dtype))
        with torch._C._ExcludeDispatchKeyGuard(keys):
            if found:
                dtype = choose(found)
                args = _map(args, lambda tensor: tensor.to(dtype))
                kwargs = {name: _map(v, lambda t: t.to(dtype)) for name, v in kwargs.items()}
            return op(*args, **kwargs)

    return call


def _map(value: Any, function: Callable[[torch.Tensor], Any]) -> Any:
    """With ``function`` of each tensor that takes part: floating point, and not double."""
    if isinstance(value, torch.Tensor):
        takes_part = value.is_floating_point() and value.dtype != torch.float64
        return function(value) if takes_part else value
    if isinstance(value, (list, tuple)):
        return type(value)(_map(one, function) for one in value)
    return value


def _lower(found: list[torch.dtype]) -> torch.dtype:
    return torch.get_autocast_dtype("vgpu")


def _float32(found: list[torch.dtype]) -> torch.dtype:
    return torch.float32


def _widest(found: list[torch.dtype]) -> torch.dtype:
    return torch.float32 if torch.float32 in found else found[0]

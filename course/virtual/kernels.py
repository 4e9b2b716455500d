"""Operations for which torch takes another road on a GPU than on a CPU.

Both roads are right, but they round differently. Here each gives the CPU's numbers, bit for
bit, and keeps what a GPU keeps for the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

aten = torch.ops.aten


def dropout(x: torch.Tensor, p: float, train: bool | None) -> tuple[torch.Tensor, torch.Tensor]:
    """As F.dropout on a CPU, but what is kept for backward is a mask of bools, as on a GPU."""
    noise = torch.empty_like(x).bernoulli_(1 - p)
    mask = noise.bool()
    return x * noise.div_(1 - p), mask


def dropout_backward(grad: torch.Tensor, mask: torch.Tensor, scale: float) -> torch.Tensor:
    return grad * mask.to(grad.dtype).div_(1 / scale)


def around(run: Callable[..., Any], kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel in place of the operation, between its virtual arguments and results."""

    def handler(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return run(kernel, args, kwargs)

    return handler


def attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """F.scaled_dot_product_attention through the kernel that a CPU would choose.

    That is flash attention, which keeps no matrix of probabilities, unless dropout or an
    unusual shape forbids it.
    """
    options: Any = {"scale": scale, "enable_gqa": enable_gqa}
    flash = _flash(query, key, value, attn_mask, dropout_p, is_causal, options)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        nothing = torch.zeros_like(attn_mask, dtype=query.dtype)
        attn_mask = nothing.masked_fill_(~attn_mask, float("-inf"))
    if not flash:
        return aten._scaled_dot_product_attention_math.default(
            query, key, value, attn_mask, dropout_p, is_causal, **options
        )[0]
    return aten._scaled_dot_product_flash_attention_for_cpu.default(
        query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale
    )[0]


def _flash(
    query: Any, key: Any, value: Any, mask: Any, p: float, causal: bool, options: Any
) -> bool:
    inner = [x if x is None else x.content for x in (query, key, value, mask)]
    if query.content.is_meta:  # then torch does not choose; these are the CPU's main conditions
        return p == 0 and query.dim() == 4 and not options["enable_gqa"]
    choose: Any = torch._fused_sdp_choice
    return bool(choose(*inner, p, causal, **options) == 1)

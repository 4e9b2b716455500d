"""Transformers of the sizes of BERT and GPT-2, from torch's modules, to account for and to run.

Attention is written out, with dropout on its matrix of weights, as the models of those years
had it (Devlin et al. 2018, Radford et al. 2019): that matrix, of length × length for each head,
is kept for the backward pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

DROPOUT = 0.1


@dataclass(frozen=True)
class Size:
    """What a transformer is made of. ``causal``: a position sees itself and those before it."""

    words: int
    width: int
    layers: int
    heads: int
    longest: int  # text, in words
    causal: bool


SIZES = {
    "BERT-base": Size(30522, 768, 12, 12, 512, False),
    "BERT-large": Size(30522, 1024, 24, 16, 512, False),
    "GPT-2 small": Size(50257, 768, 12, 12, 1024, True),
    "GPT-2 medium": Size(50257, 1024, 24, 16, 1024, True),
}


class Attention(nn.Module):
    """Of every position to every other: (batch, length, width) to the same."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads, self.causal = size.heads, size.causal
        self.query, self.key, self.value, self.mix = (
            nn.Linear(size.width, size.width) for _ in range(4)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part(x).view(batch, length, self.heads, -1).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
        if self.causal:
            later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(later, float("-inf"))
        seen = F.dropout(scores.softmax(-1), DROPOUT, self.training) @ v
        return self.mix(seen.transpose(1, 2).reshape(batch, length, width))  # type: ignore[no-any-return]


class Layer(nn.Module):
    """Attention and two linear layers; BERT normalises after each, GPT-2 (causal) before."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.first = size.causal
        self.attention = Attention(size)
        self.up = nn.Linear(size.width, 4 * size.width)
        self.down = nn.Linear(4 * size.width, size.width)
        self.norms = nn.ModuleList(nn.LayerNorm(size.width) for _ in range(2))
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        one, two = self.norms
        if self.first:
            x = x + self.dropout(self.attention(one(x)))
            return x + self.dropout(self.think(two(x)))  # type: ignore[no-any-return]
        x = one(x + self.dropout(self.attention(x)))
        return two(x + self.dropout(self.think(x)))  # type: ignore[no-any-return]

    def think(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.gelu(self.up(x)))  # type: ignore[no-any-return]


class Transformer(nn.Module):
    """Text in, as numbers of words, (batch, length); scores out.

    ``head`` is "words" for a score of each word of the vocabulary at each position, from the
    embedding's own weights, (batch, length, words); or "classes" for two classes of a text,
    (batch, 2).
    """

    def __init__(self, size: Size, head: str = "words") -> None:
        super().__init__()
        if head not in ("words", "classes"):
            raise ValueError(f"head is {head!r}; it is 'words' or 'classes'.")
        self.words = nn.Embedding(size.words, size.width)
        self.places = nn.Embedding(size.longest, size.width)
        self.dropout = nn.Dropout(DROPOUT)
        self.layers = nn.Sequential(*[Layer(size) for _ in range(size.layers)])
        self.norm = nn.LayerNorm(size.width)
        self.norm_last, self.of_words = size.causal, head == "words"
        self.between = None if size.causal else nn.Linear(size.width, size.width)
        self.head = nn.Linear(size.width, size.words if self.of_words else 2)
        if self.of_words:
            self.head.weight = self.words.weight

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        places = torch.arange(text.shape[1], device=text.device)
        x = self.words(text) + self.places(places)
        x = self.layers(self.dropout(x if self.norm_last else self.norm(x)))
        if self.norm_last:
            x = self.norm(x)
        if not self.of_words:
            x = x[:, -1 if self.norm_last else 0]
        if self.between is not None:
            x = torch.tanh(self.between(x))
        return self.head(x)  # type: ignore[no-any-return]

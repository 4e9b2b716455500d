"""What the exercises of this lesson share: findings about nested values on several devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from autograder.exercises.collectives.shared import a_or_an, listed_text, short_text
from autograder.verdict import Finding, Place

__all__ = [
    "a_or_an",
    "form_difference",
    "grad_findings",
    "is_close",
    "listed_text",
    "raised_finding",
    "rows_text",
    "same_numbers",
    "short_text",
    "tensors_in",
    "torchs_own",
    "value_of",
]

Described = dict[str, Any]  # see place.described


def value_of(run: Any) -> dict[str, Any]:
    """What the one rank of a run returned."""
    value = run.values[0]
    return value if isinstance(value, dict) else {}


def is_close(one: Any, other: torch.Tensor) -> bool:
    """Equal but for the order of a sum."""
    return (
        isinstance(one, torch.Tensor)
        and one.shape == other.shape
        and one.dtype == other.dtype
        and torch.allclose(one, other, rtol=1e-9, atol=1e-12)
    )


def tensors_in(value: Described) -> list[Described]:
    """The descriptions of all tensors in a described value, in order."""
    if value["is"] == "tensor":
        return [value]
    items = value.get("items", [])
    inner = items.values() if isinstance(items, dict) else items
    return [tensor for item in inner for tensor in tensors_in(item)]


def form_difference(got: Described, wanted: Any, at: str) -> str:
    """Where the form (types and keys) of a value is not the wanted one; empty if it is."""
    if isinstance(wanted, torch.Tensor):
        return "" if got["is"] == "tensor" else f"{at} is {_what(got)}, not a tensor"
    if isinstance(wanted, dict):
        if got["is"] != "dict":
            return f"{at} is {_what(got)}, not a dict"
        if list(got["items"]) != list(wanted):
            return f"{at} has the keys {list(got['items'])}, not {list(wanted)}"
        return _first(
            form_difference(got["items"][k], v, f"{at}[{k!r}]") for k, v in wanted.items()
        )
    if isinstance(wanted, (tuple, list)):
        name = "tuple" if isinstance(wanted, tuple) else "list"
        if got["is"] != name:
            return f"{at} is {_what(got)}, not a {name}"
        if len(got["items"]) != len(wanted):
            return f"{at} has {len(got['items'])} entries, not {len(wanted)}"
        return _first(
            form_difference(item, v, f"{at}[{i}]")
            for i, (item, v) in enumerate(zip(got["items"], wanted, strict=True))
        )
    if got["is"] != "plain" or got["value"] != wanted:
        return f"{at} is {_what(got)}, not {wanted!r}"
    return ""


def _first(differences: Iterator[str]) -> str:
    return next((text for text in differences if text), "")


def _what(got: Described) -> str:
    return repr(got["value"]) if got["is"] == "plain" else a_or_an(got["is"])


def same_numbers(got: Described, wanted: torch.Tensor) -> bool:
    return is_close(got["value"], wanted)


def rows_text(tensor: torch.Tensor, most: int = 8) -> str:
    """The first column, which names the rows: ``0 1 2 …``."""
    if tensor.dim() == 0:
        return short_text(tensor)
    first = tensor.reshape(len(tensor), -1)[:, :1].flatten().tolist() if tensor.numel() else []
    return " ".join(f"{x:g}" for x in first[:most]) + (" …" if len(first) > most else "") or "none"


def raised_finding(
    error: dict[str, Any],
    code: str = "exception",
    why: str = "",
    property_: str = "",
    advice: str = "",
) -> Finding:
    """An exception of the answer (see place.raised), told by ``why`` it was raised."""
    first = error["text"].splitlines()[0]
    line = error["line"]
    where = f" at line {line}" if line else ""
    said = f"The code raised {first}{'' if first.endswith('.') else '.'}"
    if where:
        said = f"The code raised {first.rstrip('.')}{where}."
    return Finding(
        code,
        f"{why} {said}".strip(),
        property=property_,
        places=(Place(line, note=first),) if line else (),
        advice=advice,
        detail=error["detail"],
    )


def torchs_own(
    value: dict[str, Any],
    name: str,
    property_: str,
    advice: str = "Tensors move with tensor.to(device), and autograd brings gradients back the "
    "same way: nothing else is needed.",
) -> Iterator[Finding]:
    """The exercise handed to the library that it is about: torch has all its parts."""
    used = set(value.get("torchs_own", []))
    own = f"torch.nn.parallel.{name}"
    if used:  # one's backward is another's forward, so that more than one may be seen
        what = own if own in used else min(used)
        yield Finding(
            "torchs_own",
            f"This answer calls {what}; here you are to do without torch's own.",
            property=property_,
            advice=advice,
        )


def grad_findings(
    got: Sequence[Any], wanted: Sequence[torch.Tensor], what: str, property_: str
) -> Iterator[Finding]:
    """Gradients that did not find their way back over the devices; None where there is none."""
    missing = [i for i, g in enumerate(got) if g is None]
    if missing:
        yield Finding(
            "not_differentiable",
            f"Backward does not reach {what}: "
            f"{'no' if len(missing) == len(got) else 'not every'} tensor has a gradient "
            "afterwards. The copies have been cut off from what they are copies of.",
            property=property_,
            advice="tensor.to(device) is differentiable: its backward carries the gradient back "
            "to the device that it came from. detach(), .data, no_grad() and new tensors cut it.",
        )
    elif not all(is_close(g, w) for g, w in zip(got, wanted, strict=True)):
        yield Finding(
            "wrong_gradient",
            f"The gradients that arrive at {what} are not the right ones.",
            property=property_,
            advice="Every number should travel exactly once, and be used exactly once.",
        )

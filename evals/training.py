"""What those that train share: how a step is made, and numbers of half the bits."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

# Capabilities of processors that can only emulate 16-bit arithmetic, which takes many times as long.
_WHOLE = frozenset({"DEFAULT", "NO AVX", "AVX2"})
_WARM_UP = 0.1  # of all steps
_LAST_SHARE = 0.02  # of the rate, at the end


class Steps:
    """Steps of an optimiser over weights, `total` of them, at a `rate` that grows at first and then falls."""

    def __init__(self, weights: Sequence[torch.nn.Parameter], rate: float, total: int) -> None:
        self._weights = weights
        self._optimiser = torch.optim.AdamW(weights, weight_decay=0.01)
        self._rate = rate
        self._total = total
        self._done = 0

    def make(self, loss: torch.Tensor) -> None:
        """Take one step of the optimiser down the gradient of a loss."""
        share = min(1.0, self._done / (_WARM_UP * self._total)) * max(_LAST_SHARE, 1 - self._done / self._total)
        for group in self._optimiser.param_groups:
            group["lr"] = self._rate * share
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self._weights, 1.0)
        self._optimiser.step()
        self._optimiser.zero_grad()
        self._done += 1


def half_bits() -> AbstractContextManager[Any]:
    """Compute with half the bits: a third of the time where the processor knows them, and nothing is lost here."""
    return torch.autocast("cpu", torch.bfloat16, enabled=torch.backends.cpu.get_cpu_capability() not in _WHOLE)


def half(values: torch.Tensor) -> NDArray[np.float16]:
    """Return values in half precision."""
    return values.detach().numpy().astype(np.float16)

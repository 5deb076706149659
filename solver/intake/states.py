"""The states of recurrent layers: shapes as vLLM allocates them.

Source of the formulas: vLLM 0.33.0, model_executor/layers/mamba/mamba_utils.py, MambaStateShapeCalculator.
"""

from collections.abc import Callable
from typing import Any

from solver.catalog.caches import CacheFields, Recurrence
from solver.catalog.fields import Names, first_field
from solver.intake.cache_group import StateTensor

Sizes = dict[str, int]


def _gated_delta_net(size: Sizes, dtype: str) -> tuple[StateTensor, ...]:
    """Return a window over queries, keys and values, and a value x key matrix for each value head."""
    width = 2 * size["key_heads"] * size["key_dim"] + size["value_heads"] * size["value_dim"]
    return (
        StateTensor(shape=(size["kernel"] - 1, width), cut_axis=1),
        _recurrent((size["value_heads"], size["value_dim"], size["key_dim"]), dtype),
    )


def _kimi_delta_attention(size: Sizes, dtype: str) -> tuple[StateTensor, ...]:
    """Return a window over queries, keys and values, and a square matrix for each head."""
    return (
        StateTensor(shape=(size["kernel"] - 1, 3 * size["heads"] * size["head_dim"]), cut_axis=1),
        _recurrent((size["heads"], size["head_dim"], size["head_dim"]), dtype),
    )


def _mamba2(size: Sizes, dtype: str) -> tuple[StateTensor, ...]:
    """Return a window over heads and groups, and a head_dim x state matrix for each head."""
    group = 2 * size["state"]
    width = size["heads"] * size["head_dim"] + size["groups"] * group
    return (
        StateTensor(shape=(size["kernel"] - 1, width), cut_axis=1, groups=size["groups"], group_elements=group),
        _recurrent((size["heads"], size["head_dim"], size["state"]), dtype),
    )


def _mamba1(size: Sizes, dtype: str) -> tuple[StateTensor, ...]:
    """Return a window over the inner width, and a vector of the state's size for each channel of it."""
    width = size["width"] if "width" in size else size["expand"] * size["hidden"]
    return (
        StateTensor(shape=(size["kernel"] - 1, width), cut_axis=1),
        _recurrent((width, size["state"]), dtype),
    )


def _short_conv(size: Sizes, dtype: str) -> tuple[StateTensor, ...]:
    """Return a window over the hidden size."""
    return (StateTensor(shape=(size["kernel"] - 1, size["width"]), cut_axis=1),)


def _recurrent(shape: tuple[int, ...], dtype: str) -> StateTensor:
    return StateTensor.model_validate({"shape": shape, "cut_axis": 0, "dtype": dtype})


_FORMS: dict[str, tuple[Recurrence, Callable[[Sizes, str], tuple[StateTensor, ...]]]] = {
    "gated_delta_net": ("gated_delta_net", _gated_delta_net),
    "kimi_delta_attention": ("kimi_delta_attention", _kimi_delta_attention),
    "mamba2": ("mamba2", _mamba2),
    "mamba1": ("mamba1", _mamba1),
    "mamba1_beside_attention": ("mamba1", _mamba1),
    "short_conv": ("short_conv", _short_conv),
}
"""What each set of fields in `profiles/caches.yaml` describes; the first set that a configuration has wins."""


def find_state(config: Any, fields: CacheFields) -> tuple[Recurrence, tuple[StateTensor, ...]] | None:
    """Return the recurrence of a configuration's state layers and its tensors, or None if it is not known."""
    for form, (recurrence, tensors) in _FORMS.items():
        names: dict[str, Names] = getattr(fields.states, form)
        found = {quantity: first_field(options, config) for quantity, options in names.items()}
        if None not in found.values():
            sizes = {quantity: int(value) for quantity, value in found.items()}
            return recurrence, tensors(sizes, fields.recurrent_dtype(config))
    return None

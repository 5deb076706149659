"""How Hugging Face configurations describe what each layer keeps of the past."""

from typing import Any, Literal

from solver.catalog.base import Profile
from solver.catalog.fields import Names

Recurrence = Literal["gated_delta_net", "mamba2", "short_conv"]
"""Kinds of recurrent layers by the shape of their state."""


class LatentFields(Profile):
    """Multi-head latent attention: one vector and its rotary part for all heads."""

    rank: Names
    rotary: Names


class IndexerFields(Profile):
    """Sparse attention: a key in 8 bits, with its scales, by which tokens are chosen."""

    key: Names
    types: Names
    own: Names
    scale_block: int
    scale_bytes: int


class StateFields(Profile):
    """Field names of each kind of recurrence; a model whose configuration has all of a kind has it."""

    gated_delta_net: dict[str, Names]
    mamba2: dict[str, Names]
    short_conv: dict[str, Names]


class RecurrentDtype(Profile):
    """Models that name the type of their recurrent state, and what holds where they do not."""

    model_types: Names
    field: str
    default: str


class CacheFields(Profile):
    """Field names by fact; the first one present in a configuration wins."""

    source: str
    latent: LatentFields
    indexer: IndexerFields
    shared_layers: Names
    cross_layers: Names
    states: StateFields
    recurrent_dtypes: tuple[RecurrentDtype, ...]

    def recurrent_dtype(self, config: Any) -> str:
        """Return torch's name of the type of a recurrent state, or `model`."""
        for row in self.recurrent_dtypes:
            if getattr(config, "model_type", None) in row.model_types:
                return str(getattr(config, row.field, None) or row.default)
        return "model"

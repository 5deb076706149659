"""How a stack is started, and how much of a device it takes unless it is told."""

from typing import Literal

from pydantic import Field

from solver.catalog.base import PositiveQuantity, Profile, Quantity

ServingFact = Literal[
    "tensor_parallel",
    "expert_parallel",
    "expert_parallel_size",
    "context",
    "max_num_seqs",
    "max_num_batched_tokens",
    "memory_fraction",
    "kv_cache_dtype",
    "kv_block_tokens",
    "trust_remote_code",
]
"""What of a plan a serving command states; `expert_parallel` and `trust_remote_code` are flags without a value."""


class Serve(Profile):
    """The command that serves a checkpoint, in the stack's own words.

    `flags` are written in their order. `model_flag` names the checkpoint's folder; without it the folder follows
    the program. `text_only` serves a multimodal model without its encoder.
    """

    program: tuple[str, ...] = Field(min_length=1)
    model_flag: str | None = None
    flags: dict[ServingFact, str]
    kv_cache_dtypes: dict[Literal["native", "fp8"], str]
    text_only: str | None = None
    source: str = Field(min_length=3)


class Reserve(Profile):
    """What a stack leaves of a device beside its pool of weights and cache, if no share is named.

    The sum of all parts, and no less than `least` on devices with more than `least_above`.
    """

    constant: Quantity
    per_batched_token: Quantity
    least_batched_tokens: Quantity = Field(description="counted even where fewer are batched")
    per_sequence: Quantity
    per_device: Quantity = Field(description="for each device of the group")
    least: Quantity
    least_above: PositiveQuantity
    digits: int = Field(gt=0, description="decimals that the share is rounded to")

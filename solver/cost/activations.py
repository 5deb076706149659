"""The activation peak: it follows from the tokens that the stack batches."""

from collections.abc import Iterable

from solver.intake.inventory import Inventory, LayerFamily
from solver.rules.service import Service, served_dtype_bytes
from solver.units import ceil_div

_ATTENTION_ROLES = frozenset({"q", "k", "v", "qkv", "mla_q_b", "mla_kv_b", "linear_attn_in"})
_EXPERT_ROLES = frozenset({"expert_gate", "expert_up", "expert_gate_up"})
_MLP_ROLES = frozenset({"gate", "up", "gate_up", "shared_gate", "shared_up"})


def _width(families: Iterable[LayerFamily], roles: frozenset[str]) -> int:
    """Return the outputs of one token over one block's layers with these roles, at the widest block."""
    widths: dict[int, int] = {}
    for family in families:
        if family.role in roles:
            for block in family.block_indices:
                widths[block] = widths.get(block, 0) + family.out_features
    return max(widths.values(), default=0)


def activation_bytes(service: Service, inventory: Inventory) -> int:
    """Return the bytes of the widest live tensors of one forward pass, and of the sampler's logits.

    Live at the widest point: the residual and its normed copy (2 x hidden), and either the attention's
    projections with its output, or the MLP's two halves with their product (1.5 x gate and up). Experts repeat a
    token for each expert that it is routed to, with its hidden copy. Logits: one row of the vocabulary for each
    sequence, in the sampler's type.
    """
    tp = service.tensor_parallel
    hidden = inventory.hidden_size
    attention = ceil_div(_width(inventory.layers, _ATTENTION_ROLES), tp) + hidden
    mlp = ceil_div(3 * _width(inventory.layers, _MLP_ROLES), 2 * tp)
    experts = 0
    if inventory.moe is not None:
        width = ceil_div(3 * _width(inventory.layers, _EXPERT_ROLES), 2 * tp)
        experts = inventory.moe.experts_per_token * (width + hidden)
    per_token = (2 * hidden + max(attention, mlp + experts)) * served_dtype_bytes(inventory)
    logits = service.concurrency * inventory.vocab_size * service.backend.activations.logits_dtype_bytes
    return service.batched_tokens * per_token + logits

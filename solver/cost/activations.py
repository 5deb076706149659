"""The activation peak: it follows from the tokens and the sequences that the stack batches."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from solver.catalog.roles import Live, Roles
from solver.intake.inventory import Inventory
from solver.rules.service import Service, served_dtype_bytes
from solver.rules.shards import shard_shape


@dataclass(frozen=True, slots=True)
class ActivationPeak:
    """Bytes on one device, and the two ends between which they may lie."""

    size_bytes: int
    low_bytes: int
    high_bytes: int


@dataclass(frozen=True, slots=True)
class _Widths:
    """Elements of one token on one device: what a part of a block puts out, and what it takes in again."""

    outputs: int = 0
    inputs: int = 0


def _block_widths(service: Service, inventory: Inventory, roles: Roles) -> list[Mapping[Live, _Widths]]:
    """Return the widths of each part of each block."""
    blocks: dict[int, dict[Live, _Widths]] = defaultdict(dict)
    for family in inventory.layers:
        role = roles.named(family.role)
        if role.live is None:
            continue
        inputs, outputs = shard_shape(family, role, service, inventory)
        added = _Widths(inputs=inputs) if role.parallel == "row" else _Widths(outputs=outputs)
        for block in family.block_indices:
            known = blocks[block].get(role.live, _Widths())
            blocks[block][role.live] = _Widths(known.outputs + added.outputs, known.inputs + added.inputs)
    return list(blocks.values())


def _widest(widths: Mapping[Live, _Widths], inventory: Inventory) -> int:
    """Return the elements of one token that are live at the widest point of a block, beside the hidden state."""
    none = _Widths()
    attention, mlp, experts = (widths.get(part, none) for part in ("attention", "mlp", "experts"))
    routed = 0
    if inventory.moe is not None and experts != none:
        hidden = inventory.hidden_size
        routed = inventory.moe.experts_per_token * (max(experts.outputs, hidden) + max(experts.inputs, hidden))
    return max(attention.outputs + attention.inputs, mlp.outputs + mlp.inputs + routed)


def activation_peak(
    service: Service, inventory: Inventory, roles: Roles, *, dequantized_bytes: int = 0
) -> ActivationPeak:
    """Return the most bytes that are live in one pass over a full batch, weights and cache left out.

    A stack profiles itself so: a forward pass over `batched_tokens`, then the sampler on one row of logits for each
    of `batched_sequences`. The two do not add up: of the pass, the hidden states alone outlive it (vLLM 0.33,
    v1/worker/gpu/model_runner.py, profile_run and _dummy_sampler_run).

    Live at the widest point of the pass are the residual with its copies, and either attention (its projections
    and what it hands to the output projection) or the MLP (its two halves and their product). Experts take two
    workspaces for each token and each expert that it is routed to, max(gate and up, hidden) and max(product,
    hidden) wide (fused_moe/experts/triton_moe.py, workspace_shapes), beside a shared expert's MLP.

    The sampler holds the logits in the model's type, their float32 copy, the buffer of top-k and top-p, and all the
    time counters for penalties (v1/worker/gpu/sample): bytes for each entry of the vocabulary in the backend's
    profile. The high end is that of samplers that sort.

    `dequantized_bytes` are those of the largest module that is emulated: a pass holds one at a time in the model's
    own type (vLLM 0.33, fused_moe/experts/ocp_mx_emulation_moe.py and quark/schemes/quark_ocp_mx.py).
    """
    held = service.backend.activations
    dtype_bytes = served_dtype_bytes(inventory)
    widest = max((_widest(widths, inventory) for widths in _block_widths(service, inventory, roles)), default=0)
    entries = service.batched_sequences * inventory.vocab_size
    hidden_bytes = inventory.hidden_size * dtype_bytes

    def peak(copies: float, sampler: float) -> int:
        forward = service.batched_tokens * (_exactly(copies) * hidden_bytes + widest * dtype_bytes) + dequantized_bytes
        sampling = service.batched_tokens * hidden_bytes + entries * _exactly(sampler)
        return int(entries * _exactly(held.sampler_resident.value) + max(forward, sampling))

    copies, sampler = held.hidden_copies, held.sampler_peak
    return ActivationPeak(
        peak(copies.value, sampler.value), peak(copies.low, sampler.low), peak(copies.high, sampler.high)
    )


def _exactly(value: float) -> Fraction:
    """Return a decimal figure of a profile as it is written there."""
    return Fraction(str(value))

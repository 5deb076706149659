"""The service that a plan is made for, and where it runs."""

from dataclasses import dataclass

from solver.catalog.backend import Backend
from solver.catalog.hardware import Hardware
from solver.catalog.roles import Role
from solver.intake.inventory import Inventory, LayerFamily
from solver.units import ceil_div


@dataclass(frozen=True, slots=True)
class Service:
    """Traffic and machine.

    Parameters
    ----------
    context
        Tokens of one sequence, prompt and answer together.
    concurrency
        Sequences in service at the same time.
    tensor_parallel
        Devices that share each layer.
    expert_parallel
        Whether these devices share the routed experts out whole, instead of cutting each.
    keep_mtp
        Whether multi-token-prediction layers of the checkpoint are loaded too.
    max_num_seqs, max_num_batched_tokens
        What the stack is told to batch; None follows from the traffic.

    """

    hardware: Hardware
    backend: Backend
    context: int
    concurrency: int
    tensor_parallel: int
    expert_parallel: bool = False
    keep_mtp: bool = False
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None

    @property
    def batched_sequences(self) -> int:
        """Sequences that the stack batches at most: those in service, unless it is told to hold more."""
        return self.max_num_seqs or self.concurrency

    @property
    def batched_tokens(self) -> int:
        """Tokens that the stack batches at most: those that are there, up to its chunk, and one for each sequence."""
        if self.max_num_batched_tokens is not None:
            return self.max_num_batched_tokens
        there = self.context * self.batched_sequences
        return max(self.batched_sequences, min(there, int(self.backend.activations.max_batched_tokens.value)))

    def layers_per_device(self, family: LayerFamily, role: Role) -> int:
        """Return how many layers of one block the fullest device holds a part of."""
        if self.expert_parallel and role.kind == "experts":
            return ceil_div(family.layers_per_block, self.tensor_parallel)
        return family.layers_per_block

    def kv_heads_per_device(self, kv_heads: int) -> int:
        """Return the KV heads that one device holds; fewer heads than devices are replicated."""
        return max(1, ceil_div(kv_heads, self.tensor_parallel))


def served_dtype_bytes(inventory: Inventory) -> int:
    """Return the bytes of one native element in service: float32 checkpoints are served in 16 bits."""
    return min(2, inventory.dtype_bytes)

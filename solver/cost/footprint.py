"""The bill of a plan: bytes on one device, part by part."""

from dataclasses import dataclass

from solver.catalog.backend import FootprintName
from solver.catalog.roles import Roles
from solver.cost.activations import activation_peak
from solver.cost.kv_cache import cache_bytes
from solver.intake.inventory import Inventory
from solver.rules.service import Service


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes on one device in service; the parts add up to the total, to the last byte."""

    weights_bytes: int
    kv_cache_bytes: int
    activation_bytes: int
    activation_low_bytes: int
    activation_high_bytes: int
    runtime_bytes: int
    runtime_low_bytes: int
    runtime_high_bytes: int

    @property
    def total_bytes(self) -> int:
        """Sum of the four parts."""
        return self.weights_bytes + self.kv_cache_bytes + self.activation_bytes + self.runtime_bytes

    def part(self, name: FootprintName) -> int:
        """Return the bytes of one of the four parts."""
        parts: dict[FootprintName, int] = {
            "weights": self.weights_bytes,
            "kv_cache": self.kv_cache_bytes,
            "activation": self.activation_bytes,
            "runtime": self.runtime_bytes,
        }
        return parts[name]


def footprint(
    weights_bytes: int,
    service: Service,
    inventory: Inventory,
    roles: Roles,
    *,
    kv_fp8: bool,
    dequantized_bytes: int = 0,
) -> Footprint:
    """Return the bill of a plan whose weights take `weights_bytes` on one device.

    `dequantized_bytes` are those that an emulated module takes besides while it computes.

    Runtime is what the stack takes beside torch's own tensors: device context, communication, captured graphs.
    """
    backend = service.backend
    activations = activation_peak(service, inventory, roles, dequantized_bytes=dequantized_bytes)
    non_torch = backend.non_torch["single" if service.tensor_parallel == 1 else "parallel"]
    return Footprint(
        weights_bytes=weights_bytes,
        kv_cache_bytes=cache_bytes(service, inventory, fp8=kv_fp8),
        activation_bytes=activations.size_bytes,
        activation_low_bytes=activations.low_bytes,
        activation_high_bytes=activations.high_bytes,
        runtime_bytes=int(non_torch.value + backend.graphs.value),
        runtime_low_bytes=int(non_torch.low + backend.graphs.low),
        runtime_high_bytes=int(non_torch.high + backend.graphs.high),
    )

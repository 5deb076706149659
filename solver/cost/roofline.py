"""Time of a decoding step and of a prompt, by roofline: a layer takes the longer of moving its bytes and computing.

Estimates. Bandwidth and rates are what devices sustain where that is known, else a stated share of their peak. A
weight-only scheme computes in the model's own type, one with quantized inputs at the rate of the inputs' type (as
amd-quark 0.13's mix_precision prices its GEMMs). An emulated scheme computes in the model's own type, and moves the
dequantized weight besides: it is never faster than native.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from solver.catalog import Catalog
from solver.catalog.roles import Role
from solver.catalog.scheme import Scheme
from solver.cost.kv_cache import cache_need
from solver.cost.weights import dequantized_bytes, layer_bytes, read_share
from solver.intake.inventory import Inventory, LayerFamily
from solver.rules.options import support_of
from solver.rules.service import Service
from solver.units import ceil_div

NATIVE_FORMAT = "bf16"


@dataclass(frozen=True, slots=True)
class Placed:
    """Layers of one family that have the same scheme (None is native); `blocks` counts the blocks that they are in."""

    family: LayerFamily
    scheme: Scheme | None
    blocks: int


@dataclass(frozen=True, slots=True)
class Times:
    """Estimated seconds: of one decoding step of all sequences, and of one whole prompt; None where not known."""

    decode_seconds: float | None
    prefill_seconds: float | None


def _rate(service: Service, number_format: str) -> float | None:
    """Return the FLOP/s of one device for inputs of a format, or None if the device has no figure for it."""
    kind = number_format.partition("_")[0]
    sustained = service.hardware.sustained_flops.get(kind)
    if sustained is not None:
        return sustained.value
    peak = service.hardware.peak_flops.get(kind)
    return None if peak is None else peak.value * service.backend.compute_fraction.value


def _layer_rate(service: Service, scheme: Scheme | None, role: Role, model_type: str) -> tuple[float | None, bool]:
    """Return the rate at which a layer computes, and whether its scheme is emulated."""
    plain = _rate(service, NATIVE_FORMAT) or _rate(service, "fp16")
    if scheme is None:
        return plain, False
    row = support_of(service, scheme, role, model_type)
    if row is None or row.support != "native":
        return plain, True
    if scheme.activation is None or row.speed != "w_and_a":
        return plain, False
    return _rate(service, scheme.activation.format) or plain, False


@dataclass(frozen=True)
class Roofline:
    """Prices layers on one device; `model_type` decides which kernels a stack has."""

    catalog: Catalog
    inventory: Inventory
    service: Service
    model_type: str

    @property
    def _bandwidth(self) -> float | None:
        found = self.service.hardware.bandwidth
        return None if found is None else found.value * self.service.backend.bandwidth_fraction.value

    def _layer_seconds(self, placed: Placed, role: Role, tokens: int, bandwidth: float) -> float:
        """Return the time of one pass of `tokens` tokens through these layers."""
        service, family = self.service, placed.family
        rate, emulated = _layer_rate(service, placed.scheme, role, self.model_type)
        held = service.layers_per_device(family, role) * placed.blocks
        plain = dequantized_bytes(family, role, service, self.inventory)
        one = layer_bytes(family, placed.scheme, role, service, self.inventory) or plain
        if emulated:
            one += 2 * plain
        moved = one * held * float(read_share(role, service, self.inventory, tokens))
        routed = tokens
        if role.decode_share == "active_experts" and self.inventory.moe is not None:
            routed = ceil_div(tokens * self.inventory.moe.experts_per_token, self.inventory.moe.experts)
        shard = plain // max(1, self._dtype_bytes)
        computed = 2 * shard * held * routed
        return max(moved / bandwidth, computed / rate if rate else 0.0)

    @property
    def _dtype_bytes(self) -> int:
        return min(2, self.inventory.dtype_bytes)

    def _pass(self, layers: Iterable[Placed], tokens: Callable[[Role], int], bandwidth: float) -> float:
        total = 0.0
        for placed in layers:
            role = self.catalog.roles.named(placed.family.role)
            if role.decode_share != "never":
                total += self._layer_seconds(placed, role, tokens(role), bandwidth)
        return total

    def _attention_flops(self, tokens: int) -> int:
        """Return the FLOPs of the attention of one sequence: scores and sums over half of a causal square."""
        queries = max(
            (family.out_features for family in self.inventory.layers if family.role in {"q", "mla_q_b"}), default=0
        )
        queries = queries or max((f.out_features // 3 for f in self.inventory.layers if f.role == "qkv"), default=0)
        total = 0
        for group in self.inventory.caches:
            seen = min(tokens, group.window or tokens)
            if group.kind != "state":
                total += group.blocks * 2 * queries * tokens * seen
        return ceil_div(total, self.service.tensor_parallel)

    def times(self, layers: tuple[Placed, ...], *, kv_fp8: bool) -> Times:
        """Return the times of a model whose layers have these schemes."""
        bandwidth = self._bandwidth
        if bandwidth is None:
            return Times(None, None)
        service = self.service
        kv_bytes = cache_need(service, self.inventory, fp8=kv_fp8).payload_bytes
        decode = self._pass(layers, lambda _: service.concurrency, bandwidth) + kv_bytes / bandwidth
        rate = _rate(service, NATIVE_FORMAT) or _rate(service, "fp16")
        if rate is None:
            return Times(decode, None)
        chunk = min(service.context, service.batched_tokens)
        chunks = ceil_div(service.context, chunk)
        whole = self._pass(layers, lambda role: 1 if role.kind == "head" else chunk, bandwidth) * chunks
        return Times(decode, whole + self._attention_flops(service.context) / rate)

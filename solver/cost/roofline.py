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
from solver.cost.weights import dequantized_bytes, held_bytes, read_share
from solver.intake.inventory import Inventory, LayerFamily
from solver.rules.options import support_of
from solver.rules.service import Service
from solver.rules.shards import shard_shape
from solver.units import ceil_div

TICKS_PER_SECOND = 10**12
"""Times that are added up exactly are integer ticks: picoseconds, or bytes where a device's bandwidth is not known."""

_NATIVE_FORMATS = ("bf16", "fp16")
"""Formats of the model's own type, the first that a device has a figure for."""


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


def _native_rate(service: Service) -> float | None:
    return next((rate for name in _NATIVE_FORMATS if (rate := _rate(service, name)) is not None), None)


def _layer_rate(service: Service, scheme: Scheme | None, role: Role, model_type: str) -> tuple[float | None, bool]:
    """Return the rate at which a layer computes, and whether its scheme is emulated."""
    plain = _native_rate(service)
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

    def _moved_bytes(self, placed: Placed, role: Role, tokens: int) -> float:
        """Return the bytes that one pass of `tokens` tokens moves for these layers."""
        service, inventory, family = self.service, self.inventory, placed.family
        _, emulated = _layer_rate(service, placed.scheme, role, self.model_type)
        plain = dequantized_bytes(family, role, service, inventory) * service.layers_per_device(family, role)
        # A tied head has no bytes of its own: the embedding is read in its place. Emulation moves a native copy
        # besides the packed weight, written and read in each step.
        held = held_bytes(family, placed.scheme, role, service, inventory, self.model_type) or plain
        moved = (held + 2 * plain if emulated else held) * placed.blocks
        return moved * float(read_share(role, service, inventory, tokens))

    def _layer_seconds(self, placed: Placed, role: Role, tokens: int, bandwidth: float) -> float:
        """Return the time of one pass of `tokens` tokens through these layers."""
        service, inventory, family = self.service, self.inventory, placed.family
        rate, _ = _layer_rate(service, placed.scheme, role, self.model_type)
        layers = service.layers_per_device(family, role) * placed.blocks
        moved = self._moved_bytes(placed, role, tokens)
        inputs, outputs = shard_shape(family, role, service, inventory)
        computed = 2 * inputs * outputs * layers * self._tokens_of_one(role, tokens)
        return max(moved / bandwidth, computed / rate if rate else 0.0)

    def _tokens_of_one(self, role: Role, tokens: int) -> int:
        """Return the tokens of a pass that one layer sees: one expert sees those that are routed to it."""
        moe = self.inventory.moe
        if role.decode_share != "active_experts" or moe is None:
            return tokens
        return ceil_div(tokens * moe.experts_per_token, moe.experts)

    def _pass(self, layers: Iterable[Placed], tokens: Callable[[Role], int], bandwidth: float) -> float:
        total = 0.0
        for placed in layers:
            role = self.catalog.roles.named(placed.family.role)
            if role.decode_share != "never":
                total += self._layer_seconds(placed, role, tokens(role), bandwidth)
        return total

    def decode_ticks(self, family: LayerFamily, scheme: Scheme | None) -> int:
        """Return the time in which one decoding step of all sequences passes the layers of one block."""
        role = self.catalog.roles.named(family.role)
        if role.decode_share == "never":
            return 0
        placed, bandwidth = Placed(family, scheme, 1), self._bandwidth
        if bandwidth is None:
            return round(self._moved_bytes(placed, role, self.service.concurrency))
        return round(TICKS_PER_SECOND * self._layer_seconds(placed, role, self.service.concurrency, bandwidth))

    def cache_ticks(self, *, kv_fp8: bool) -> int:
        """Return the time in which one decoding step reads the cache."""
        size = cache_need(self.service, self.inventory, fp8=kv_fp8).payload_bytes
        return size if self._bandwidth is None else round(TICKS_PER_SECOND * size / self._bandwidth)

    def _attention_flops(self, tokens: int) -> int:
        """Return the FLOPs on one device of the attention of one sequence: scores and sums over half of a square.

        As wide as what attention hands to its output projection, at the widest block.
        """
        roles = ((family, self.catalog.roles.named(family.role)) for family in self.inventory.layers)
        outputs = (family.in_features for family, role in roles if role.live == "attention" and role.parallel == "row")
        width = max(outputs, default=0)
        seen = sum(
            group.blocks * min(tokens, group.window or tokens) // group.tokens_per_entry
            for group in self.inventory.caches
            if group.kind != "state"
        )
        return ceil_div(2 * width * tokens * seen, self.service.tensor_parallel)

    def times(self, layers: tuple[Placed, ...], *, kv_fp8: bool) -> Times:
        """Return the times of a model whose layers have these schemes."""
        bandwidth = self._bandwidth
        if bandwidth is None:
            return Times(None, None)
        service = self.service
        kv_bytes = cache_need(service, self.inventory, fp8=kv_fp8).payload_bytes
        decode = self._pass(layers, lambda _: service.concurrency, bandwidth) + kv_bytes / bandwidth
        rate = _native_rate(service)
        if rate is None:
            return Times(decode, None)
        chunk = min(service.context, service.batched_tokens)
        chunks = ceil_div(service.context, chunk)
        whole = self._pass(layers, lambda role: 1 if role.kind == "head" else chunk, bandwidth) * chunks
        return Times(decode, whole + self._attention_flops(service.context) / rate)

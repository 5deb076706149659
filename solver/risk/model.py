"""Predicted loss of quality, in nats per token: additive over layers.

    delta_nll = sum over layers  a[layer] * (t2_w * gain_w + k[scheme] * m[role] * t2_a * gain_a)  +  kv term

`t2_w` and `t2_a` are the relative squared errors of quantizing a weight and an input, `a` the sensitivity of the
layer, `k` and `m` what input noise costs over weight noise, the gains what the algorithms save. That it adds up is
measured: the sum of single-layer losses predicts that of 70 mixed plans with a Spearman correlation of 0.999.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from solver.catalog.algorithm import Algorithm
from solver.catalog.roles import Roles
from solver.catalog.scheme import Distribution, Scheme
from solver.catalog.sensitivity import Sensitivity
from solver.intake.inventory import Inventory, LayerFamily

_SENSITIVE_KINDS = frozenset({"dense", "experts"})


@dataclass(frozen=True, slots=True)
class Risk:
    """Predicted loss in nats per token, with its band and where its sensitivities come from."""

    delta_nll: float
    low: float
    high: float
    source: str


def _mixed(errors: Mapping[Distribution, float], mix: Mapping[Distribution, float]) -> float:
    return sum(share * errors[distribution] for distribution, share in mix.items())


@dataclass(frozen=True)
class RiskModel:
    """Sensitivities of one model's layers, from priors by role and depth."""

    prior: Sensitivity
    roles: Roles
    inventory: Inventory
    model_type: str

    def _depth_factor(self, role: str, block: int | None) -> float:
        if block is None:
            return 1.0
        position = (block + 0.5) / self.inventory.blocks
        factor = 1.0
        for rule in self.prior.depth:
            if role in rule.roles and (position < rule.first or position > 1 - rule.last):
                factor *= rule.multiplier
        return factor

    def _share(self, family: LayerFamily, block: int | None) -> float:
        role = self.prior.roles[family.role]
        share = role.weight * self._depth_factor(family.role, block)
        return share / family.layers_per_block if role.per_set else share

    @cached_property
    def _nats_per_share(self) -> float:
        """Scale that makes the sensitivities of all decoder layers sum to the prior's total."""
        total = sum(
            self._share(family, block) * family.layers_per_block
            for family in self.inventory.layers
            if self.roles.named(family.role).kind in _SENSITIVE_KINDS
            for block in family.block_indices or (None,)
        )
        wanted = self.prior.total.value * self.prior.model_types.get(self.model_type, 1.0)
        return wanted / total if total else 0.0

    def sensitivity(self, family: LayerFamily, block: int | None) -> float:
        """Return `a` of one layer: nats per unit of relative squared error."""
        return self._share(family, block) * self._nats_per_share

    def noise(self, scheme: Scheme, role: str, algorithms: Iterable[Algorithm]) -> float:
        """Return the relative squared error that a scheme costs a layer of this role, inputs included."""
        weight = _mixed(scheme.noise.weight, self.prior.weight_mix)
        activation = 0.0
        if scheme.noise.activation is not None:
            scale = self.prior.activation_scale.get(scheme.name, 1.0) * self.prior.roles[role].activation
            activation = scale * _mixed(scheme.noise.activation, self.prior.activation_mix)
        for algorithm in algorithms:
            gain = algorithm.gain.get(scheme.family)
            if gain is not None:
                weight *= gain.weight
                activation *= gain.activation
        return weight + activation

    def kv_risk(self, context: int) -> float:
        """Return the loss of an fp8 KV cache at this context, in nats per token."""
        kv = self.prior.kv
        long = context > kv.long_context_tokens
        return kv.fp8.value * (kv.long_context_multiplier if long else 1.0)

    def banded(self, delta_nll: float) -> Risk:
        """Return a loss with its band."""
        return Risk(delta_nll, delta_nll / self.prior.band, delta_nll * self.prior.band, self.prior.name)

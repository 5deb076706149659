"""Which schemes a layer may have: one small rule for each reason that forbids one."""

from collections.abc import Callable
from dataclasses import dataclass

from solver.catalog.backend import Backend, SupportRow
from solver.catalog.roles import Role
from solver.catalog.scheme import Scheme
from solver.intake.inventory import Inventory, LayerFamily
from solver.rules.refusal import Refusal
from solver.rules.service import Service
from solver.rules.shards import shard_shape


@dataclass(frozen=True, slots=True)
class Case:
    """One scheme for one layer family in one service."""

    family: LayerFamily
    role: Role
    scheme: Scheme
    service: Service
    inventory: Inventory
    model_type: str
    allow_emulated: bool
    floor_bits: float | None = None
    """Bits of a weight at least, where the request sets them for the role."""

    @property
    def backend(self) -> Backend:
        """The stack that will load the plan."""
        return self.service.backend


def support_of(service: Service, scheme: Scheme, role: Role, model_type: str) -> SupportRow | None:
    """Return the backend's verdict for a scheme, layer kind and class of hardware; None is unsupported."""
    kernel_class = service.hardware.kernel_class or "unknown"
    for row in service.backend.support:
        if (
            ("*" in row.schemes or scheme.name in row.schemes)
            and ("*" in row.hardware or kernel_class in row.hardware)
            and role.kind in (*row.kinds, "head")
            and (not row.model_types or model_type in row.model_types)
        ):
            return row
    return None


def support_row(case: Case) -> SupportRow | None:
    """Return the verdict of the case's backend."""
    return support_of(case.service, case.scheme, case.role, case.model_type)


def _exportable(case: Case) -> str | None:
    reason = case.scheme.not_exportable
    return f"Quark cannot write {case.scheme.name}: {reason}" if reason else None


def _fit(case: Case) -> str | None:
    reason = case.scheme.unfit
    return f"{case.scheme.name} is not offered: {reason}" if reason else None


def _measured(case: Case) -> str | None:
    reason = case.scheme.unmeasured
    return f"what {case.scheme.name} takes and costs is not known: {reason}" if reason else None


def _linear_for_quark(case: Case) -> str | None:
    if case.family.quantizable:
        return None
    return f"Quark 0.13 does not see {case.family.name} as linear layers, so it stays native"


def _group_divides(case: Case) -> str | None:
    scheme, family = case.scheme, case.family
    if scheme.packs(family.in_features, family.out_features):
        return None
    if family.in_features % scheme.in_features_multiple:
        found = f"{family.name} has {family.in_features}"
        return f"{scheme.name} needs in_features divisible by {scheme.in_features_multiple}; {found}"
    found = f"{family.name} is {family.out_features} x {family.in_features}"
    return f"{scheme.name} needs a number of weights divisible by {scheme.elements_multiple}; {found}"


def _native_only_role(case: Case) -> str | None:
    if not case.backend.native_only(case.role.name, case.model_type):
        return None
    return f"{case.backend.title} {case.backend.version} loads {case.role.name} layers in the model's own type only"


def _kernel_sentence(case: Case, verdict: str) -> str:
    target = case.service.hardware.kernel_class or case.service.hardware.name
    return (
        f"{case.scheme.name} is {verdict} for {case.role.kind} layers in {case.backend.title} "
        f"{case.backend.version} on {target}"
    )


def _kernel_exists(case: Case) -> str | None:
    row = support_row(case)
    verdict = row.support if row else "unsupported"
    return None if verdict in {"native", "emulated"} else _kernel_sentence(case, verdict)


def _kernel_native(case: Case) -> str | None:
    row = support_row(case)
    if row is None or row.support != "emulated" or case.allow_emulated:
        return None
    return _kernel_sentence(case, "only emulated")


def _shard_divides(case: Case) -> str | None:
    row = support_row(case)
    if row is None:
        return None
    inputs, outputs = shard_shape(case.family, case.role, case.service, case.inventory)
    # A group that straddles two devices has no scale of its own on either.
    inputs_multiple = max(row.in_features_multiple, case.scheme.weight.group_size or 1)
    if inputs % inputs_multiple or outputs % row.out_features_multiple:
        return (
            f"a shard of {case.family.name} is {outputs} x {inputs} at tensor parallelism "
            f"{case.service.tensor_parallel}; {case.backend.title} needs multiples of "
            f"{row.out_features_multiple} x {inputs_multiple} for {case.scheme.name}"
        )
    return None


def _floor_holds(case: Case) -> str | None:
    bits, least = case.scheme.weight.bits, case.floor_bits
    if least is None or bits >= least:
        return None
    return f"{case.scheme.name} has {bits:g} bits of a weight, and {case.role.name} is to have at least {least:g}"


LAYER_RULES: dict[str, Callable[[Case], str | None]] = {
    "scheme-exportable": _exportable,
    "scheme-is-measured": _measured,
    "layer-is-linear": _linear_for_quark,
    "group-divides-in-features": _group_divides,
    "scheme-is-fit": _fit,
    "role-stays-native": _native_only_role,
    "kernel-exists": _kernel_exists,
    "kernel-is-native": _kernel_native,
    "shard-divides": _shard_divides,
    "floor-holds": _floor_holds,
}
"""The checks of all rules on one layer, those of Quark first, by the names of `profiles/rules/`."""


def refusals(case: Case) -> list[Refusal]:
    """Return every rule that forbids this scheme for this layer; none means that it may be chosen unasked."""
    return [Refusal(rule, sentence) for rule, check in LAYER_RULES.items() if (sentence := check(case)) is not None]

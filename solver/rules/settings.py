"""The plan-wide choices and which of them go together, enumerated by python-constraint."""

from collections.abc import Sequence
from dataclasses import dataclass

from constraint import Problem

from solver.catalog import Catalog
from solver.catalog.algorithm import Algorithm
from solver.catalog.backend import Backend
from solver.catalog.template import Template
from solver.intake.inventory import Inventory
from solver.rules.patterns import first_match

KV_FP8 = "fp8"
KV_ROLES = frozenset({"k", "v", "qkv", "mla_kv_a", "mla_kv_b"})


@dataclass(frozen=True, slots=True)
class Settings:
    """One legal row: the algorithms in the order in which Quark applies them, and the KV-cache scheme."""

    algorithms: tuple[Algorithm, ...]
    kv_cache_scheme: str | None

    @property
    def algorithm_names(self) -> tuple[str, ...]:
        """Names of the algorithms."""
        return tuple(algorithm.name for algorithm in self.algorithms)


@dataclass(frozen=True, slots=True)
class SettingsRequest:
    """What the user fixed; None leaves the choice open."""

    algorithms: tuple[str, ...] | None = None
    kv_cache_scheme: str | None = None
    kv_open: bool = True


def kv_patterns_reach_the_cache(template: Template, inventory: Inventory) -> bool:
    """Return whether every KV pattern of the template matches layers that feed the cache, and only such."""
    for pattern in template.kv_layers:
        roles = {
            family.role
            for family in inventory.layers
            for block in family.block_indices[:1] or (None,)
            if first_match((pattern,), family, block)
        }
        if not roles or not roles <= KV_ROLES:
            return False
    return bool(template.kv_layers)


def kv_refusal(template: Template, inventory: Inventory, backend: Backend, kernel_class: str | None) -> str | None:
    """Return why an fp8 KV cache is out for this model and machine, or None."""
    if not kv_patterns_reach_the_cache(template, inventory):
        return f"Quark's template for {template.model_type} names no layers that feed this model's KV cache"
    if "*" not in backend.kv_cache_fp8 and kernel_class not in backend.kv_cache_fp8:
        return f"{backend.title} {backend.version} has no fp8 KV cache on {kernel_class or 'this hardware'}"
    return None


def algorithm_refusal(algorithm: Algorithm, template: Template, families: frozenset[str]) -> str | None:
    """Return why an algorithm is out for this model and these scheme families, or None."""
    if algorithm.name not in template.algorithms:
        return f"Quark 0.13 has no built-in {algorithm.name} configuration for {template.model_type}"
    if not families & set(algorithm.fits):
        return f"no scheme that is allowed here is of a family that {algorithm.name} fits ({', '.join(algorithm.fits)})"
    return None


def _algorithm_domain(
    catalog: Catalog, template: Template, families: frozenset[str], request: SettingsRequest
) -> list[tuple[Algorithm, ...]]:
    if request.algorithms is not None:
        return [tuple(catalog.algorithms.get(name) for name in request.algorithms)]
    offered = [
        (algorithm,)
        for algorithm in catalog.algorithms
        if algorithm.offered and algorithm_refusal(algorithm, template, families) is None
    ]
    return [(), *offered]


def legal_settings(
    catalog: Catalog,
    template: Template,
    inventory: Inventory,
    backend: Backend,
    kernel_class: str | None,
    families: frozenset[str],
    request: SettingsRequest,
) -> list[Settings]:
    """Return all legal rows, the plainest first.

    Parameters
    ----------
    families
        Scheme families that at least one layer may have.
    request
        What the user fixed. A fixed choice is kept even where the table would not offer it: what that costs is
        the caller's to tell.

    """
    problem = Problem()
    algorithms = _algorithm_domain(catalog, template, families, request)
    fp8_legal = kv_refusal(template, inventory, backend, kernel_class) is None
    kv_schemes: Sequence[str | None] = (
        [None, KV_FP8] if request.kv_open and fp8_legal else [None] if request.kv_open else [request.kv_cache_scheme]
    )
    problem.addVariable("algorithms", algorithms)
    problem.addVariable("kv", kv_schemes)

    def leaves_a_scheme(chosen: tuple[Algorithm, ...], _kv: str | None) -> bool:
        broken = {family for algorithm in chosen for family in algorithm.breaks}
        return bool(families - broken) or not families

    problem.addConstraint(leaves_a_scheme, ["algorithms", "kv"])
    rows = [Settings(row["algorithms"], row["kv"]) for row in problem.getSolutions()]
    return sorted(rows, key=lambda row: (len(row.algorithms), row.algorithm_names, row.kv_cache_scheme or ""))

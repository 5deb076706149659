"""The plan-wide choices and which of them go together, enumerated by python-constraint."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal, get_args

from constraint import Problem

from solver.catalog import Catalog
from solver.catalog.algorithm import Algorithm
from solver.catalog.backend import Backend, ExportFormat
from solver.catalog.rule import RuleFact
from solver.catalog.section import Section
from solver.catalog.template import Template
from solver.intake.inventory import Inventory
from solver.rules.patterns import first_match
from solver.rules.refusal import Refusal, standing

KV_FP8 = "fp8"
KV_ROLES = frozenset({"k", "v", "qkv", "mla_kv_a", "mla_kv_b"})


Aspect = Literal["algorithms", "kv", "attention", "export"]
"""What of a row a rule judges: one may insist on some of it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One legal row: the algorithms in the order in which Quark applies them, the KV cache, attention, the export."""

    algorithms: tuple[Algorithm, ...]
    kv_cache_scheme: str | None
    export_format: ExportFormat = "quark"
    attention_scheme: str | None = None

    @property
    def algorithm_names(self) -> tuple[str, ...]:
        """Names of the algorithms."""
        return tuple(algorithm.name for algorithm in self.algorithms)

    @property
    def broken_families(self) -> frozenset[str]:
        """Families of schemes that one of the algorithms crashes on."""
        return frozenset(family for algorithm in self.algorithms for family in algorithm.breaks)


@dataclass(frozen=True, slots=True)
class Target:
    """What settings are for: a model, and the stack and device that serve it.

    Parameters
    ----------
    families
        Scheme families that at least one layer may have.

    """

    template: Template
    inventory: Inventory
    backend: Backend
    kernel_class: str | None
    families: frozenset[str]

    @property
    def exports(self) -> list[ExportFormat]:
        """Formats to write: those that the stack reads, or Quark's own where it reads none."""
        return list(self.backend.loads or ("quark",))


@dataclass(frozen=True, slots=True)
class SettingsRequest:
    """What the user fixed; None leaves the choice open."""

    algorithms: tuple[str, ...] | None = None
    kv_cache_scheme: str | None = None
    kv_open: bool = True
    attention_scheme: str | None = None
    forced: bool = False

    @property
    def insisted(self) -> frozenset[Aspect]:
        """What the user insists on; the stack, and with it the format, is always theirs."""
        asked: dict[Aspect, bool] = {
            "algorithms": self.algorithms is not None,
            "kv": not self.kv_open,
            "attention": self.attention_scheme is not None,
            "export": True,
        }
        return frozenset(aspect for aspect, named in asked.items() if named)


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


def _configured(row: Settings, target: Target) -> str | None:
    bare = [name for name in row.algorithm_names if name not in target.template.algorithms]
    if not bare:
        return None
    return f"Quark 0.13 has no built-in {', '.join(bare)} configuration for {target.template.model_type}"


def _fits(row: Settings, target: Target) -> str | None:
    for algorithm in row.algorithms:
        if not target.families & set(algorithm.fits):
            fitted = ", ".join(algorithm.fits)
            return f"{algorithm.name} is made for {fitted}, and no scheme here is: no gain is to be expected"
    return None


def _runs(row: Settings, target: Target) -> str | None:
    if not target.families or target.families - row.broken_families:
        return None
    return f"{', '.join(row.algorithm_names)} crashes on {', '.join(sorted(target.families))}, all that is allowed here"


def _kv_patterns(row: Settings, target: Target) -> str | None:
    if row.kv_cache_scheme is None or kv_patterns_reach_the_cache(target.template, target.inventory):
        return None
    return f"Quark's template for {target.template.model_type} names no layers that feed this model's KV cache"


def _kv_runs(row: Settings, target: Target) -> str | None:
    backend = target.backend
    if row.kv_cache_scheme is None or {"*", target.kernel_class} & set(backend.kv_cache_fp8):
        return None
    device = target.kernel_class or "this hardware"
    return f"{backend.title} {backend.version} has no {row.kv_cache_scheme} KV cache on {device}"


def attention_refusal(backend: Backend, kernel_class: str | None, attention_scheme: str | None) -> str | None:
    """Return why a stack does not load attention that Quark quantized, or None."""
    if attention_scheme is None or {"*", kernel_class} & set(backend.attention_fp8):
        return None
    return f"{backend.title} {backend.version} does not load {attention_scheme} attention that Quark wrote"


def _attention(row: Settings, target: Target) -> str | None:
    return attention_refusal(target.backend, target.kernel_class, row.attention_scheme)


def _export(row: Settings, target: Target) -> str | None:
    if row.export_format in target.backend.loads:
        return None
    return f"{target.backend.title} {target.backend.version} does not read what Quark writes as {row.export_format}"


@dataclass(frozen=True, slots=True)
class SettingsRule:
    """The check of one rule, and the part of a row that it judges."""

    aspect: Aspect
    check: Callable[[Settings, Target], str | None]


SETTINGS_RULES: dict[str, SettingsRule] = {
    "algorithm-is-configured": SettingsRule("algorithms", _configured),
    "algorithm-fits-a-scheme": SettingsRule("algorithms", _fits),
    "algorithm-runs-with-all-schemes": SettingsRule("algorithms", _runs),
    "kv-patterns-reach-the-cache": SettingsRule("kv", _kv_patterns),
    "kv-cache-runs": SettingsRule("kv", _kv_runs),
    "attention-is-served": SettingsRule("attention", _attention),
    "one-export-format": SettingsRule("export", _export),
}
"""All rules on plan-wide choices, by the names of `profiles/rules/`."""


def settings_refusals(row: Settings, target: Target, aspects: Collection[Aspect] = get_args(Aspect)) -> list[Refusal]:
    """Return every rule that forbids these settings, or some of them; none means that they may be chosen unasked."""
    return [
        Refusal(name, sentence)
        for name, rule in SETTINGS_RULES.items()
        if rule.aspect in aspects and (sentence := rule.check(row, target)) is not None
    ]


def refusals_despite(
    row: Settings, target: Target, insisted: Collection[Aspect], rules: Section[RuleFact], *, forced: bool
) -> list[Refusal]:
    """Return what forbids these settings although the user insists on some of them."""
    return [
        refusal
        for refusal in settings_refusals(row, target)
        if SETTINGS_RULES[refusal.rule].aspect not in insisted or standing([refusal], rules, forced=forced)
    ]


def legal_settings(catalog: Catalog, target: Target, request: SettingsRequest) -> list[Settings]:
    """Return all legal rows, the plainest first.

    What the user fixed is kept even where the table would not offer it, unless a rule stands against that.
    """
    named = request.algorithms
    if named is not None:
        algorithms = [tuple(catalog.algorithms.get(name) for name in named)]
    else:
        algorithms = [(), *((algorithm,) for algorithm in catalog.algorithms if algorithm.offered)]
    problem = Problem()
    problem.addVariable("algorithms", algorithms)
    problem.addVariable("kv", [None, KV_FP8] if request.kv_open else [request.kv_cache_scheme])
    problem.addVariable("attention", [request.attention_scheme])
    problem.addVariable("export", target.exports)

    def is_legal(chosen: tuple[Algorithm, ...], kv: str | None, attention: str | None, export: ExportFormat) -> bool:
        row = Settings(chosen, kv, export, attention)
        return not refusals_despite(row, target, request.insisted, catalog.rules, forced=request.forced)

    problem.addConstraint(is_legal, ["algorithms", "kv", "attention", "export"])
    rows = [Settings(row["algorithms"], row["kv"], row["export"], row["attention"]) for row in problem.getSolutions()]
    return sorted(
        rows,
        key=lambda row: (len(row.algorithms), row.algorithm_names, row.kv_cache_scheme or "", row.export_format),
    )

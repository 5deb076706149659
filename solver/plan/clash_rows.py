"""All rows of settings, legal or not, each with the demands that close it."""

from collections.abc import Iterable, Iterator, Mapping

from solver.catalog.algorithm import Algorithm
from solver.cost.footprint import footprint
from solver.cost.parameters import other_bytes
from solver.cost.weights import kv_scale_bytes, mtp_bytes
from solver.optimize.core import Row
from solver.plan.context import Context
from solver.plan.settings import settings_target
from solver.rules.settings import KV_FP8, Aspect, Settings, refusals_despite


def _rows(context: Context) -> Iterator[Settings]:
    """Yield no algorithm, each that is offered, and those that the user names, with and without a quantized cache."""
    catalog, named = context.catalog, context.request.algorithms
    sets: list[tuple[Algorithm, ...]] = [(), *((algorithm,) for algorithm in catalog.algorithms if algorithm.offered)]
    if named is not None:
        sets.append(tuple(catalog.algorithms.get(name) for name in named))
    export = settings_target(context).exports[0]
    for algorithms in dict.fromkeys(tuple(item.name for item in chosen) for chosen in sets):
        for kv_cache_scheme in (None, KV_FP8):
            yield Settings(tuple(catalog.algorithms.get(name) for name in algorithms), kv_cache_scheme, export)


def _closed_by(context: Context, row: Settings) -> frozenset[str]:
    """Return the rules that refuse a row, those left out that yield to what the user names, and the user's flags."""
    request, catalog = context.request, context.catalog
    named, kv = request.algorithms, row.kv_cache_scheme or "none"
    insisted: set[Aspect] = {"export"}
    if row.algorithm_names == named:
        insisted.add("algorithms")
    if request.kv_cache_scheme == kv:
        insisted.add("kv")
    # Which families are left is the layers' matter, not the table's.
    target = settings_target(context, (scheme.name for scheme in catalog.schemes))
    closed = {r.rule for r in refusals_despite(row, target, insisted, catalog.rules, forced=request.force)}
    if named is not None and row.algorithm_names != named:
        closed.add(f"--algorithm {','.join(named) or 'none'}")
    if request.kv_cache_scheme not in {None, kv}:
        closed.add(f"--kv {request.kv_cache_scheme}")
    return frozenset(closed)


def _fixed_bytes(context: Context, row: Settings, dequantized_bytes: int) -> int:
    """Return the bytes of a row that no layer's scheme changes, as far as the budget bounds them."""
    service, inventory, catalog = context.service, context.inventory, context.catalog
    weights = other_bytes(service, catalog.roles, inventory) + mtp_bytes(service, catalog.roles, inventory)
    if row.kv_cache_scheme is not None:
        kv_scheme = catalog.kv_schemes.get(row.kv_cache_scheme)
        weights += kv_scale_bytes(kv_scheme, context.template.kv_layers, inventory)
    if context.budget.scope == "weights":
        return weights
    kv_fp8 = row.kv_cache_scheme is not None
    roles = catalog.roles
    return footprint(weights, service, inventory, roles, kv_fp8=kv_fp8, dequantized_bytes=dequantized_bytes).total_bytes


def settings_rows(
    context: Context, schemes: Mapping[str, frozenset[str]], dequantized: Iterable[int]
) -> tuple[Row, ...]:
    """Return every row of settings, once for each size that an emulated module may have.

    Parameters
    ----------
    schemes
        Names of schemes by family.
    dequantized
        Bytes of emulated modules, 0 among them.

    """
    sizes = sorted(dequantized)
    return tuple(
        Row(
            size_bytes=_fixed_bytes(context, row, size),
            closed_by=closed,
            broken=frozenset(name for family in row.broken_families for name in schemes.get(family, ())),
            ties=row.kv_cache_scheme is not None,
            dequantized_bytes=size,
        )
        for row in _rows(context)
        for closed in (_closed_by(context, row),)
        for size in sizes
    )

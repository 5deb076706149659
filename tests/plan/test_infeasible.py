"""Requests without an answer: the demands that clash are minimal by enumeration, and what is said to help does."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from solver import api
from solver.catalog import NATIVE, Catalog
from solver.catalog.section import read_yaml
from solver.errors import InfeasibleError, NoAnswerError, Repair
from solver.optimize.core import BUDGET, FUSED, RUNS, SOMETHING, TIED, Clash, Group, Row, minimal_core
from solver.optimize.cpsat import SolverSettings
from solver.plan.clash import find_clash
from solver.plan.context import resolve
from solver.plan.request import PlanRequest
from tests.conftest import Analyse

SMALL = "Qwen/Qwen3-0.6B"
MB = 10**6
DATA_DIR = Path(__file__).parent.parent / "data"

REQUESTS = [
    pytest.param(
        *(item["model"], item["request"], set(item["core"])), marks=pytest.mark.slow if item.get("slow") else []
    )
    for item in read_yaml(DATA_DIR / "infeasible.yaml")
]


def groups_fit(clash: Clash, row: Row, demands: set[str], tied: dict[str, str]) -> tuple[int, int] | None:
    """Return the least bytes, and the least with something quantized, under one choice for the tied layers."""
    least, extra = 0, None
    for group in clash.groups:
        sizes = group_sizes(group, row, demands, tied, clash.native)
        if not sizes:
            return None
        least += group.count * min(sizes.values())
        quantized = [size for names, size in sizes.items() if set(names) != {clash.native}]
        if quantized:
            more = min(quantized) - min(sizes.values())
            extra = more if extra is None else min(extra, more)
    return least, -1 if extra is None else least + extra


def group_sizes(
    group: Group, row: Row, demands: set[str], tied: dict[str, str], native: str
) -> dict[tuple[str, ...], int]:
    """Return the bytes of one group by the schemes of its members."""
    open_choices = []
    for member in group.members:
        choices = [c for c in member.choices if not c.closed_by & demands and c.scheme not in group.too_large(row)]
        if RUNS in demands:
            choices = [c for c in choices if c.scheme not in row.broken]
        if TIED in demands and row.ties and member.tied_by is not None:
            choices = [c for c in choices if c.scheme == tied[member.tied_by]]
        open_choices.append(choices)
    if FUSED in demands:
        common = set.intersection(*({c.scheme for c in choices} for choices in open_choices))
        return {
            (name,): sum(c.size_bytes for choices in open_choices for c in choices if c.scheme == name)
            for name in common
        }
    if not all(open_choices):
        return {}
    smallest = [min(choices, key=lambda c: c.size_bytes) for choices in open_choices]
    best = {tuple(c.scheme for c in smallest): sum(c.size_bytes for c in smallest)}
    for place, choices in enumerate(open_choices):
        others = [c for c in choices if c.scheme != native]
        if others:
            swapped = [*smallest[:place], min(others, key=lambda c: c.size_bytes), *smallest[place + 1 :]]
            best.setdefault(tuple(c.scheme for c in swapped), sum(c.size_bytes for c in swapped))
    return best


def possible(clash: Clash, demands: set[str]) -> bool:
    """Return whether something can be chosen, by going through all rows and all schemes of tied layers."""
    patterns = sorted({m.tied_by for g in clash.groups for m in g.members if m.tied_by is not None})
    schemes = sorted({c.scheme for g in clash.groups for m in g.members for c in m.choices})
    for row in clash.rows:
        if row.closed_by & demands:
            continue
        for names in product(schemes, repeat=len(patterns) if row.ties and TIED in demands else 0):
            found = groups_fit(clash, row, demands, dict(zip(patterns, names, strict=False)))
            if found is None:
                continue
            size = found[1] if SOMETHING in demands else found[0]
            if size >= 0 and (BUDGET not in demands or size + row.size_bytes <= clash.budget_bytes):
                return True
    return False


def applied(request: PlanRequest, repair: Repair) -> PlanRequest:
    """Return the request with a repair, as one would type it."""
    fields: dict[str, Any] = {
        "--budget": lambda: {"budget_bytes": int((repair.value or "").removesuffix("B"))},
        "--context": lambda: {"context": int(repair.value or 0)},
        "--concurrency": lambda: {"concurrency": int(repair.value or 0)},
        "--tp": lambda: {"tensor_parallel": int(repair.value or 0)},
        "--backend": lambda: {"backend": repair.value},
        "--kv": lambda: {"kv_cache_scheme": None if repair.leaves_out else repair.value},
        "--algorithm": lambda: {"algorithms": None},
        "--scheme": lambda: {"scheme": None},
        "--allow-emulated": lambda: {"allow_emulated": True},
        "--force": lambda: {"force": True},
        "--exclude": lambda: {"exclude": tuple(p for p in request.exclude if p != repair.value)},
        "--layer": lambda: {"layers": {p: s for p, s in request.layers.items() if f"{p}={s}" != repair.value}},
        "--pin": lambda: {"pins": {p: s for p, s in request.pins.items() if f"{p}={s}" != repair.value}},
    }[repair.flag]()
    return PlanRequest.model_validate(request.model_dump() | fields)


@pytest.mark.parametrize(("model", "fields", "core"), REQUESTS)
def test_what_clashes_is_minimal_and_what_helps_helps(
    model: str, fields: dict[str, Any], core: set[str], analyse: Analyse, catalog: Catalog
) -> None:
    analysis = analyse(model)
    request = PlanRequest(**{"model": model, "hardware": "mi300x", **fields})
    with pytest.raises(NoAnswerError) as refused:
        api.solve(request, analysis, catalog=catalog)
    error = refused.value
    found = {rule.id for rule in error.rules}
    assert found == core
    assert analysis.inventory is not None
    clash = find_clash(resolve(request, analysis, analysis.inventory, catalog))
    assert not possible(clash, found)
    assert all(possible(clash, found - {name}) for name in found)
    assert error.repairs
    best = error.repairs[0]
    answer = api.solve(applied(request, best), analysis, catalog=catalog)
    safest = min((item.risk.delta_nll for item in answer.alternatives if item.risk), default=None)
    assert safest == pytest.approx(best.delta_nll, rel=1e-4)


@pytest.mark.parametrize("fields", [{}, {"scheme": "mxfp4", "allow_emulated": True}, {"pins": {"down": "mxfp6_e2m3"}}])
def test_a_byte_below_the_least_footprint_has_a_clash(
    fields: dict[str, Any], analyse: Analyse, catalog: Catalog
) -> None:
    analysis = analyse(SMALL)
    request = {"model": SMALL, "hardware": "mi300x", **fields}
    with pytest.raises(InfeasibleError) as refused:
        api.solve(PlanRequest(**request, budget_bytes=1000 * MB), analysis, catalog=catalog)
    least = refused.value.least_footprint_bytes
    assert api.solve(PlanRequest(**request, budget_bytes=least), analysis, catalog=catalog).alternatives
    with pytest.raises(InfeasibleError) as refused:
        api.solve(PlanRequest(**request, budget_bytes=least - 1), analysis, catalog=catalog)
    assert BUDGET in {rule.id for rule in refused.value.rules}


class TestArithmetic:
    @pytest.fixture
    def error(self, analyse: Analyse, catalog: Catalog) -> InfeasibleError:
        request = PlanRequest(model=SMALL, hardware="mi300x", budget_bytes=2500 * MB, concurrency=4)
        with pytest.raises(InfeasibleError) as refused:
            api.solve(request, analyse(SMALL), catalog=catalog)
        return refused.value

    def test_items_add_up_to_the_least_footprint(self, error: InfeasibleError) -> None:
        assert sum(error.items.values()) == error.least_footprint_bytes
        assert next(iter(error.items)) == "KV cache"

    def test_the_document_has_rules_and_repairs(self, error: InfeasibleError) -> None:
        document = error.document()
        assert document["exit_code"] == 1
        assert document["rules"] == [{"id": BUDGET, "sentence": "Everything on a device takes at most 2.50 GB."}]
        assert {"flag", "value", "footprint_bytes", "delta_nll"} <= set(document["repairs"][0])

    @pytest.mark.parametrize(("flag", "field"), [("--context", "context"), ("--concurrency", "concurrency")])
    def test_numbers_are_the_largest_that_give_a_plan(
        self, flag: str, field: str, error: InfeasibleError, analyse: Analyse, catalog: Catalog
    ) -> None:
        value = next(int(repair.value or 0) for repair in error.repairs if repair.flag == flag)
        fields = {"model": SMALL, "hardware": "mi300x", "budget_bytes": 2500 * MB, "concurrency": 4}
        assert api.solve(PlanRequest(**{**fields, field: value}), analyse(SMALL), catalog=catalog).alternatives
        with pytest.raises(InfeasibleError):
            api.solve(PlanRequest(**{**fields, field: value + 1}), analyse(SMALL), catalog=catalog)

    def test_the_budget_is_the_least_that_gives_a_plan(
        self, error: InfeasibleError, analyse: Analyse, catalog: Catalog
    ) -> None:
        assert f"{error.least_footprint_bytes}B" in {r.value for r in error.repairs if r.flag == "--budget"}


def test_where_nothing_clashes_there_is_no_core(analyse: Analyse, catalog: Catalog) -> None:
    analysis = analyse(SMALL)
    assert analysis.inventory is not None
    request = PlanRequest(model=SMALL, hardware="mi300x")
    clash = find_clash(resolve(request, analysis, analysis.inventory, catalog))
    assert minimal_core(clash, SolverSettings()) == ()
    assert clash.native == NATIVE

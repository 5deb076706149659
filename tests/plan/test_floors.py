"""Floors on the bits of a role: kept by every plan, refused by name, and priced when they leave no plan."""

import pytest

from solver.catalog import NATIVE, Catalog
from solver.errors import BadInputError, NoAnswerError
from tests.conftest import Analyse
from tests.plan.test_side_rules import MODELS, planned

SMALL = MODELS[0]


def test_hold_in_every_plan_and_cost_what_they_cost(analyse: Analyse, catalog: Catalog) -> None:
    free = planned(SMALL, analyse, catalog, budget_bytes=9 * 10**9)
    floored = planned(SMALL, analyse, catalog, budget_bytes=9 * 10**9, floors={"down": 8.0})
    bits = {scheme.name: scheme.weight.bits for scheme in catalog.schemes}
    given = {
        scheme
        for item in floored.own
        for (path, _), scheme in floored.schemes(item).items()
        if path.endswith("down_proj")
    }
    assert all(scheme == NATIVE or bits[scheme] >= 8 for scheme in given)
    before = {scheme for item in free.own for (path, _), scheme in free.schemes(item).items() if "down_proj" in path}
    assert any(scheme != NATIVE and bits[scheme] < 8 for scheme in before)
    least = [min(item.risk.delta_nll for item in found.own if item.risk) for found in (free, floored)]
    assert least[0] <= least[1]


def test_under_a_role_that_is_not_there_are_refused(analyse: Analyse, catalog: Catalog) -> None:
    with pytest.raises(BadInputError, match="no layers of role 'experts'"):
        planned(SMALL, analyse, catalog, floors={"experts": 8.0})


def test_refuse_a_pin_below_them_by_name(analyse: Analyse, catalog: Catalog) -> None:
    with pytest.raises(BadInputError, match="rule floor-holds"):
        planned(SMALL, analyse, catalog, pins={"down": "amdfp4"}, floors={"down": 8.0}, backend="none")


def test_that_leave_no_plan_are_among_what_clashes_and_what_to_leave_out(analyse: Analyse, catalog: Catalog) -> None:
    roles = {family.role for family in analyse(SMALL).inventory.layers}
    free = planned(SMALL, analyse, catalog)
    smallest = min(item.footprint.total_bytes for item in free.own if item.footprint)
    with pytest.raises(NoAnswerError) as caught:
        planned(SMALL, analyse, catalog, budget_bytes=smallest, floors=dict.fromkeys(sorted(roles), 8.0))
    assert "floor-holds" in {rule.id for rule in caught.value.rules}

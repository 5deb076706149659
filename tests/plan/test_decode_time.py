"""The time that the optimizer adds up is the one that plans show."""

import pytest

from solver.catalog import Catalog
from solver.cost.roofline import TICKS_PER_SECOND
from solver.optimize.problem import Budget
from solver.plan.alternatives import Pick
from solver.plan.context import resolve
from solver.plan.describe import describe
from solver.plan.request import PlanRequest
from solver.plan.solved import solved
from tests.conftest import Analyse


@pytest.mark.parametrize("concurrency", [1, 64])
@pytest.mark.parametrize("model", ["Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B"])
def test_of_a_point_is_that_of_its_plan(model: str, concurrency: int, analyse: Analyse, catalog: Catalog) -> None:
    analysis = analyse(model)
    assert analysis.inventory is not None
    request = PlanRequest(model=model, hardware="mi300x", budget_bytes=180 * 10**9, concurrency=concurrency)
    context = resolve(request, analysis, analysis.inventory, catalog)
    assert context.budget == Budget(180 * 10**9)
    found = solved(context)
    for point in found.front.points(range(0, len(found.front), max(1, len(found.front) // 5))):
        shown = describe(1, Pick(point, ()), found.choices, context).decode_seconds_per_token
        assert point.decode_ticks / TICKS_PER_SECOND == pytest.approx(shown, rel=1e-5)

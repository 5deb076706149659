"""Plans keep together what an algorithm scales together, where no stack does."""

from typing import Any

import pytest

from solver import api
from solver.catalog import NATIVE, Catalog
from solver.errors import PlannerError
from solver.plan.document import Answer
from solver.plan.expansion import expand
from tests.conftest import Analyse, Solve

MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"
FIELDS: dict[str, Any] = {"backend": "none", "budget_bytes": 135_000_000, "budget_scope": "weights", "time_limit": 3}
GROUPS = (("q", "k", "v"), ("gate", "up"))


def torn(answer: Answer, analyse: Analyse) -> set[tuple[int | None, str]]:
    """Return blocks and groups whose layers differ in some alternative."""
    inventory = analyse(MODEL).inventory
    assert inventory is not None
    found = set()
    for alternative in answer.alternatives:
        schemes: dict[tuple[int | None, str], set[str]] = {}
        for member, scheme in expand(alternative, inventory, ("*k_proj", "*v_proj")).resolved.items():
            for group in GROUPS:
                if member.family.role in group:
                    schemes.setdefault((member.block, group[0]), set()).add(scheme)
        found |= {place for place, given in schemes.items() if len(given) > 1}
    return found


class TestAlgorithmScalesWholeGroups:
    def test_forbids_groups_that_differ(self, solve: Solve, analyse: Analyse) -> None:
        assert torn(solve(MODEL, algorithms=("awq",), kv_cache_scheme="none", **FIELDS), analyse) == set()

    def test_does_not_apply_without_such_an_algorithm(self, solve: Solve, analyse: Analyse) -> None:
        assert torn(solve(MODEL, algorithms=(), kv_cache_scheme="none", **FIELDS), analyse)
        assert torn(solve(MODEL, algorithms=("gptq",), kv_cache_scheme="none", **FIELDS), analyse)

    def test_leaves_a_group_native_that_is_native_in_part(self, solve: Solve, analyse: Analyse) -> None:
        answer = solve(MODEL, algorithms=("awq",), kv_cache_scheme="none", exclude=("*k_proj",), **FIELDS)
        assert torn(answer, analyse) == set()

    def test_allows_a_quantized_cache_where_what_feeds_it_is_quantized(self, solve: Solve, analyse: Analyse) -> None:
        inventory = analyse(MODEL).inventory
        assert inventory is not None
        answer = solve(MODEL, algorithms=("awq",), kv_cache_scheme="fp8", **FIELDS)
        for alternative in answer.alternatives:
            resolved = expand(alternative, inventory, ("*k_proj", "*v_proj")).resolved
            assert NATIVE not in {scheme for member, scheme in resolved.items() if member.family.role in {"k", "v"}}

    @pytest.mark.parametrize("exclude", ["*k_proj", "*self_attn.*"])
    def test_forbids_awq_beside_a_quantized_cache_of_native_layers(self, exclude: str, solve: Solve) -> None:
        fields = {**FIELDS, "budget_bytes": 200_000_000, "kv_cache_scheme": "fp8", "exclude": (exclude,)}
        with pytest.raises(PlannerError, match="algorithm-scales-whole-groups"):
            solve(MODEL, algorithms=("awq",), **fields)
        assert solve(MODEL, algorithms=("gptq",), **fields)

    def test_forbids_pins_within_a_group(self, solve: Solve) -> None:
        with pytest.raises(PlannerError, match="algorithm-scales-whole-groups"):
            solve(MODEL, algorithms=("awq",), kv_cache_scheme="none", pins={"q": "fp8", "k": "ptpc_fp8"}, **FIELDS)

    def test_is_found_by_verify_in_a_plan_that_was_changed(
        self, solve: Solve, catalog: Catalog, analyse: Analyse
    ) -> None:
        answer = solve(MODEL, algorithms=("awq",), kv_cache_scheme="none", **FIELDS)
        plan = api.confirm(api.draft(answer))
        patterns = {"**layers.3.*q_proj": "fp8", **plan.layer_quant_config}
        found = api.verify(plan.model_copy(update={"layer_quant_config": patterns}), quark="no", catalog=catalog)
        said = [item.expected for check in found.checks for item in check.differences]
        assert "rule algorithm-scales-whole-groups" in said

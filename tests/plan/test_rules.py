"""Rules on a plan as a whole: each allows, forbids, has its boundary, and leaves alone what it is not for."""

from collections.abc import Callable
from typing import Any

import pytest

from solver.catalog import Catalog
from solver.errors import BadInputError, InfeasibleError, NoAnswerError
from solver.export.options import ExportOptions
from solver.export.targets import export_plan
from solver.plan.assignment import Assignment
from solver.plan.confirm import confirm, draft
from solver.plan.patterns import to_patterns
from solver.rules.units import Member
from tests.conftest import Analyse, Solve

MODEL = "Qwen/Qwen3-0.6B"
TIED, UNTIED = MODEL, "Qwen/Qwen3-8B"


class TestBudgetHolds:
    def test_at_the_least_footprint_and_not_a_byte_below(self, solve: Solve) -> None:
        with pytest.raises(InfeasibleError) as refused:
            solve(MODEL, budget_bytes=10**9)
        least = refused.value.least_footprint_bytes
        (*_, smallest) = solve(MODEL, budget_bytes=least).alternatives
        assert smallest.footprint is not None
        assert smallest.footprint.total_bytes == least
        with pytest.raises(InfeasibleError):
            solve(MODEL, budget_bytes=least - 1)

    def test_does_not_apply_to_the_cache_where_weights_alone_are_bounded(self, solve: Solve) -> None:
        answer = solve(MODEL, budget_bytes=10**9, budget_scope="weights")
        bills = [item.footprint for item in answer.alternatives]
        assert all(bill is not None and bill.weights_bytes <= 10**9 < bill.total_bytes for bill in bills)


class TestBudgetWithinDevice:
    def test_allows_all_that_a_device_has_and_not_a_byte_more(self, solve: Solve, catalog: Catalog) -> None:
        memory = catalog.hardware.get("mi300x").memory
        assert memory is not None
        assert solve(MODEL, budget_bytes=int(memory.value)).alternatives
        with pytest.raises(BadInputError, match="rule budget-within-device"):
            solve(MODEL, budget_bytes=int(memory.value) + 1)

    def test_does_not_apply_where_the_memory_is_not_known(self, solve: Solve, catalog: Catalog) -> None:
        unknown = next(item.name for item in catalog.hardware if item.memory is None)
        assert solve(MODEL, hardware=unknown, budget_bytes=10**12).alternatives


class TestContextWithinModel:
    def test_allows_the_models_own_limit_and_not_a_token_more(self, solve: Solve) -> None:
        assert solve(MODEL, context=40960).alternatives
        with pytest.raises(BadInputError, match=r"40960 tokens.*rule context-within-model"):
            solve(MODEL, context=40961)

    def test_does_not_apply_unless_a_context_is_named(self, solve: Solve) -> None:
        answer = solve(MODEL)
        assert answer.service is not None
        assert answer.service.context == 8192


class TestSomethingIsQuantized:
    def test_one_layer_is_enough(self, solve: Solve) -> None:
        exclude = ("*self_attn*", "*layers.[1-9]*.mlp*", "*layers.0.mlp.down_proj")
        item = solve(MODEL, exclude=exclude).alternatives[0]
        assert 0 < 1 - item.scheme_shares["native"] < 0.05

    def test_none_is_too_few(self, solve: Solve) -> None:
        with pytest.raises(NoAnswerError, match="rule something-is-quantized"):
            solve(MODEL, exclude=("*",))

    def test_does_not_ask_for_it_where_the_budget_does(self, solve: Solve) -> None:
        # The unquantized model fits: it is no plan all the same.
        assert all(set(item.scheme_shares) != {"native"} for item in solve(MODEL).alternatives)


class TestGlobalSchemeSpoilsNone:
    @pytest.fixture
    def global_scheme(self, analyse: Analyse, catalog: Catalog) -> Callable[[str, str], str]:
        """Return the global scheme of a plan with one scheme for attention and another for the rest."""
        inventory = analyse(MODEL).inventory
        assert inventory is not None

        def chosen(attention: str, rest: str) -> str:
            schemes = {
                Member(family, block): attention if family.role in "qkvo" else rest
                for family in inventory.layers
                for block in family.block_indices
            }
            template = catalog.templates.get("qwen3")
            return to_patterns(
                Assignment(schemes), template, catalog, template.exclude_layers, kv_fp8=False
            ).global_scheme

        return chosen

    @pytest.mark.parametrize("rest", ["fp8", "int8"])
    def test_forbids_nvfp4_beside_what_it_spoils(self, global_scheme: Callable[[str, str], str], rest: str) -> None:
        # The MLP holds most weights: what it has would be global else.
        assert global_scheme(rest, "nvfp4") == rest

    def test_allows_it_alone_and_beside_what_it_does_not_spoil(self, global_scheme: Callable[[str, str], str]) -> None:
        assert global_scheme("nvfp4", "nvfp4") == "nvfp4"
        assert global_scheme("uint4_wo_32", "nvfp4") == "nvfp4"

    def test_does_not_apply_to_other_schemes(self, global_scheme: Callable[[str, str], str]) -> None:
        assert global_scheme("fp8", "int8") == "int8"


class TestTiedHeadAddsBytes:
    def test_is_told_of_a_tied_head_that_is_named(self, solve: Solve) -> None:
        item = solve(TIED, layers={"lm_head": "fp8"}, backend="none").alternatives[0]
        (note,) = [note for note in item.risks if "rule tied-head-adds-bytes" in note.message]
        assert note.severity == "medium"

    def test_the_bytes_are_counted(self, solve: Solve) -> None:
        plain, doubled = (
            solve(TIED, scheme="fp8", layers=layers, backend="none", kv_cache_scheme="none").alternatives[0].footprint
            for layers in ({}, {"lm_head": "fp8"})
        )
        assert plain is not None
        assert doubled is not None
        # fp8 writes a byte for each weight and two scales in bfloat16.
        assert doubled.weights_bytes - plain.weights_bytes == 151936 * 1024 + 4

    def test_does_not_apply_to_a_head_of_its_own(self, solve: Solve) -> None:
        item = solve(UNTIED, layers={"lm_head": "fp8"}, backend="none").alternatives[0]
        assert not any("tied-head" in note.message for note in item.risks)

    def test_does_not_apply_to_a_head_that_stays_native(self, solve: Solve) -> None:
        assert not any("tied-head" in note.message for item in solve(TIED).alternatives for note in item.risks)


class TestTargetPassesOption:
    @pytest.fixture
    def export(self, solve: Solve, catalog: Catalog) -> Callable[..., str]:
        """Export a confirmed plan with some options to a target."""
        plan = confirm(draft(solve(MODEL), None))

        def to(target: str, **options: Any) -> str:
            chosen = ExportOptions(model_dir="/model", **options)
            return export_plan(plan, target, chosen, catalog=catalog, draft=False, file="plan.json")

        return to

    @pytest.mark.parametrize(
        "options", [{"min_kv_scale": 0.5}, {"kv_cache_post_rope": True}, {"attention_dtype": "fp8"}]
    )
    def test_forbids_the_command_line_and_allows_the_script(
        self, options: dict[str, Any], export: Callable[..., str]
    ) -> None:
        with pytest.raises(BadInputError, match=r"rule target-passes-option.*quantize-quark"):
            export("quark-cli", **options)
        assert export("quantize-quark", **options)

    def test_does_not_apply_where_nothing_is_asked(self, export: Callable[..., str]) -> None:
        assert export("quark-cli").startswith("quark-cli")

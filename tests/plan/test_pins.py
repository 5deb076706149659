"""What the user insists on: obeyed where it can work at all, explained, and refused by the name of a rule where not."""

import re

import pytest

from solver.catalog import NATIVE, Catalog
from solver.errors import BadInputError, NoAnswerError, UnknownNameError
from solver.intake.inventory import Inventory
from solver.plan.document import Alternative
from solver.plan.patterns import QuarkPatterns
from solver.rules.units import Member
from tests.conftest import Analyse, Solve

MODEL = "Qwen/Qwen3-0.6B"


def schemes(item: Alternative, inventory: Inventory, role: str) -> set[str]:
    """Return the schemes that the patterns of a plan give the layers of a role."""
    patterns = QuarkPatterns(item.global_scheme, item.exclude_layers, item.layer_quant_config)
    return {
        patterns.scheme_of(Member(family, block))
        for family in inventory.layers
        if family.role == role
        for block in family.block_indices or (None,)
    }


@pytest.fixture
def small(analyse: Analyse) -> Inventory:
    inventory = analyse(MODEL).inventory
    assert inventory is not None
    return inventory


class TestRoles:
    def test_every_layer_of_a_role_has_its_scheme(self, solve: Solve, small: Inventory) -> None:
        for item in solve(MODEL, pins={"down": "int4_wo_128", "o": NATIVE}).alternatives:
            assert schemes(item, small, "down") == {"int4_wo_128"}
            assert schemes(item, small, "o") == {NATIVE}

    def test_a_pattern_goes_before_a_role(self, solve: Solve, small: Inventory) -> None:
        answer = solve(MODEL, pins={"down": "int4_wo_128"}, layers={"*layers.3.mlp.down_proj": "fp8"})
        assert schemes(answer.alternatives[0], small, "down") == {"int4_wo_128", "fp8"}

    def test_experts_are_pinned_as_one(self, solve: Solve, analyse: Analyse) -> None:
        model = "Qwen/Qwen3-30B-A3B"
        inventory = analyse(model).inventory
        assert inventory is not None
        roles = ("expert_gate", "expert_up", "expert_down")
        answer = solve(model, pins=dict.fromkeys(roles, "int4_wo_128"))
        assert {name for role in roles for name in schemes(answer.alternatives[0], inventory, role)} == {"int4_wo_128"}

    def test_a_role_that_no_layer_has_is_answered_with_those_there_are(self, solve: Solve) -> None:
        with pytest.raises(BadInputError, match=r"'expert_up'.*It has q, k, v, o, gate, up, down"):
            solve(MODEL, pins={"expert_up": "fp8"})

    def test_an_unknown_scheme_is_answered_with_the_nearest(self, solve: Solve) -> None:
        with pytest.raises(UnknownNameError, match="ptpc_fp8"):
            solve(MODEL, pins={"down": "ptpcfp"})


class TestOneScheme:
    @pytest.mark.parametrize("name", ["fp8", "int4_wo_128", "uint4_wo_32"])
    def test_is_on_every_layer_that_may_have_it(self, solve: Solve, small: Inventory, name: str) -> None:
        for item in solve(MODEL, scheme=name).alternatives:
            assert (item.global_scheme, item.layer_quant_config) == (name, {})
            assert {kind for role in "qkvo" for kind in schemes(item, small, role)} == {name}
            assert schemes(item, small, "lm_head") == {NATIVE}

    def test_leaves_native_what_cannot_have_it(self, solve: Solve, analyse: Analyse) -> None:
        # Experts of 2880 are no multiple of 128; attention's 4096 and 512 are.
        model = "openai/gpt-oss-20b"
        inventory = analyse(model).inventory
        assert inventory is not None
        item = solve(model, scheme="int4_wo_128", backend="none").alternatives[0]
        assert schemes(item, inventory, "o") == {"int4_wo_128"}
        assert schemes(item, inventory, "q") == {NATIVE}

    @pytest.mark.parametrize(("name", "rule"), [("amdfp4", "kernel-exists"), ("nvfp4", "kernel-is-native")])
    def test_that_no_stack_loads_is_kept_and_explained(self, solve: Solve, name: str, rule: str) -> None:
        item = solve(MODEL, scheme=name).alternatives[0]
        assert item.global_scheme == name
        assert any(note.severity == "high" and f"(rule {rule})" in note.message for note in item.risks)

    def test_yields_to_single_layers(self, solve: Solve, small: Inventory) -> None:
        item = solve(MODEL, scheme="int4_wo_128", layers={"*down_proj": "ptpc_fp8"}).alternatives[0]
        assert schemes(item, small, "down") == {"ptpc_fp8"}
        assert schemes(item, small, "gate") == {"int4_wo_128"}

    @pytest.mark.parametrize("name", ["mx6", "mx9", "bfp16"])
    def test_that_quark_cannot_write_is_refused_even_by_force(self, solve: Solve, name: str) -> None:
        with pytest.raises(BadInputError, match=r"rule scheme-exportable\).*nearest") as refused:
            solve(MODEL, scheme=name, force=True)
        assert refused.value.where == f"--scheme {name}"


class TestForce:
    def test_quark_is_never_forced(self, solve: Solve) -> None:
        with pytest.raises(BadInputError, match="group-divides-in-features"):
            solve("openai/gpt-oss-20b", pins={"q": "int4_wo_128"}, force=True)

    def test_a_shard_that_does_not_divide_becomes_a_risk(self, solve: Solve, small: Inventory) -> None:
        # down_proj takes 3072 inputs: 192 on each of 16 devices, no multiple of 128.
        odd = {"pins": {"down": "int4_wo_128"}, "tensor_parallel": 16}
        with pytest.raises(BadInputError, match=r"rule shard-divides\).*nearest.*int4_wo_32.*--force"):
            solve(MODEL, **odd)
        item = solve(MODEL, **odd, force=True).alternatives[0]
        assert schemes(item, small, "down") == {"int4_wo_128"}
        assert any(note.severity == "high" and "rule shard-divides" in note.message for note in item.risks)

    def test_a_torn_group_becomes_a_risk(self, solve: Solve, small: Inventory) -> None:
        torn = {"*q_proj": "fp8", "*k_proj": "ptpc_fp8"}
        with pytest.raises(NoAnswerError, match="fused-groups-share-scheme") as refused:
            solve(MODEL, layers=torn)
        flags = {f"--layer {pattern}={scheme}" for pattern, scheme in torn.items()}
        assert {rule.id for rule in refused.value.rules} == {"fused-groups-share-scheme", *flags}
        assert {"--layer", "--force"} <= {repair.flag for repair in refused.value.repairs}
        item = solve(MODEL, layers=torn, force=True).alternatives[0]
        assert (schemes(item, small, "q"), schemes(item, small, "k")) == ({"fp8"}, {"ptpc_fp8"})
        assert any(note.severity == "high" and "block 0 qkv_proj and 27 more" in note.message for note in item.risks)

    def test_heads_that_are_not_divided_become_a_risk(self, solve: Solve) -> None:
        with pytest.raises(BadInputError, match=r"rule heads-divide\).*`--tp 2`"):
            solve(MODEL, tensor_parallel=3)
        item = solve(MODEL, tensor_parallel=3, force=True).alternatives[0]
        assert any(note.severity == "high" and "heads-divide" in note.message for note in item.risks)

    def test_a_cache_that_the_device_lacks_becomes_a_risk(self, solve: Solve) -> None:
        with pytest.raises(BadInputError, match="kv-cache-runs"):
            solve(MODEL, hardware="a100_80", kv_cache_scheme="fp8")
        item = solve(MODEL, hardware="a100_80", kv_cache_scheme="fp8", force=True).alternatives[0]
        assert item.kv_cache_scheme == "fp8"
        assert any(note.severity == "high" and "kv-cache-runs" in note.message for note in item.risks)

    def test_changes_nothing_where_nothing_is_refused(self, solve: Solve) -> None:
        plain, forced = solve(MODEL), solve(MODEL, force=True)
        assert plain.alternatives == forced.alternatives


class TestEmulation:
    @staticmethod
    def buffer(item: Alternative) -> float:
        """Return the megabytes of the buffer that a plan's risks name."""
        named = {
            float(found[1])
            for note in item.risks
            if (found := re.search(r"emulates .* buffer of ([\d.]+) MB", note.message))
        }
        return max(named, default=0.0)

    def test_its_buffer_is_that_of_the_largest_module_and_in_the_bill(self, solve: Solve, small: Inventory) -> None:
        native = solve(MODEL, pins={"down": "fp8"}, kv_cache_scheme="none").alternatives[0]
        shapes = {family.role: family.in_features * family.out_features for family in small.layers}
        for role in ("o", "down"):
            item = solve(MODEL, pins={role: "mxfp6_e2m3"}, kv_cache_scheme="none").alternatives[0]
            assert self.buffer(item) == pytest.approx(2 * shapes[role] / 1e6, abs=0.01)
            assert item.footprint is not None
            assert native.footprint is not None
            extra = item.footprint.activation_bytes - native.footprint.activation_bytes
            # The sampler's peak may hide a part of it, never add to it.
            assert 0 <= extra <= 2 * shapes[role]

    def test_a_plan_within_the_budget_holds_its_buffer(self, solve: Solve) -> None:
        budget = 1_900_000_000
        for item in solve(MODEL, allow_emulated=True, budget_bytes=budget).alternatives:
            assert item.footprint is not None
            assert item.footprint.total_bytes <= budget

    def test_more_choice_never_means_more_loss(self, solve: Solve, catalog: Catalog) -> None:
        budget = 1_800_000_000
        plain, emulated = (
            min(
                item.risk.delta_nll
                for item in solve(MODEL, budget_bytes=budget, allow_emulated=on).alternatives
                if item.risk
            )
            for on in (False, True)
        )
        assert emulated <= plain


class TestBetterAlternatives:
    def test_an_insistence_that_is_kept_is_answered_with_the_planners_own(self, solve: Solve) -> None:
        answer = solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9, scheme="amdfp4")
        *asked, own = answer.alternatives
        assert own.name == "planner's own"
        assert "--scheme" in own.reason
        assert own.risk is not None
        assert all(item.risk is not None and own.risk.delta_nll < item.risk.delta_nll for item in asked)
        assert not any("kept as asked" in note.message for note in own.risks)
        assert answer.recommended in {item.id for item in asked}

    def test_it_is_the_one_that_is_recommended_without_the_insistence(self, solve: Solve) -> None:
        question = {"budget_bytes": 12 * 10**9, "layers": {"*down_proj": "mxfp4"}}
        own = solve("Qwen/Qwen3-8B", **question).alternatives[-1]
        free = solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9)
        wanted = next(item for item in free.alternatives if item.id == free.recommended)
        same = ("global_scheme", "layer_quant_config", "exclude_layers", "kv_cache_scheme", "algorithm", "footprint")
        assert all(getattr(own, field) == getattr(wanted, field) for field in same)

    def test_an_insistence_that_no_rule_forbids_is_not_answered(self, solve: Solve) -> None:
        answer = solve(MODEL, scheme="fp8")
        assert not any("planner's own" in item.name for item in answer.alternatives)

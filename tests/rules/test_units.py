"""Units: what the stack fuses is decided together, and what the KV cache ties."""

from solver.catalog import Catalog
from solver.rules.units import partition, tie
from tests.conftest import Analyse


def names(
    model: str, analyse: Analyse, catalog: Catalog, backend: str, exclude: tuple[str, ...] = ()
) -> set[frozenset[str]]:
    inventory = analyse(model).inventory
    assert inventory is not None
    units = partition(inventory, catalog.backends.get(backend), exclude).units
    return {frozenset(member.family.role for member in unit.members) for unit in units}


class TestFusedGroupsShareScheme:
    def test_a_dense_block_has_four_units(self, analyse: Analyse, catalog: Catalog) -> None:
        expected = {frozenset("qkv"), frozenset("o"), frozenset({"gate", "up"}), frozenset({"down"})}
        assert names("Qwen/Qwen3-8B", analyse, catalog, "vllm", ("lm_head",)) == {
            frozenset({"q", "k", "v"}),
            *(expected - {frozenset("qkv")}),
        }

    def test_the_experts_of_a_block_are_one_unit(self, analyse: Analyse, catalog: Catalog) -> None:
        found = names("Qwen/Qwen3-30B-A3B", analyse, catalog, "vllm")
        assert frozenset({"expert_gate", "expert_up", "expert_down"}) in found

    def test_mla_fuses_its_two_down_projections(self, analyse: Analyse, catalog: Catalog) -> None:
        assert frozenset({"mla_q_a", "mla_kv_a"}) in names("deepseek-ai/DeepSeek-V3", analyse, catalog, "vllm")

    def test_without_a_stack_only_experts_are_fused(self, analyse: Analyse, catalog: Catalog) -> None:
        found = names("Qwen/Qwen3-30B-A3B", analyse, catalog, "none")
        assert {frozenset({"q"}), frozenset({"k"}), frozenset({"v"})} <= found

    def test_blocks_are_never_fused(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = analyse("Qwen/Qwen3-8B").inventory
        assert inventory is not None
        units = partition(inventory, catalog.backends.get("vllm"), ("lm_head",)).units
        assert len(units) == 4 * 36
        assert all(len({member.block for member in unit.members}) == 1 for unit in units)

    def test_excluding_a_part_makes_the_whole_group_native(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = analyse("Qwen/Qwen3-8B").inventory
        assert inventory is not None
        parts = partition(inventory, catalog.backends.get("vllm"), ("lm_head", "*layers.3.self_attn.k_proj"))
        native = {(m.family.role, m.block) for m in parts.native if m.block is not None}
        assert native == {("q", 3), ("k", 3), ("v", 3)}
        assert parts.widened == ("block 3 qkv_proj",)

    def test_every_layer_is_in_exactly_one_place(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = analyse("google/gemma-3-27b-it").inventory
        assert inventory is not None
        parts = partition(inventory, catalog.backends.get("vllm"), ("*vision_tower*", "*lm_head"))
        placed = [*parts.native, *(member for unit in parts.units for member in unit.members)]
        assert len(placed) == len(set(placed))
        assert sum(member.layers for member in placed) == sum(family.count for family in inventory.layers)


class TestKvLayersShareScheme:
    def test_layers_that_feed_the_cache_become_one_unit(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = analyse("Qwen/Qwen3-8B").inventory
        assert inventory is not None
        units = partition(inventory, catalog.backends.get("vllm"), ("lm_head",)).units
        tied = tie(units, ("*k_proj", "*v_proj"))
        assert len(tied) == 3 * 36 + 1
        assert {member.family.role for member in tied[0].members} == {"q", "k", "v"}
        assert len(tied[0].members) == 3 * 36

    def test_nothing_is_tied_where_no_pattern_matches(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = analyse("Qwen/Qwen3-8B").inventory
        assert inventory is not None
        units = partition(inventory, catalog.backends.get("vllm"), ("lm_head",)).units
        assert tie(units, ("*kv_b_proj",)) == units

    def test_each_pattern_ties_its_own_where_nothing_fuses_them(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = analyse("Qwen/Qwen3-8B").inventory
        assert inventory is not None
        units = partition(inventory, catalog.backends.get("none"), ("lm_head",)).units
        tied = [unit for unit in tie(units, ("*k_proj", "*v_proj")) if len(unit.members) > 1]
        assert [{member.family.role for member in unit.members} for unit in tied] == [{"v"}, {"k"}]
        assert [len(unit.members) for unit in tied] == [36, 36]

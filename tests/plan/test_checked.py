"""Whatever the request: a plan that is returned satisfies every rule, by a checker with facts of its own."""

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from solver.catalog import Catalog
from solver.errors import PlannerError
from solver.plan.document import Alternative
from tests.conftest import Analyse, Solve
from tests.plan.checker import Checked

MODELS = (
    "Qwen/Qwen3-0.6B",
    "meta-llama/Llama-3.2-1B-Instruct",
    "google/gemma-3-4b-it",
    "Qwen/Qwen3-30B-A3B",
    "openai/gpt-oss-20b",
    "deepseek-ai/DeepSeek-V2-Lite",
    "mistralai/Mixtral-8x7B-v0.1",
    "LiquidAI/LFM2-1.2B",
)
REQUESTS = st.fixed_dictionaries(
    {
        "hardware": st.sampled_from(
            ("mi300x", "mi355x", "mi210", "h100_sxm", "a100_80", "b200", "rtx4090", "rx9070xt")
        ),
        "backend": st.sampled_from((None, "vllm", "sglang", "none")),
        "tensor_parallel": st.sampled_from((1, 1, 2, 4)),
        "context": st.sampled_from((512, 4096)),
        "concurrency": st.sampled_from((1, 16)),
        "kv_cache_scheme": st.sampled_from((None, None, "none", "fp8")),
        "allow_emulated": st.booleans(),
        "share": st.sampled_from((0.2, 0.3, 0.45, 0.7, 1.2)),
        "exclude": st.sampled_from(((), (), ("*layers.0.*",), ("*layers.1.*down_proj",))),
        "algorithms": st.sampled_from((None, None, (), ("gptq",), ("awq",))),
    }
)


def check(model: str, asked: dict[str, object], solve: Solve, analyse: Analyse, catalog: Catalog) -> None:
    """Check every plan that a request is answered with, unless it is kept as asked."""
    inventory = analyse(model).inventory
    assert inventory is not None
    fields = {name: value for name, value in asked.items() if name != "share"}
    memory = catalog.hardware.get(str(asked["hardware"])).memory
    assert memory is not None
    share = float(str(asked["share"]))
    wanted = int(2 * inventory.elements_total * share / int(str(asked["tensor_parallel"]))) + 2 * 10**9
    try:
        answer = solve(model, budget_bytes=min(wanted, int(memory.value)), **fields)
    except PlannerError:
        event("no plan")
        return
    event("plans")
    for item in answer.alternatives:
        if "kept as asked" not in " ".join(note.message for note in item.risks):
            assert Checked(answer, item, inventory, catalog).violations() == [], item.name


DRAWN = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)


@pytest.mark.parametrize("model", MODELS)
@settings(DRAWN, max_examples=4)
@given(asked=REQUESTS)
def test_a_plan_that_is_returned_satisfies_every_rule(
    model: str, asked: dict[str, object], solve: Solve, analyse: Analyse, catalog: Catalog
) -> None:
    check(model, asked, solve, analyse, catalog)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@settings(DRAWN, max_examples=25)
@given(asked=REQUESTS)
def test_so_do_those_of_many_more_requests(
    model: str, asked: dict[str, object], solve: Solve, analyse: Analyse, catalog: Catalog
) -> None:
    check(model, asked, solve, analyse, catalog)


class TestChecker:
    """The checker sees what it is there for: each change below breaks one rule of a plan that had none broken."""

    @pytest.fixture
    def broken(self, solve: Solve, analyse: Analyse, catalog: Catalog) -> "Broken":
        return Broken(solve, analyse, catalog)

    @pytest.mark.parametrize(
        ("model", "change", "rule"),
        [
            ("Qwen/Qwen3-0.6B", {"layer_quant_config": {"*.3.self_attn.q_proj": "int8"}}, "fused-groups-share-scheme"),
            ("Qwen/Qwen3-0.6B", {"exclude_layers": ("lm_head", "*.3.mlp.up_proj")}, "fused-groups-share-scheme"),
            ("Qwen/Qwen3-0.6B", {"exclude_layers": ()}, "role-stays-native"),
            ("Qwen/Qwen3-0.6B", {"exclude_layers": ("*",)}, "something-is-quantized"),
            ("Qwen/Qwen3-0.6B", {"global_scheme": "amdfp4", "layer_quant_config": {}}, "kernel"),
            ("Qwen/Qwen3-0.6B", {"algorithm": "gptq", "global_scheme": "nvfp4"}, "algorithm-runs-with-all-schemes"),
            ("Qwen/Qwen3-30B-A3B", {"layer_quant_config": {"*experts.127.*": "int8"}}, "experts of"),
            ("openai/gpt-oss-20b", {"layer_quant_config": {"*q_proj": "int4_wo_128"}}, "group-divides-in-features"),
        ],
    )
    def test_names_the_broken_rule(self, model: str, change: dict[str, object], rule: str, broken: "Broken") -> None:
        assert any(found.startswith(rule) for found in broken(model, change))

    def test_sees_a_budget_that_does_not_hold(self, broken: "Broken") -> None:
        assert any(found.startswith("budget-holds") for found in broken("Qwen/Qwen3-0.6B", {}, budget_bytes=10**9))

    def test_sees_layers_of_the_cache_that_differ(self, broken: "Broken") -> None:
        change = {"kv_cache_scheme": "fp8", "layer_quant_config": {"*.3.self_attn.*": "int8"}}
        assert any(found.startswith("kv-layers-share-scheme") for found in broken("Qwen/Qwen3-0.6B", change))


class Broken:
    """Checks the first plan for a model with some of its fields changed."""

    def __init__(self, solve: Solve, analyse: Analyse, catalog: Catalog) -> None:
        self._solve, self._analyse, self._catalog = solve, analyse, catalog

    def __call__(self, model: str, change: dict[str, object], *, budget_bytes: int | None = None) -> list[str]:
        answer, inventory = self._solve(model), self._analyse(model).inventory
        assert inventory is not None
        plan: Alternative = answer.alternatives[0]
        assert Checked(answer, plan, inventory, self._catalog).violations() == []
        if budget_bytes is not None:
            assert answer.service is not None
            service = answer.service.model_copy(update={"budget_bytes": budget_bytes})
            answer = answer.model_copy(update={"service": service})
        return Checked(answer, plan.model_copy(update=change), inventory, self._catalog).violations()

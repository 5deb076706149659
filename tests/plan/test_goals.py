"""Goals in words: what is recommended loads and fits, and what Quark's guide says is shown or explained."""

from itertools import product
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from solver import api
from solver.catalog import NATIVE, Catalog
from solver.errors import MissingError, UnknownNameError
from solver.plan.document import Alternative, Answer
from solver.plan.request import PlanRequest
from solver.rules.options import support_of
from tests.conftest import Analyse, Solve
from tests.plan.test_planner import scheme_by_patterns, service_of

BUDGETS = {"Qwen/Qwen3-8B": 12 * 10**9, "meta-llama/Llama-3.2-1B-Instruct": 3 * 10**9}
GOALS = ("accuracy", "balanced", "size", "speed", "cpu", "gguf", "experiment")
MACHINES = ("mi300x", "h100_sxm", "b200", "epyc_turin")
QUESTIONS = [
    pytest.param(
        *question, marks=[] if question[0] != "Qwen/Qwen3-8B" and question[2] == "mi300x" else pytest.mark.slow
    )
    for question in product(BUDGETS, GOALS, MACHINES)
]


def guides(answer: Answer) -> list[Alternative]:
    return [item for item in answer.alternatives if "guide" in item.name.split(", ")]


def recommended(answer: Answer) -> Alternative:
    return next(item for item in answer.alternatives if item.id == answer.recommended)


@pytest.mark.parametrize(("model", "goal", "machine"), QUESTIONS)
def test_what_is_recommended_loads_and_fits_and_the_guide_is_heard(
    model: str, goal: str, machine: str, solve: Solve, analyse: Analyse, catalog: Catalog
) -> None:
    answer = solve(model, goal=goal, hardware=machine, budget_bytes=BUDGETS[model])
    chosen, inventory = recommended(answer), analyse(model).inventory
    assert inventory is not None
    assert chosen.footprint is not None
    assert chosen.footprint.total_bytes <= BUDGETS[model]
    service = service_of(answer, catalog)
    for family in inventory.layers:
        name = scheme_by_patterns(chosen, family.path((family.block_indices or (None,))[0], 0))
        if name != NATIVE:
            role = catalog.roles.named(family.role)
            row = support_of(service, catalog.schemes.get(name), role, answer.model.model_type)
            assert row is not None
            assert row.support == "native"
    assert guides(answer) or any("Quark's guide" in text for text in answer.assumptions)
    assert len(answer.alternatives) <= 7


class TestGuide:
    def test_amdfp4_on_mi300x_is_shown_marked_and_not_recommended(self, solve: Solve) -> None:
        answer = solve("Qwen/Qwen3-8B", goal="accuracy", budget_bytes=12 * 10**9)
        item = next(item for item in guides(answer) if item.global_scheme == "amdfp4")
        assert item.id != answer.recommended
        assert "would not load natively: amdfp4 is unsupported" in item.reason
        assert item.footprint is not None
        assert item.footprint.total_bytes <= 12 * 10**9
        notes = [note for note in item.risks if note.severity == "high"]
        assert any("amdfp4 is unsupported" in note.message and "kernel-exists" in note.message for note in notes)

    def test_so_is_nvfp4_where_a_guide_of_the_users_names_it(self, tmp_path: Path, analyse: Analyse) -> None:
        row = {"says": "a test", "hardware": ["mi300x"], "schemes": ["nvfp4"]}
        YAML().dump({"rows": [row], "source": "a test"}, tmp_path / "guide.yaml")
        request = PlanRequest(model="Qwen/Qwen3-8B", hardware="mi300x", goal="speed", budget_bytes=12 * 10**9)
        answer = api.solve(request, analyse("Qwen/Qwen3-8B"), catalog=Catalog(tmp_path))
        (item,) = guides(answer)
        assert item.global_scheme == "nvfp4"
        assert item.id != answer.recommended
        assert any(note.severity == "high" and "nvfp4 is only emulated" in note.message for note in item.risks)

    def test_what_is_offered_anyhow_gets_the_name_besides(self, solve: Solve) -> None:
        answer = solve("Qwen/Qwen3-8B", goal="accuracy", budget_bytes=12 * 10**9)
        assert "simplest, guide" in {item.name for item in answer.alternatives}

    def test_what_does_not_fit_is_left_out_with_its_size(self, solve: Solve) -> None:
        answer = solve("Qwen/Qwen3-8B", goal="accuracy", budget_bytes=8 * 10**9)
        assert guides(answer) == []
        assert any("fp8 or ptpc_fp8" in text and "11.51 GB" in text for text in answer.assumptions)

    def test_it_is_silent_unless_a_goal_is_named(self, solve: Solve) -> None:
        answer = solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9)
        assert guides(answer) == []
        assert any(text.startswith("goal accuracy") for text in answer.assumptions)

    def test_pins_stand_in_it(self, solve: Solve) -> None:
        layers = {"*down_proj": "fp8"}
        answer = solve("Qwen/Qwen3-8B", goal="speed", budget_bytes=12 * 10**9, layers=layers)
        (item,) = guides(answer)
        assert scheme_by_patterns(item, "model.layers.7.mlp.down_proj") == "fp8"
        assert scheme_by_patterns(item, "model.layers.7.mlp.up_proj") == "amdfp4"


class TestImplied:
    def test_gguf_means_llama_cpp_and_awq_where_quark_configures_it(self, solve: Solve) -> None:
        answer = solve("meta-llama/Llama-3.2-1B-Instruct", goal="gguf", budget_bytes=3 * 10**9)
        assert answer.service is not None
        assert answer.service.backend == "llama_cpp"
        assert {item.algorithm for item in answer.alternatives} == {"awq"}
        for flag in ("--backend", "--algorithm"):
            assert any("which the goal gguf implies" in text and flag in text for text in answer.assumptions)

    def test_what_the_user_names_stands(self, solve: Solve) -> None:
        named = {"backend": "vllm", "budget_bytes": 3 * 10**9}
        answer = solve("meta-llama/Llama-3.2-1B-Instruct", goal="gguf", **named)
        assert answer.service is not None
        assert answer.service.backend == "vllm"
        plain = solve("meta-llama/Llama-3.2-1B-Instruct", goal="gguf", budget_bytes=3 * 10**9, algorithms=())
        assert {item.algorithm for item in plain.alternatives} == {None}

    def test_cpu_means_a_cpu_unless_another_machine_is_named(self, solve: Solve) -> None:
        answer = solve("Qwen/Qwen3-8B", goal="cpu", hardware=None, budget_bytes=12 * 10**9)
        assert answer.service is not None
        assert answer.service.hardware == "epyc_turin"
        guided = next(item for item in answer.alternatives if "guide" in item.name)
        assert guided.global_scheme == "int8"
        # Static int8 inputs cost most of the quality: what is recommended loses less.
        assert guided.risk is not None
        best = recommended(answer).risk
        assert best is not None
        assert best.delta_nll < guided.risk.delta_nll
        named = solve("Qwen/Qwen3-8B", goal="cpu", hardware="mi300x", budget_bytes=12 * 10**9)
        assert named.service is not None
        assert named.service.hardware == "mi300x"
        assert "guide" not in recommended(named).name

    def test_other_goals_imply_no_machine(self, solve: Solve) -> None:
        with pytest.raises(MissingError, match="no hardware"):
            solve("Qwen/Qwen3-8B", goal="size", hardware=None)

    def test_an_unknown_goal_answers_with_the_nearest(self, solve: Solve) -> None:
        with pytest.raises(UnknownNameError) as caught:
            solve("Qwen/Qwen3-8B", goal="acuracy")
        assert "accuracy" in caught.value.nearest

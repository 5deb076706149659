"""What the stack's own reading of patterns asks of plans: decided as one, not native, or told."""

import pytest

from solver.api import solve as solve_request
from solver.catalog import NATIVE, Catalog
from solver.plan.document import Alternative, Answer
from solver.plan.request import PlanRequest
from solver.rules.readers import StackReader, reader_of
from tests.conftest import Analyse, Solve
from tests.plan.reading import scheme_of_path

GRANITE = "ibm-granite/granite-4.0-h-small"
ALONE = ("mamba.in_proj", "shared_mlp.input_linear")
"""Granite's layers that vLLM 0.33 gives the global scheme."""


def schemes(item: Alternative, parent: str, leaves: tuple[str, ...], blocks: int) -> set[str]:
    paths = [f"{parent}.{block}.{leaf}" for block in range(blocks) for leaf in leaves]
    return {scheme_of_path(p, item.exclude_layers, item.layer_quant_config, item.global_scheme) for p in paths}


def told(answer: Answer, word: str) -> list[str]:
    return [note.message for item in answer.alternatives for note in item.risks if word in note.message]


class TestGlobalOnly:
    def test_layers_have_the_global_scheme_or_stay_native(self, solve: Solve) -> None:
        answer = solve(GRANITE, backend="vllm", hardware="mi355x", budget_bytes=30 * 10**9, budget_scope="weights")
        for item in answer.alternatives:
            assert schemes(item, "model.layers", ALONE, 40) in ({item.global_scheme}, {NATIVE})
        assert not told(answer, "reads")

    def test_another_stack_decides_them_one_by_one(self, solve: Solve, catalog: Catalog) -> None:
        reader = reader_of(catalog.backends.get("none"), "granitemoehybrid")
        assert reader == StackReader("none")
        assert reader_of(catalog.backends.get("vllm"), "granitemoehybrid").global_leaves == {"in_proj", "input_linear"}

    def test_a_pin_that_the_stack_reads_otherwise_is_told(self, solve: Solve) -> None:
        pinned = {"*layers.0.mamba.in_proj": "ptpc_fp8", "*layers.1.mamba.in_proj": "fp8"}
        fields = {"backend": "vllm", "hardware": "mi355x", "budget_bytes": 30 * 10**9, "budget_scope": "weights"}
        answer = solve(GRANITE, layers=pinned, **fields)
        assert told(answer, "mamba.in_proj is")


class TestNotKnownToBeExcluded:
    def test_layers_are_not_native_by_choice(self, solve: Solve) -> None:
        # vLLM looks GPT-J's q, k and v up as qkv_proj, and Granite's Mamba layers as mixer.
        answer = solve("EleutherAI/gpt-j-6b", backend="vllm", budget_bytes=11 * 10**9, budget_scope="weights")
        for item in answer.alternatives:
            assert NATIVE not in schemes(item, "transformer.h", ("attn.q_proj", "attn.k_proj", "attn.v_proj"), 28)

    def test_an_exclude_of_the_user_s_is_told(self, solve: Solve) -> None:
        fields = {"backend": "vllm", "budget_bytes": 11 * 10**9, "budget_scope": "weights"}
        answer = solve("EleutherAI/gpt-j-6b", exclude=("*h.0.attn.*",), **fields)
        assert told(answer, "does not know that they are native")


class TestNotLoaded:
    @pytest.mark.parametrize(("backend", "some"), [("vllm", True), ("none", False)])
    def test_experts_under_unknown_names_are_told(self, backend: str, some: bool, solve: Solve) -> None:
        answer = solve("mistralai/Mixtral-8x7B-v0.1", backend=backend, budget_bytes=60 * 10**9)
        assert bool(told(answer, "does not load")) == some


class TestLimit:
    @pytest.mark.parametrize("limit", [pytest.param(1, marks=pytest.mark.slow), 3])
    def test_on_overrides_holds_where_a_stack_wants_one_global_scheme(
        self, limit: int, analyse: Analyse, catalog: Catalog
    ) -> None:
        request = PlanRequest.model_validate(
            {
                "model": GRANITE,
                "hardware": "mi355x",
                "backend": "vllm",
                "budget_bytes": 30 * 10**9,
                "budget_scope": "weights",
                "max_overrides": limit,
            }
        )
        answer = solve_request(request, analyse(GRANITE), catalog=catalog)
        assert all(item.overrides <= limit for item in answer.alternatives)

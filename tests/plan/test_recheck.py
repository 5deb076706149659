"""A sound plan is found sound, and a plan that is changed anywhere is not, with what differs and where."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from solver import api
from solver.catalog import Catalog
from solver.catalog.paths import PROFILES_DIR
from solver.errors import BadInputError, MissingError, PlannerError
from solver.plan.confirm import confirm, draft
from solver.plan.document import Answer, QuantPlan
from solver.plan.recheck import recheck
from solver.plan.verification import Difference, Verification
from tests.conftest import REQUIRED_MODELS, Analyse, Solve

Document = dict[str, Any]
Verify = Callable[[Document], Verification]
SMALL = "Qwen/Qwen3-0.6B"

REQUESTS: list[tuple[str, dict[str, Any]]] = [
    (SMALL, {"goal": "balanced"}),
    (SMALL, {"layers": {"*down_proj": "mxfp4", "lm_head": "fp8"}, "pins": {"o": "native"}}),
    (SMALL, {"layers": {"*layers.3.self_attn.q_proj": "int8"}, "force": True}),
    (SMALL, {"scheme": "amdfp4", "exclude": ("*layers.0.*",)}),
    (SMALL, {"granularity": "role", "max_overrides": 3, "max_schemes": 2, "min_decode_tps": 100.0, "diverse": 1}),
    (SMALL, {"faster": 2, "floors": {"down": 8.0}}),
    (SMALL, {"kv_cache_scheme": "fp8", "backend": "none", "budget_bytes": 2 * 10**9}),
    ("LiquidAI/LFM2-1.2B", {"kv_cache_scheme": "fp8", "scheme": "mxfp4", "force": True}),
    ("google/gemma-3-4b-it", {"layers": {"*self_attn.*": "fp8"}, "calibration": {"seq_len": 1024}}),
    ("deepseek-ai/DeepSeek-V2-Lite", {"tensor_parallel": 2, "expert_parallel": True, "max_num_seqs": 4}),
    ("meta-llama/Meta-Llama-3.1-70B", {"goal": "gguf", "hardware": "epyc_turin", "budget_bytes": 60 * 10**9}),
]
MORE: list[tuple[str, dict[str, Any]]] = [
    (SMALL, {"goal": "experiment", "hardware": "mi355x"}),
    (SMALL, {"allow_emulated": True, "budget_bytes": 2 * 10**9}),
    (SMALL, {"granularity": "block", "backend": "none", "budget_bytes": 2 * 10**9}),
    (SMALL, {"budget_scope": "weights", "budget_bytes": 7 * 10**8, "hardware": "h100_sxm"}),
    ("meta-llama/Llama-3.2-1B-Instruct", {"algorithms": ("gptq",), "backend": "none", "budget_bytes": 2 * 10**9}),
]


def found(verification: Verification) -> list[tuple[str, Difference]]:
    """Return all differences with the names of their checks."""
    return [(check.name, item) for check in verification.checks for item in check.differences]


class TestSoundPlans:
    @pytest.mark.parametrize("model", REQUIRED_MODELS)
    def test_of_real_models_hold(self, model: str, required_answers: dict[str, Answer], catalog: Catalog) -> None:
        answer = required_answers[model]
        for number in {1, answer.alternatives[-1].id}:
            verification = api.verify(draft(answer, number), catalog=catalog, quark="no")
            assert found(verification) == []
            assert verification.holds
            assert [check.name for check in verification.checks if check.verdict != "holds"] == ["quark"]

    @pytest.mark.parametrize(("model", "fields"), REQUESTS, ids=str)
    def test_of_any_request_hold(self, model: str, fields: dict[str, Any], solve: Solve, catalog: Catalog) -> None:
        assert found(api.verify(draft(solve(model, **fields)), catalog=catalog, quark="no")) == []

    @pytest.mark.slow
    @pytest.mark.parametrize(("model", "fields"), [*REQUESTS, *MORE], ids=str)
    def test_of_any_request_hold_whichever_is_chosen(
        self, model: str, fields: dict[str, Any], solve: Solve, catalog: Catalog
    ) -> None:
        answer = solve(model, **fields)
        for alternative in answer.alternatives:
            assert found(api.verify(draft(answer, alternative.id), catalog=catalog, quark="no")) == []

    def test_say_how_much_was_compared(self, solve: Solve, catalog: Catalog) -> None:
        verification = api.verify(draft(solve(SMALL)), catalog=catalog, quark="no")
        compared = {check.name: check.compared for check in verification.checks}
        # 28 blocks of 7 linears, and the head.
        assert compared["patterns"].startswith("197 layers")
        assert compared["alternatives"].startswith(f"{len(solve(SMALL).alternatives) - 1} others")


@pytest.fixture(scope="session")
def mixed(solve: Solve) -> Document:
    """Return a plan with an fp8 cache, layer patterns of several schemes, and more than one exclude."""
    answer = solve(SMALL, kv_cache_scheme="fp8", backend="none", budget_bytes=2 * 10**9, exclude=("*layers.0.mlp.*",))
    plan = next(
        plan
        for plan in (confirm(draft(answer, item.id)) for item in answer.alternatives)
        if len(set(plan.layer_quant_config.values())) > 1
    )
    assert "*v_proj" in plan.layer_quant_config
    document: Document = json.loads(plan.model_dump_json())
    return document


@pytest.fixture
def verify(tmp_path: Path, catalog: Catalog) -> Verify:
    """Return what verifies a document as it lies on disk."""

    def read(document: Document) -> Verification:
        path = tmp_path / "quant_plan.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return api.verify(path, catalog=catalog, quark="no")

    return read


def _changed(document: Document, change: Callable[[Document], Any]) -> Document:
    """Return a copy of a plan with a change in it and in the alternative that it chose: nothing contradicts it."""
    changed = copy.deepcopy(document)
    change(changed)
    (chosen,) = [item for item in changed["alternatives"] if item["id"] == changed["chosen"]]
    chosen.update({name: changed[name] for name in chosen if name in changed})
    return changed


def _reorder(plan: Document) -> None:
    """Put the last entry first, so that what was narrow comes after what is broad."""
    entries = list(plan["layer_quant_config"].items())
    plan["layer_quant_config"] = dict([entries[-1], *entries[:-1]])


def _drop_cache_entries(plan: Document) -> None:
    for pattern in ("*k_proj", "*v_proj"):
        plan["layer_quant_config"].pop(pattern, None)


class TestChangedPlans:
    """Each change is made to the plan and to the alternative that it chose, so that only recomputing tells."""

    def test_hold_before_they_are_changed(self, mixed: Document, verify: Verify) -> None:
        assert verify(mixed).holds
        assert verify(_changed(mixed, lambda plan: None)).holds

    def test_in_one_byte_are_told_to_the_byte(self, mixed: Document, verify: Verify) -> None:
        for field in ("weights_bytes", "kv_cache_bytes", "activation_bytes", "runtime_bytes", "total_bytes"):
            right = mixed["footprint"][field]
            changed = _changed(
                mixed, lambda plan, field=field, right=right: plan["footprint"].update({field: right + 1})
            )
            assert found(verify(changed)) == [
                ("bytes", Difference(where=f"footprint.{field}", expected=f"{right:,}", found=f"{right + 1:,}"))
            ]

    def test_in_their_risk_are_told(self, mixed: Document, verify: Verify) -> None:
        changed = _changed(mixed, lambda plan: plan["risk"].update(delta_nll=plan["risk"]["delta_nll"] * 1.0001))
        ((check, difference),) = found(verify(changed))
        assert (check, difference.where) == ("risk", "risk.delta_nll")
        assert float(difference.expected) == mixed["risk"]["delta_nll"]

    def test_in_a_time_are_told(self, mixed: Document, verify: Verify) -> None:
        changed = _changed(mixed, lambda plan: plan.update(decode_seconds_per_token=1e-6))
        assert [(check, item.where) for check, item in found(verify(changed))] == [("time", "decode_seconds_per_token")]

    @pytest.mark.parametrize(
        ("where", "change"),
        [
            ("model.config_sha256", lambda plan: plan["model"].update(config_sha256="0" * 64)),
            ("model.analysis_ref", lambda plan: plan["model"].update(analysis_ref="config-sha256:" + "0" * 64)),
            ("provenance.profiles_sha256", lambda plan: plan["provenance"].update(profiles_sha256="0" * 16)),
        ],
    )
    def test_in_a_hash_are_told(
        self, where: str, change: Callable[[Document], None], mixed: Document, verify: Verify
    ) -> None:
        ((check, difference),) = found(verify(_changed(mixed, change)))
        assert (check, difference.where) == ("hashes", where)
        assert "000" in difference.found

    def test_in_a_floor_under_a_role_are_told(self, mixed: Document, verify: Verify) -> None:
        changed = _changed(mixed, lambda plan: plan["request"].update(floors={"up": 15.5}))
        broken = [item for check, item in found(verify(changed)) if check == "rules"]
        assert {item.expected for item in broken} == {"rule floor-holds"}
        assert all("up is to have at least 15.5" in item.found for item in broken)

    def test_without_one_pattern_are_told(self, mixed: Document, verify: Verify) -> None:
        for pattern in mixed["layer_quant_config"]:
            checks = {
                name for name, _ in found(verify(_changed(mixed, lambda p, x=pattern: p["layer_quant_config"].pop(x))))
            }
            assert checks, pattern
            assert checks & {"patterns", "rules"}, pattern

    def test_without_an_exclude_are_told_by_layer(self, mixed: Document, verify: Verify) -> None:
        told = found(verify(_changed(mixed, lambda plan: plan["exclude_layers"].remove("lm_head"))))
        assert ("patterns", "lm_head", "native (template excludes lm_head)") in {
            (check, item.where, item.expected) for check, item in told
        }
        told = found(verify(_changed(mixed, lambda plan: plan["exclude_layers"].remove("*layers.0.mlp.*"))))
        assert ("rules", "model.layers.0.mlp.down_proj", "native (--exclude *layers.0.mlp.*)") in {
            (check, item.where, item.expected) for check, item in told
        }

    def test_in_a_scheme_are_told(self, mixed: Document, verify: Verify) -> None:
        def change(plan: Document) -> None:
            plan["global_scheme"] = "int8" if plan["global_scheme"] != "int8" else "fp8"

        wheres = {item.where for _, item in found(verify(_changed(mixed, change)))}
        assert {"footprint.weights_bytes", "risk.delta_nll"} <= wheres
        assert any(where.startswith("scheme_shares") for where in wheres)

    def test_in_the_order_of_their_patterns_are_told(self, mixed: Document, verify: Verify) -> None:
        broad = copy.deepcopy(mixed)
        # A last pattern that matches everything decides nothing yet, and everything as the first.
        broad["layer_quant_config"]["*"] = broad["global_scheme"]
        changed = _changed(broad, _reorder)
        assert {"patterns", "bytes", "risk"} <= {check for check, _ in found(verify(changed))}

    def test_without_the_entries_of_the_cache_are_told_what_quark_would_do(
        self, mixed: Document, verify: Verify
    ) -> None:
        told = found(verify(_changed(mixed, _drop_cache_entries)))
        assert {check for check, _ in told} & {"rules", "patterns"}

    def test_with_a_pattern_for_one_layer_of_the_cache_are_told_the_rule(self, mixed: Document, verify: Verify) -> None:
        def change(plan: Document) -> None:
            plan["layer_quant_config"] = {"*layers.3.self_attn.k_proj": "int8", **plan["layer_quant_config"]}

        told = found(verify(_changed(mixed, change)))
        named = [item for check, item in told if check == "rules" and item.expected == "rule kv-layers-share-scheme"]
        assert named[0].where == "model.layers.3.self_attn.k_proj"
        assert "its patterns say int8" in named[0].found

    def test_with_a_pattern_that_matches_nothing_are_told(self, mixed: Document, verify: Verify) -> None:
        told = found(verify(_changed(mixed, lambda plan: plan["layer_quant_config"].update({"*nothing": "fp8"}))))
        assert ("patterns", "layer_quant_config *nothing") in {(check, item.where) for check, item in told}

    def test_with_experts_of_one_block_apart_are_told(self, solve: Solve, verify: Verify) -> None:
        plan = json.loads(draft(solve("Qwen/Qwen3-30B-A3B", budget_bytes=24 * 10**9)).model_dump_json())
        entries = {"*layers.5.mlp.experts.7.*": "int8", **plan["layer_quant_config"]}
        told = found(verify(_changed(plan, lambda plan: plan.update(layer_quant_config=entries))))
        apart = {item.where for _, item in told if item.expected == "one scheme for all experts"}
        assert apart == {f"model.layers.5.mlp.experts.{{expert}}.{leaf}_proj" for leaf in ("gate", "up", "down")}

    def test_in_the_plan_alone_are_told_by_the_choice(self, mixed: Document, verify: Verify) -> None:
        changed = copy.deepcopy(mixed)
        _reorder(changed)
        assert any(check == "choice" and "entry 1" in item.where for check, item in found(verify(changed)))

    def test_in_a_type_break_the_schema(self, mixed: Document, verify: Verify) -> None:
        changed = copy.deepcopy(mixed)
        changed["footprint"]["total_bytes"] = str(changed["footprint"]["total_bytes"])
        ((check, item),) = found(verify(changed))
        assert (check, item.where) == ("schema", "$.footprint.total_bytes")
        assert "is not of type 'integer'" in item.found

    def test_in_another_alternative_are_told_by_its_number(self, mixed: Document, verify: Verify) -> None:
        changed = copy.deepcopy(mixed)
        other = next(item for item in changed["alternatives"] if item["id"] != changed["chosen"])
        other["footprint"]["weights_bytes"] -= 1
        ((check, item),) = found(verify(changed))
        assert (check, item.where) == ("alternatives", f"alternative {other['id']}: footprint.weights_bytes")


def _leaves(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else None
    )
    if items is None:
        yield path
    else:
        for name, value in items:
            yield from _leaves(value, (*path, name))


_OTHER: dict[type, Callable[[Any], Any]] = {
    bool: lambda value: not value,
    int: lambda value: value + 1,
    float: lambda value: value * 1.001 or 0.5,
    str: lambda value: f"{value}x",
    type(None): lambda value: "fp8",
}
_FREE = {
    "requires_confirmation",
    "rejected",
    "tool",
    "tool_version",
    "ortools_version",
    "quark_version",
    "transformers_version",
    "id",
    "name",
    "reason",
    "objective",
    "assumptions",
    "model_path",
    "model",
    "force",
    "allow_emulated",
    "faster",
    "diverse",
}
"""What may be otherwise in a plan that holds: who made it, how plans are called, what a request allows and gets not."""


@pytest.mark.slow
def test_there_is_no_other_place_where_a_change_goes_unseen(mixed: Document, catalog: Catalog) -> None:
    seen = 0
    for path in _leaves(mixed):
        changed = copy.deepcopy(mixed)
        place = changed
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = _OTHER[type(place[path[-1]])](place[path[-1]])
        names = {step for step in path if isinstance(step, str)}
        if names & _FREE:
            continue
        try:
            holds = api.verify(QuantPlan.model_validate(changed), catalog=catalog, quark="no").holds
        except (PlannerError, ValueError):
            holds = False
        assert not holds, path
        seen += 1
    assert seen > 150


class TestTheModel:
    def test_is_read_from_the_analysis_that_was_planned_from(
        self, tmp_path: Path, analyse: Analyse, catalog: Catalog, solve: Solve
    ) -> None:
        path = tmp_path / "model_analysis.json"
        path.write_text(json.dumps(analyse(SMALL).document()), encoding="utf-8")
        answer = solve(SMALL)
        request = answer.request | {"model": str(path)}
        plan = draft(answer.model_copy(update={"request": request}))
        verification = api.verify(plan, catalog=catalog, quark="no")
        assert verification.holds
        assert verification.analysed == str(path)
        assert "analysis" in {check.name for check in verification.checks}

    def test_whose_analysis_was_changed_is_told(
        self, tmp_path: Path, analyse: Analyse, catalog: Catalog, solve: Solve
    ) -> None:
        document = analyse(SMALL).document()
        document["inventory"]["layers"][0]["out_features"] *= 2
        path = tmp_path / "model_analysis.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        told = found(api.verify(draft(solve(SMALL)), model=str(path), catalog=catalog, quark="no"))
        assert ("analysis", "inventory.layers[1].out_features") in {(check, item.where) for check, item in told}
        assert "bytes" in {check for check, _ in told}

    def test_that_is_another_is_told(self, catalog: Catalog, solve: Solve) -> None:
        told = found(api.verify(draft(solve(SMALL)), model="Qwen/Qwen3-4B", catalog=catalog, quark="no"))
        assert {"hashes", "model", "bytes"} <= {check for check, _ in told}

    def test_whose_layers_are_not_known_cannot_be_verified(self, catalog: Catalog, solve: Solve) -> None:
        plan = draft(solve(SMALL))
        nowhere = plan.model.model_copy(update={"model_path": "/nowhere/config.json"})
        lost = plan.model_copy(update={"model": nowhere, "request": plan.request | {"model": "/nowhere/config.json"}})
        with pytest.raises((BadInputError, MissingError), match="no such file"):
            api.verify(lost, catalog=catalog, quark="no")


def test_a_plan_is_not_that_of_other_profiles(tmp_path: Path, solve: Solve, analyse: Analyse) -> None:
    (tmp_path / "schemes").mkdir()
    bundled = (PROFILES_DIR / "schemes" / "fp8.yaml").read_text(encoding="utf-8")
    (tmp_path / "schemes" / "fp8.yaml").write_text(bundled.replace("0.0007", "0.0008"), encoding="utf-8")
    plan = draft(solve(SMALL, scheme="fp8"))
    told = {
        (check.name, item.where)
        for check in recheck(plan, analyse(SMALL), Catalog(tmp_path)).checks
        for item in check.differences
    }
    assert {("hashes", "provenance.profiles_sha256"), ("risk", "risk.delta_nll")} <= told

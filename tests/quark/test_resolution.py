"""What Quark itself resolves for every layer of a model is what the plan says."""

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solver.catalog import NATIVE, Catalog
from solver.catalog.template import Template
from solver.export.options import ExportOptions
from solver.export.targets import export_plan
from solver.intake.inventory import Inventory
from solver.plan.assignment import Assignment
from solver.plan.confirm import confirm, draft
from solver.plan.context import template_of
from solver.plan.document import Alternative, Answer, QuantPlan
from solver.plan.patterns import to_patterns
from solver.rules.units import partition, tie
from tests.conftest import REQUIRED_MODELS, Analyse
from tests.quark.conftest import SolveTiny, Tiny, TinyModel
from tests.quark.real import (
    config_of,
    config_of_patterns,
    config_of_script,
    differences,
    linears,
    planned,
    resolve,
)
from tests.quark.tiny import TEMPLATED, UNTEMPLATED

pytestmark = pytest.mark.usefixtures("quark")

KV_ROLES = {"k", "v", "qkv", "mla_kv_b"}
WITH_FP8_CACHE = (
    "llama",
    "qwen3",
    "phi3",
    "gptj",
    "gemma3_text",
    "gemma3",
    "mixtral",
    "qwen3_moe",
    "gpt_oss",
    "deepseek_v2",
    "deepseek_v3",
    "lfm2",
    "llama4",
    "qwen3_5",
)


def kv_layers(inventory: Inventory) -> set[str]:
    """Return the layers that feed the KV cache, by what they do and not by Quark's patterns."""
    return {path for family in inventory.layers if family.role in KV_ROLES for path in family.paths()}


def check(small: TinyModel, plan: Alternative | QuantPlan, config: Any = None) -> None:
    """Check that Quark does to every module what the plan says, and nothing to any other."""
    config = config_of(plan, small.analysis.model.model_type) if config is None else config
    resolved = resolve(small.model, config)
    assert differences(planned(plan, linears(small.model)), resolved) == {}
    assert resolved.others == set()
    assert resolved.outputs == (kv_layers(small.inventory) if plan.kv_cache_scheme else set())


def check_all(small: TinyModel, answer: Answer) -> None:
    """Check every alternative of an answer."""
    for alternative in answer.alternatives:
        check(small, alternative)


class TestLayerNames:
    @pytest.mark.parametrize("name", [*TEMPLATED, *UNTEMPLATED])
    def test_the_inventory_names_exactly_the_linears_that_quark_replaces(self, tiny: Tiny, name: str) -> None:
        small = tiny(name)
        named = {path for family in small.inventory.layers if family.quantizable for path in family.paths()}
        assert named == linears(small.model)

    @pytest.mark.parametrize("name", TEMPLATED)
    def test_the_template_excludes_what_only_derives_from_a_linear(self, tiny: Tiny, name: str) -> None:
        import torch

        small = tiny(name)
        every = {path for path, module in small.model.named_modules() if isinstance(module, torch.nn.Linear)}
        excludes = small.analysis.quantization_targets.exclude_defaults
        open_paths = {path for path in every if not any(fnmatchcase(path, pattern) for pattern in excludes)}
        assert open_paths <= linears(small.model)


@pytest.fixture
def known(llm_template: Any, catalog: Catalog, tiny: Tiny) -> Any:
    """Return the template of a small model; Quark is told those that it lacks, as the exported script tells them."""

    def find(name: str) -> Template:
        template = template_of(tiny(name).analysis, catalog)
        if template.model_type not in llm_template.list_available():
            llm_template.register_template(
                llm_template(
                    model_type=template.model_type,
                    kv_layers_name=list(template.kv_layers),
                    q_layer_name=list(template.q_layers),
                    exclude_layers_name=list(template.exclude_layers),
                )
            )
        return template

    return find


class TestAnyAssignment:
    @pytest.mark.parametrize("name", [*TEMPLATED, *UNTEMPLATED])
    @given(data=st.data())
    @settings(
        max_examples=4,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    def test_is_what_quark_resolves(
        self, name: str, data: st.DataObject, tiny: Tiny, known: Any, catalog: Catalog
    ) -> None:
        self.check(name, data, tiny, known, catalog)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", [*TEMPLATED, *UNTEMPLATED])
    @given(data=st.data())
    @settings(
        max_examples=15,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    def test_is_what_quark_resolves_in_more_examples(
        self, name: str, data: st.DataObject, tiny: Tiny, known: Any, catalog: Catalog
    ) -> None:
        self.check(name, data, tiny, known, catalog)

    @staticmethod
    def check(name: str, data: st.DataObject, tiny: Tiny, known: Any, catalog: Catalog) -> None:
        """Check a drawn assignment: Quark gives every linear its scheme, single experts too."""
        small, template = tiny(name), known(name)
        usable = [scheme.name for scheme in catalog.schemes if scheme.usable]
        pool = [NATIVE, *data.draw(st.lists(st.sampled_from(usable), min_size=1, max_size=4, unique=True))]
        kv_fp8 = data.draw(st.booleans())
        backend = catalog.backends.get(data.draw(st.sampled_from(["vllm", "none"])))
        parts = partition(small.inventory, backend, template.exclude_layers)
        units = tie(parts.units, template.kv_layers) if kv_fp8 else parts.units
        schemes = dict.fromkeys(parts.native, NATIVE)
        for unit in units:
            schemes |= dict.fromkeys(unit.members, data.draw(st.sampled_from(pool)))
        assignment = Assignment(schemes)
        if not assignment.quantized_elements_by_scheme:
            return
        patterns = to_patterns(
            assignment,
            template,
            catalog,
            template.exclude_layers,
            kv_fp8=kv_fp8,
            convolutions=small.inventory.convolutions,
        )
        config = config_of_patterns(patterns, template.model_type, kv_cache_scheme="fp8" if kv_fp8 else None)
        resolved = resolve(small.model, config)
        expected = {
            member.family.path(member.block, expert): scheme
            for member, scheme in schemes.items()
            for expert in (range(member.family.experts) if member.family.experts else (None,))
        }
        assert differences({path: expected[path] for path in linears(small.model)}, resolved) == {}
        assert resolved.others == set()


class TestSolvedPlans:
    @pytest.mark.parametrize("share", [0.05, 0.5])
    @pytest.mark.parametrize("name", TEMPLATED)
    def test_are_what_quark_resolves(self, name: str, share: float, tiny: Tiny, solve_tiny: SolveTiny) -> None:
        check_all(tiny(name), solve_tiny(name, share=share))

    @pytest.mark.parametrize("name", TEMPLATED)
    def test_of_several_schemes_are_what_quark_resolves(self, name: str, tiny: Tiny, solve_tiny: SolveTiny) -> None:
        small = tiny(name)
        answer = solve_tiny(name, share=0.1, backend="none")
        check_all(small, answer)
        assert any(
            len(set(planned(item, linears(small.model)).values()) - {NATIVE}) > 1 for item in answer.alternatives
        )

    @pytest.mark.parametrize("name", WITH_FP8_CACHE)
    def test_with_an_fp8_cache_are_what_quark_resolves(self, name: str, tiny: Tiny, solve_tiny: SolveTiny) -> None:
        small = tiny(name)
        answer = solve_tiny(name, share=0.1, backend="none", kv_cache_scheme="fp8")
        assert {item.kv_cache_scheme for item in answer.alternatives} == {"fp8"}
        assert kv_layers(small.inventory)
        check_all(small, answer)

    @pytest.mark.parametrize("name", UNTEMPLATED)
    def test_without_a_template_are_what_quark_resolves_through_the_script(
        self, name: str, tiny: Tiny, solve_tiny: SolveTiny, llm_template: Any
    ) -> None:
        answer = solve_tiny(name, share=0.3)
        for alternative in answer.alternatives:
            plan = confirm(draft(answer, alternative.id))
            script = export_plan(plan, "quark-python", ExportOptions(output_dir="quantized"))
            check(tiny(name), plan, config_of_script(script))


class TestPins:
    @pytest.mark.parametrize("kv", ["none", "fp8"])
    @pytest.mark.parametrize(
        "layers",
        [
            {"*layers.0.mlp.*": "fp8", "*layers.1.mlp.down_proj": "int8"},
            {"*layers.1.*.o_proj": "int8", "*layers.[0-2].*.o_proj": "ptpc_fp8"},
            {"*down_proj": "nvfp4", "*gate_proj": "fp8", "*up_proj": "fp8"},
            {"*q_proj": "mxfp4", "*k_proj": "mxfp4", "*v_proj": "mxfp4"},
            {"*": "fp8"},
            {"lm_head": "ptpc_fp8"},
            {"*o_proj": "native", "*layers.3.mlp.*": "native"},
            {"*k_proj": "native", "*v_proj": "native"},
        ],
        ids=str,
    )
    def test_hold_in_quark(self, layers: dict[str, str], kv: str, tiny: Tiny, solve_tiny: SolveTiny) -> None:
        small = tiny("qwen3")
        answer = solve_tiny("qwen3", share=0.4, backend="none", kv_cache_scheme=kv, layers=layers)
        for alternative in answer.alternatives:
            check(small, alternative)
            for path, scheme in planned(alternative, linears(small.model)).items():
                asked = next((name for pattern, name in layers.items() if fnmatchcase(path, pattern)), scheme)
                assert scheme == asked, path

    def test_on_attention_leave_the_convolution_of_a_vision_tower_alone(
        self, tiny: Tiny, solve_tiny: SolveTiny
    ) -> None:
        # The pattern reaches the vision tower too, and so the template's exclude of the tower has to go.
        answer = solve_tiny("gemma3", share=0.4, layers={"*self_attn.*": "fp8"})
        check_all(tiny("gemma3"), answer)


class TestNativeLayersBesideAnFp8Cache:
    @pytest.mark.parametrize("backend", ["vllm", "none"])
    @pytest.mark.parametrize(
        "exclude",
        ["*layers.0.*", "*layers.1.self_attn.k_proj", "*layers.2.self_attn.q_proj", "*k_proj", "*self_attn.*"],
    )
    def test_are_what_quark_resolves(self, exclude: str, backend: str, tiny: Tiny, solve_tiny: SolveTiny) -> None:
        answer = solve_tiny("qwen3", share=0.5, backend=backend, kv_cache_scheme="fp8", exclude=(exclude,))
        check_all(tiny("qwen3"), answer)


@pytest.mark.slow
class TestFullSize:
    @pytest.mark.parametrize("name", REQUIRED_MODELS)
    def test_all_alternatives_are_what_quark_resolves(
        self,
        name: str,
        analyse: Analyse,
        required_answers: dict[str, Answer],
        catalog: Catalog,
        tmp_path: Path,
        quark: Any,
    ) -> None:
        model = _on_meta(catalog.models.get(name).config, tmp_path)
        # What `reload` leaves out is the copying of weights, and there are none.
        quark.utils.llm.preprocess_for_quantization(model, reload=True)
        full = TinyModel(name, str(tmp_path), analyse(name), model)
        assert {p for family in full.inventory.layers if family.quantizable for p in family.paths()} == linears(model)
        check_all(full, required_answers[name])


def _on_meta(config: dict[str, Any], folder: Path) -> Any:
    """Return the model that Quark's commands would load, without its weights."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    plain = {key: value for key, value in config.items() if key != "quantization_config"}
    (folder / "config.json").write_text(json.dumps(plain), encoding="utf-8")
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))

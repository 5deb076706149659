"""What vLLM's own reader made of every plan of bench/loaders, replayed against today's plans and profiles."""

import os
from dataclasses import replace
from functools import cache

import pytest

from bench.kv_allocator import INTERPRETER
from bench.loaders.exported import quark_differences
from bench.loaders.plans import ARCHITECTURES, CATALOG, STACK, Plan, analysis, plans, template
from bench.loaders.table import DOCUMENT
from bench.loaders.verdicts import Architecture, home, read
from bench.loaders.vllm import NAME, VERDICTS, ask, differences, expected, gather, refused
from solver.catalog import NATIVE
from solver.rules.readers import reader_of
from tests.quark.real import model_of_quark

VERSIONS, ANSWERS = read(VERDICTS)
architectures = pytest.mark.parametrize("architecture", ARCHITECTURES)
made = cache(plans)


def wrong(plan: Plan, found: Architecture) -> list[str]:
    return list(differences(plan, found.homes, found.plans[plan.kind]))


class TestReplay:
    @architectures
    def test_the_plans_are_written_as_when_vllm_was_asked(self, architecture: str) -> None:
        kept = ANSWERS[architecture].plans
        assert list(kept) == list(made(architecture))
        for kind, plan in made(architecture).items():
            asked = (kept[kind].global_scheme, kept[kind].exclude_layers, kept[kind].layer_quant_config)
            fields = (plan.patterns.global_scheme, plan.patterns.exclude_layers, plan.patterns.layer_quant_config)
            assert (kind, asked) == (kind, fields)
            assert list(asked[2]) == list(fields[2])

    @architectures
    def test_vllm_reads_every_layer_as_planned(self, architecture: str) -> None:
        for plan in made(architecture).values():
            if refused(plan) is None:
                assert (plan.kind, wrong(plan, ANSWERS[architecture])) == (plan.kind, [])

    @architectures
    def test_an_fp8_cache_is_read_where_it_is_planned(self, architecture: str) -> None:
        for kind, plan in made(architecture).items():
            assert (ANSWERS[architecture].plans[kind].kv_cache is not None) == plan.kv_fp8

    @architectures
    def test_the_profile_names_layers_as_vllm_looks_them_up(self, architecture: str) -> None:
        inventory, homes = analysis(architecture).inventory, ANSWERS[architecture].homes
        assert inventory is not None
        reader = reader_of(CATALOG.backends.get(STACK), template(architecture).model_type)
        for family in inventory.layers:
            block = (family.block_indices or (None,))[0]
            into = home(homes, family.path(block, 0 if family.experts else None)) if family.quantizable else None
            if into and family.role != "vision":
                named = reader.name(family) if block is None else reader.name(family).replace("{block}", str(block))
                assert named == into if family.experts else named.rpartition(".")[0] == into.rpartition(".")[0]

    def test_what_vllm_does_not_load_is_what_the_profile_says(self) -> None:
        refusing = {name for name in ARCHITECTURES for plan in made(name).values() if refused(plan)}
        failing = {name for name in ARCHITECTURES for plan in made(name).values() if wrong(plan, ANSWERS[name])}
        assert failing == refusing == {"llama", "qwen3_moe", "mixtral", "minimax_m2"}

    def test_the_profile_supports_a_scheme_where_vllm_has_a_method_for_it(self) -> None:
        backend = CATALOG.backends.get(STACK)
        for scheme in CATALOG.schemes:
            for kind in ("dense", "experts"):
                rows = [row for row in backend.support if scheme.name in row.schemes and kind in row.kinds]
                runs = any(row.support in {"native", "emulated"} for row in rows)
                if runs and scheme.usable:
                    assert expected(scheme.name, experts=kind == "experts"), (scheme.name, kind)
                if not runs and kind == "dense" and scheme.usable:
                    assert expected(scheme.name, experts=False) is None, scheme.name

    def test_the_plans_cover_what_they_are_for(self) -> None:
        assert len(ARCHITECTURES) >= 15
        assert VERSIONS["vllm"] == CATALOG.backends.get(STACK).version
        schemes = {scheme for name in ARCHITECTURES for plan in made(name).values() for scheme in plan.schemes.values()}
        assert schemes == {NATIVE, *(scheme.name for scheme in CATALOG.schemes if scheme.usable)}
        assert max(plan.written for name in ARCHITECTURES for plan in made(name).values()) >= 3


class TestJudge:
    def test_a_verdict_of_another_scheme_is_a_difference(self) -> None:
        plan = made("qwen3")["by role"]
        found = ANSWERS["qwen3"]
        layer = "model.layers.0.mlp.down_proj"
        kept = found.plans["by role"]
        other = next(verdict for verdict in kept.layers.values() if verdict != kept.layers[layer])
        changed = replace(kept, layers={**kept.layers, layer: other})
        told = wrong(plan, replace(found, plans={**found.plans, "by role": changed}))
        assert [name.split(":")[0] for name in told] == [layer]


class TestTable:
    def test_shows_every_plan_and_what_vllm_says(self) -> None:
        lines = [line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        shown = {(row[0], row[1]): row[2:] for row in cells}
        assert list(shown) == [(name, kind) for name in ARCHITECTURES for kind in made(name)]
        for name in ARCHITECTURES:
            for kind, plan in made(name).items():
                written, fewest, quark, vllm = shown[name, kind]
                assert (int(written), fewest == "yes") == (plan.written, plan.patterns.fewest)
                assert quark == f"{len(plan.schemes)} of {len(plan.schemes)}"
                without = refused(plan)
                assert vllm == (f"not loaded: {without}" if without else quark)

    def test_says_how_it_was_written(self) -> None:
        assert f"python -m bench {NAME}" in DOCUMENT.read_text(encoding="utf-8")


@pytest.mark.slow
@architectures
def test_quark_resolves_every_layer_as_planned(architecture: str) -> None:
    pytest.importorskip("quark", reason="amd-quark is not installed")
    built = model_of_quark(architecture)
    wrong = {kind: quark_differences(plan, built) for kind, plan in made(architecture).items()}
    assert {kind: found for kind, found in wrong.items() if found} == {}


@pytest.mark.slow
def test_vllm_still_says_what_was_kept() -> None:
    interpreter = os.environ.get(INTERPRETER)
    if not interpreter:
        pytest.skip(f"{INTERPRETER} names no interpreter with vLLM")
    pytest.importorskip("quark", reason="amd-quark is not installed")
    asked = [plan for name in ARCHITECTURES for plan in made(name).values()]
    versions, answers = ask(interpreter, asked)
    assert versions == VERSIONS
    for name, found in gather(asked, answers).items():
        assert found.plans == ANSWERS[name].plans

"""Side rules on real models: what they leave is read back from the patterns that are written."""

import json
from collections import defaultdict
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from solver import api
from solver.catalog import NATIVE, Catalog
from solver.errors import BadInputError, RuledOutError
from solver.plan.document import Alternative, Answer
from solver.plan.request import PlanRequest
from tests.conftest import Analyse
from tests.plan.reading import scheme_of_path

MODELS = ("Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-V3")
SERVICE = {
    "Qwen/Qwen3-8B": {"budget_bytes": 11 * 10**9},
    "Qwen/Qwen3-30B-A3B": {"budget_bytes": 22 * 10**9},
    "deepseek-ai/DeepSeek-V3": {"budget_bytes": 110 * 10**9, "tensor_parallel": 4},
}


def request(model: str, **fields: object) -> PlanRequest:
    return PlanRequest.model_validate({"model": model, "hardware": "mi300x", **SERVICE[model], **fields})


class Planned:
    def __init__(self, model: str, answer: Answer, analyse: Analyse) -> None:
        self.answer = answer
        inventory = analyse(model).inventory
        assert inventory is not None
        self.layers = [
            (family, block, family.path(block))
            for family in inventory.layers
            if family.quantizable and family.role not in {"vision", "lm_head", "router"}
            for block in (family.block_indices or (None,))
        ]

    @property
    def own(self) -> list[Alternative]:
        names = {"guide", "planner's own"}
        return [item for item in self.answer.alternatives if not names & set(item.name.split(", "))]

    def schemes(self, item: Alternative) -> dict[tuple[str, int | None], str]:
        return {
            (path, block): scheme_of_path(
                path.replace("{expert}", "0"), item.exclude_layers, item.layer_quant_config, item.global_scheme
            )
            for _, block, path in self.layers
        }

    def overrides(self, item: Alternative, catalog: Catalog) -> int:
        """Count what is written beside the global scheme: patterns, and excludes that Quark's template lacks."""
        given = catalog.templates.get(self.answer.model.model_type).exclude_layers
        own = [
            pattern
            for pattern in item.exclude_layers
            if pattern not in given and any(fnmatchcase(path, pattern) for _, _, path in self.layers)
        ]
        return len(item.layer_quant_config) + len(own)

    def groups(self, item: Alternative, by: str) -> dict[object, set[str]]:
        found: dict[object, set[str]] = defaultdict(set)
        schemes = self.schemes(item)
        for family, block, path in self.layers:
            key = {"role": family.role, "block": block, "uniform": 0}[by]
            found[key].add(schemes[path, block])
        return found


_PLANNED: dict[str, Planned] = {}


def planned(model: str, analyse: Analyse, catalog: Catalog, **fields: object) -> Planned:
    """Return the answer to a request, solved once in a run."""
    asked = request(model, **fields)
    key = asked.model_dump_json()
    if key not in _PLANNED:
        _PLANNED[key] = Planned(model, api.solve(asked, analyse(model), catalog=catalog), analyse)
    return _PLANNED[key]


def least(found: Planned) -> float:
    assert found.own[0].risk is not None
    return found.own[0].risk.delta_nll


models = pytest.mark.parametrize(
    "model", [MODELS[0], *(pytest.param(model, marks=pytest.mark.slow) for model in MODELS[1:])]
)


class TestGranularity:
    @pytest.mark.parametrize("by", ["uniform", "role", "block"])
    @models
    def test_gives_each_group_one_scheme_or_leaves_it_native(
        self, by: str, model: str, analyse: Analyse, catalog: Catalog
    ) -> None:
        # With the cache in the model's own type: an fp8 one ties the layers of all blocks that feed it.
        found = planned(model, analyse, catalog, granularity=by, kv_cache_scheme="none")
        for item in found.own:
            for schemes in found.groups(item, by).values():
                assert len(schemes - {NATIVE}) <= 1

    @models
    def test_price_is_what_the_flag_costs(self, model: str, analyse: Analyse, catalog: Catalog) -> None:
        free = planned(model, analyse, catalog)
        prices = {part.granularity: part for part in free.answer.simpler}
        assert set(prices) == {"uniform", "role", "block"}
        for granularity, part in prices.items():
            asked = planned(model, analyse, catalog, granularity=granularity)
            assert part.delta_nll == pytest.approx(least(asked), rel=1e-5)
            assert part.price_nll == pytest.approx(least(asked) - least(free), rel=1e-3, abs=1e-8)
            assert asked.answer.price_nll == part.price_nll
            assert part.price_nll >= 0


class TestOverrides:
    @pytest.mark.parametrize(
        ("model", "limit"),
        [(MODELS[0], 0), (MODELS[0], 3), *(pytest.param(m, n, marks=pytest.mark.slow) for m in MODELS for n in (1, 6))],
    )
    def test_are_no_more_than_asked_for(self, model: str, limit: int, analyse: Analyse, catalog: Catalog) -> None:
        found = planned(model, analyse, catalog, max_overrides=limit)
        free = planned(model, analyse, catalog)
        for item in (*free.own, *found.own):
            assert item.overrides == found.overrides(item, catalog)
        assert all(item.overrides <= limit for item in found.own)
        assert least(found) >= least(free)
        assert found.answer.price_nll == pytest.approx(least(found) - least(free), rel=1e-3, abs=1e-8)

    @pytest.mark.slow
    def test_more_of_them_cost_no_more_quality(self, analyse: Analyse, catalog: Catalog) -> None:
        risks = [least(planned(MODELS[0], analyse, catalog, max_overrides=limit)) for limit in (0, 2, 5, 30)]
        assert risks == sorted(risks, reverse=True)
        assert risks[0] > risks[2]


class TestOtherLimits:
    def test_on_schemes_hold(self, analyse: Analyse, catalog: Catalog) -> None:
        for most in (1, 2):
            found = planned(MODELS[1], analyse, catalog, max_schemes=most)
            assert all(len(set(item.scheme_shares) - {NATIVE}) <= most for item in found.own)

    def test_on_speed_hold(self, analyse: Analyse, catalog: Catalog) -> None:
        free = planned(MODELS[0], analyse, catalog)
        times = [item.decode_seconds_per_token for item in free.own]
        wanted = 1.2 / float(times[0] or 0)
        found = planned(MODELS[0], analyse, catalog, min_decode_tps=wanted)
        for item in found.own:
            assert item.decode_seconds_per_token is not None
            assert item.decode_seconds_per_token <= 1 / wanted * (1 + 1e-5)
        assert least(found) > least(free)

    def test_that_leave_no_plan_say_so_and_what_there_is(self, analyse: Analyse, catalog: Catalog) -> None:
        with pytest.raises(RuledOutError) as caught:
            planned(MODELS[0], analyse, catalog, min_decode_tps=10**6, max_overrides=9)
        assert caught.value.where == "--min-decode-tps 1e+06"
        fastest = float(str(caught.value.mend).split(" tokens/s")[0].rsplit(" ", 1)[1])
        times = [item.decode_seconds_per_token for item in planned(MODELS[0], analyse, catalog).own]
        assert fastest == pytest.approx(1 / min(time for time in times if time), rel=1e-3)

    def test_on_speed_need_a_bandwidth(self, analyse: Analyse, catalog: Catalog) -> None:
        unknown = next(entry.name for entry in catalog.hardware if entry.bandwidth is None and entry.memory is not None)
        with pytest.raises(BadInputError, match="bandwidth"):
            planned(MODELS[0], analyse, catalog, hardware=unknown, min_decode_tps=5, budget_bytes=8 * 10**9)


class TestAlternatives:
    @pytest.mark.parametrize("wanted", [1, 2, 12])
    def test_are_as_many_as_asked_for(self, wanted: int, analyse: Analyse, catalog: Catalog) -> None:
        found = planned(MODELS[0], analyse, catalog, alternatives=wanted)
        assert len(found.own) == wanted
        assert "lowest risk" in found.own[0].name.split(", ")
        costs = [(item.footprint, item.risk) for item in found.own]
        assert len({str(cost) for cost in costs}) == wanted

    def test_that_are_to_differ_do_in_a_quarter_of_the_weights(self, analyse: Analyse, catalog: Catalog) -> None:
        found = planned(MODELS[0], analyse, catalog, alternatives=3, diverse=2)
        assert [item.name for item in found.own[3:]] == ["different", "different"]
        sizes = {(path, block): family.weight_elements for family, block, path in found.layers}
        for position, item in enumerate(found.own[3:], start=3):
            for other in found.own[:position]:
                ours, theirs = found.schemes(item), found.schemes(other)
                apart = sum(size for key, size in sizes.items() if ours[key] != theirs[key])
                assert apart >= 0.25 * sum(sizes.values())

    def test_that_are_to_be_faster_are_less_risky_than_all_that_are_as_fast(
        self, analyse: Analyse, catalog: Catalog
    ) -> None:
        found = planned(MODELS[0], analyse, catalog, faster=3)
        front = found.answer.front
        assert front is not None
        assert front.time_levels == 4
        extra = [item for item in found.own if item.name == "faster"]
        assert extra
        for item in extra:
            assert item.proof is not None
            assert item.proof.status == "optimal"
            assert item.decode_seconds_per_token is not None
            for other in found.own:
                if other.id != item.id and (other.decode_seconds_per_token or 0) <= item.decode_seconds_per_token:
                    assert other.risk is not None
                    assert item.risk is not None
                    assert other.risk.delta_nll >= item.risk.delta_nll


class TestCommand:
    def test_flags_reach_the_request_and_the_price_is_told(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from solver.cli import main

        flags = "--granularity role --max-overrides 4 --max-schemes 2 --min-decode-tps 1 --alternatives 4 --diverse 1"
        question = ["Qwen/Qwen3-8B", "--budget", "12GB", "--hardware", "mi300x"]
        command = [*question, *flags.split(), "--faster", "2"]
        with pytest.raises(SystemExit) as ended:
            main([*command, "--json"])
        assert ended.value.code == 0
        asked = json.loads(capsys.readouterr().out)["request"]
        assert (asked["granularity"], asked["max_overrides"], asked["max_schemes"]) == ("role", 4, 2)
        assert (asked["min_decode_tps"], asked["alternatives"], asked["diverse"]) == (1.0, 4, 1)
        assert asked["faster"] == 2
        with pytest.raises(SystemExit):
            main([*command, "--yes", "--output", str(tmp_path / "quant_plan.json")])
        shown = " ".join(capsys.readouterr().out.split())
        assert "Price of simplicity at this budget: one scheme everywhere +" in shown
        assert "What you ask of the plan's form costs" in shown
        assert fnmatchcase(shown, "*deciding by role*")


class TestStoredQuantized:
    def test_layers_may_stay_while_the_rest_is_decided_as_one(self, analyse: Analyse, catalog: Catalog) -> None:
        model = "openai/gpt-oss-20b"
        asked = PlanRequest(model=model, hardware="mi300x", budget_bytes=24 * 10**9)
        answer = api.solve(asked, analyse(model), catalog=catalog)
        assert all(part.price_nll is not None and part.price_nll >= 0 for part in answer.simpler)
        simplest = next(item for item in answer.alternatives if "simplest" in item.name.split(", "))
        assert len(set(simplest.scheme_shares) - {NATIVE}) == 1
        assert simplest.scheme_shares[NATIVE] > 0.9

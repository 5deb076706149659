"""Plans that Quark really carries out: the exported script quantizes a checkpoint, and what it writes is the plan."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from solver import api
from solver.catalog import Catalog
from solver.export.options import ExportOptions
from solver.export.targets import export_plan
from tests.quark.carried import Carried, compare
from tests.quark.carried_plans import CASES, Case, Workshop
from tests.quark.checkpoints import TWO_BLOCKS
from tests.quark.real import config_of_script

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

ALONE = {"smollm2-two_blocks-excludes", "smollm2-two_blocks-gptq"}
"""Scripts that are run by themselves too."""

cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory, catalog: Catalog) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("carried"), catalog)


@pytest.fixture(scope="module")
def ends(workshop: Workshop) -> dict[Case, dict[str, Any]]:
    """Return how the script of each plan ended: one process runs all."""
    return workshop.carry_out(CASES)


@pytest.fixture(scope="module")
def carried(workshop: Workshop, ends: dict[Case, dict[str, Any]]) -> Any:
    return cache(workshop.compare)


@cases
class TestEveryPlan:
    def test_is_carried_out(self, case: Case, ends: dict[Case, dict[str, Any]]) -> None:
        assert ends[case]["error"] is None

    def test_is_written_in_the_types_and_shapes_of_its_schemes(self, case: Case, carried: Any) -> None:
        found: Carried = carried(case)
        assert found.tensors == ()

    def test_is_told_by_the_exported_config(self, case: Case, carried: Any) -> None:
        found: Carried = carried(case)
        assert found.config == ()

    def test_takes_the_bytes_that_were_predicted(self, case: Case, carried: Any, workshop: Workshop) -> None:
        found: Carried = carried(case)
        footprint = workshop.plan(case).footprint
        assert found.difference == 0
        assert footprint is not None
        assert footprint.weights_bytes + found.float32_bytes == found.exported_bytes


@cases
class TestEveryPlanBeforeItIsCarriedOut:
    def test_holds_by_all_that_quark_says(self, case: Case, workshop: Workshop) -> None:
        verification = api.verify(workshop.plan(case), catalog=workshop.catalog, quark="yes")
        verdicts = {check.name: check.verdict for check in verification.checks}
        assert [check for check in verification.checks if check.verdict == "differs"] == []
        assert verdicts["quark layers"] == "holds"
        assert verdicts["quark command"] in {"holds", "left_out"}

    def test_is_handed_over_by_its_next_step(self, case: Case, workshop: Workshop) -> None:
        plan = workshop.plan(case)
        verification = api.verify(plan, catalog=workshop.catalog, quark="yes")
        (command,) = (check for check in verification.checks if check.name == "quark command")
        target = plan.next_steps[0].rpartition(" ")[2]
        assert target == ("quark-cli" if command.verdict == "holds" else "quark-python")
        assert export_plan(plan, target, ExportOptions(output_dir=str(workshop.folder)), catalog=workshop.catalog)


class TestTheCases:
    def test_hold_what_plans_can_hold(self, workshop: Workshop) -> None:
        plans = [workshop.plan(case) for case in CASES]
        assert len({case.model for case in CASES}) >= 8
        assert {plan.algorithm for plan in plans} >= {None, "awq", "gptq", "smoothquant", "autosmoothquant"}
        of_smollm2 = {workshop.plan(case).algorithm for case in CASES if case.model == TWO_BLOCKS}
        assert of_smollm2 == {None, "awq", "gptq", "smoothquant", "autosmoothquant"}
        assert {plan.kv_cache_scheme for plan in plans} == {None, "fp8"}
        assert max(len({*plan.layer_quant_config.values()}) for plan in plans) >= 3
        assert any("**" in pattern for plan in plans for pattern in plan.layer_quant_config)

    def test_would_not_hold_for_other_plans(self, workshop: Workshop, carried: Any) -> None:
        by_role, by_layer = (case for case in CASES if case.model == "gemma3")
        other = workshop.out(by_layer)
        plan = workshop.plan(by_role).model_copy(update={"kv_cache_scheme": None})
        found = compare(plan, workshop.analysis("gemma3"), other, workshop.catalog)
        assert found.tensors
        assert found.config


@pytest.mark.parametrize("case", [case for case in CASES if case.name in ALONE], ids=lambda case: case.name)
def test_a_script_runs_by_itself(case: Case, workshop: Workshop) -> None:
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    command = [sys.executable, str(workshop.script(case))]
    done = subprocess.run(command, cwd=workshop.folder, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
    assert workshop.compare(case).difference == 0
    assert (workshop.out(case) / "tokenizer.json").is_file()


def test_supplied_settings_reach_quark(quark: Any, workshop: Workshop) -> None:
    case = next(case for case in CASES if case.settings is not None)
    (found,) = config_of_script(workshop.script(case).read_text(encoding="utf-8")).algo_config
    assert case.settings is not None
    assert found.to_dict().items() >= case.settings.items()
    assert found.to_dict() != quark.LLMTemplate.get("llama").algo_config["gptq"].to_dict()


def test_patterns_lie_in_the_order_of_the_alphabet_in_every_export(
    workshop: Workshop, ends: dict[Case, dict[str, Any]]
) -> None:
    several = 0
    for case in CASES:
        written = json.loads((workshop.out(case) / "config.json").read_text(encoding="utf-8"))
        names = list(written["quantization_config"]["layer_quant_config"])
        several += len(names) > 1
        assert names == sorted(names)
        planned = list(workshop.plan(case).layer_quant_config)
        assert planned == sorted(planned)
    assert several > 5


@pytest.fixture(scope="module")
def loader(quark: Any) -> Any:
    return quark.utils.llm.get_model


class TestDefects:
    def test_quark_cli_needs_a_gpu(self, loader: Any, workshop: Workshop) -> None:
        import torch

        if torch.cuda.is_available():
            pytest.skip("there is a GPU here")
        workshop.analysis("gemma3")

        def load_whole() -> None:
            # As quark-cli calls it. By what memory is free, it may also leave weights on the disk: nothing to quantize.
            model, _ = loader(str(workshop.folder / "models" / "gemma3"), "auto", "cpu", True, False)
            if any(parameter.is_meta for parameter in model.parameters()):
                raise MemoryError("offloaded to the disk")

        with pytest.raises((MemoryError, ValueError), match=r"Out of memory|offloaded"):
            load_whole()

    def test_a_16_bit_gpt_oss_becomes_mxfp4_unless_the_script_sets_it_right(
        self, workshop: Workshop, tmp_path: Path
    ) -> None:
        case = next(case for case in CASES if case.model == "gpt_oss")
        text = workshop.script(case).read_text(encoding="utf-8")
        right = "    model.config.quantization_config = None\n"
        assert right in text
        script = workshop.folder / "as_quark_loads_it.py"
        wrong = text.replace(right, "").replace(str(workshop.out(case)), str(tmp_path))
        script.write_text(wrong, encoding="utf-8")
        workshop.run([script])
        found = workshop.compare(case, tmp_path)
        assert found.difference < 0
        assert any(line.startswith("lm_head.weight: ") for line in found.tensors)

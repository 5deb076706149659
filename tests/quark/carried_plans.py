"""Plans that are carried out by Quark itself: planned, confirmed, exported as scripts, run, and compared."""

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from solver import api
from solver.catalog import Catalog
from solver.export.algorithm_config import read_config_file
from solver.export.options import ExportOptions
from solver.export.targets import export_plan
from solver.intake.analysis import ModelAnalysis
from solver.plan.document import QuantPlan
from solver.plan.request import PlanRequest
from tests.quark.carried import Carried, compare
from tests.quark.checkpoints import GPT_OSS, SMOLLM2, TEXTS, TWO_BLOCKS, write_checkpoint

DRIVER = Path(__file__).with_name("carry_out.py")
TINY = "llama, two blocks"
_CALIBRATION = {"num_calib_data": len(TEXTS), "seq_len": 32}
_DATA_SET = "mit-han-lab/pile-val-backup"
"""What Quark loads as pileval; a folder of that name where it runs takes the place of the hub."""


@dataclass(frozen=True)
class Case:
    """A request whose recommended plan is carried out; `share` of the unquantized bytes is its budget."""

    model: str
    kind: str
    share: float = 1.0
    request: dict[str, Any] = field(default_factory=dict, hash=False)
    settings: dict[str, Any] | None = field(default=None, hash=False)
    """Settings of the algorithm that are supplied as a file."""

    @property
    def name(self) -> str:
        """A name for a folder and a test."""
        return f"{self.model}, {self.kind}".replace(", ", "-").replace(" ", "_")


def _roles(share: float = 0.6, **request: Any) -> dict[str, Any]:
    return {"share": share, "request": {"granularity": "role", **request}}


def _uniform(scheme: str, **request: Any) -> dict[str, Any]:
    return {"request": {"scheme": scheme, **request}}


_EXPERTS = dict.fromkeys(("expert_gate", "expert_up", "expert_down"), "mxfp4")

_GPTQ = {
    "name": "gptq",
    "block_size": 64,
    "desc_act": False,
    "model_decoder_layers": "model.layers",
    "inside_layer_modules": [
        *(f"self_attn.{name}_proj" for name in "qkvo"),
        *(f"mlp.{name}_proj" for name in ("gate", "up", "down")),
    ],
}

CASES = (
    # On 30 blocks algorithms take minutes on a CPU: of those, plans without any.
    Case(SMOLLM2, "all ptpc_fp8", **_uniform("ptpc_fp8", algorithms=())),
    Case(SMOLLM2, "by role", **_roles(0.5, algorithms=())),
    Case(SMOLLM2, "by layer, fp8 cache", 0.5, {"kv_cache_scheme": "fp8", "algorithms": ()}),
    Case(TWO_BLOCKS, "excludes", 0.95, {"exclude": ("*layers.0.*", "*o_proj"), "algorithms": ()}),
    Case(TWO_BLOCKS, "head", 1.4, {"scheme": "fp8", "layers": {"lm_head": "fp8"}, "algorithms": ()}),
    Case(TWO_BLOCKS, "gptq", **_uniform("uint4_wo_32", algorithms=("gptq",))),
    Case(TWO_BLOCKS, "smoothquant", **_uniform("int8", algorithms=("smoothquant",))),
    Case(TWO_BLOCKS, "awq", **_uniform("uint4_wo_32", algorithms=("awq",))),
    Case(TWO_BLOCKS, "autosmoothquant", **_uniform("int8", algorithms=("autosmoothquant",))),
    Case(TINY, "by layer, awq", 0.45, {"algorithms": ("awq",)}),
    Case(
        TINY,
        "fp8 cache, autosmoothquant",
        0.5,
        {"kv_cache_scheme": "fp8", "algorithms": ("autosmoothquant",)},
    ),
    Case(TINY, "gptq, supplied settings", **_uniform("uint4_wo_32", algorithms=("gptq",)), settings=_GPTQ),
    # What Quark's templates do not configure, the script writes out.
    *(
        Case("qwen3, two blocks", f"{name}, settings written out", **_uniform(scheme, algorithms=(name,)))
        for name, scheme in (
            ("awq", "uint4_wo_32"),
            ("gptq", "mxfp4_weight_only"),
            ("smoothquant", "int8"),
            ("autosmoothquant", "fp8"),
        )
    ),
    Case("qwen3_moe", "experts", 1.0, {"pins": _EXPERTS, "algorithms": ()}),
    Case("qwen3_moe", "by layer, fp8 cache", 0.4, {"kv_cache_scheme": "fp8"}),
    Case("mixtral, two blocks", "by role, awq", **_roles(0.4, algorithms=("awq",))),
    Case("mixtral", "native experts", 1.0, {"exclude": ("*experts*",), "scheme": "fp8", "algorithms": ()}),
    Case(GPT_OSS, "native experts", 1.0, {"exclude": ("*experts*",), "scheme": "ptpc_fp8"}),
    Case(GPT_OSS, "experts", 1.0, {"pins": {"expert_gate_up": "mxfp4", "expert_down": "mxfp4"}, "algorithms": ()}),
    Case("gpt_oss", "by layer", 0.5),
    Case("gemma3", "by role, fp8 cache", **_roles(0.6, kv_cache_scheme="fp8")),
    Case("gemma3", "by layer", 0.6),
    Case("deepseek_v2", "by role, fp8 cache, gptq", **_roles(0.6, kv_cache_scheme="fp8", algorithms=("gptq",))),
    Case("deepseek_v2", "by layer, awq", 0.55, {"algorithms": ("awq",)}),
    Case("olmo2", "by role", **_roles(0.6)),
)


class Workshop:
    """A folder of checkpoints, scripts and exports; plans are made as they are asked for."""

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self.folder, self.catalog = folder, catalog
        data = folder / _DATA_SET
        data.mkdir(parents=True)
        lines = (json.dumps({"text": text}) + "\n" for text in TEXTS)
        (data / "validation.jsonl").write_text("".join(lines), encoding="utf-8")
        self.analysis = cache(self._analysis)
        self.plan = cache(self._plan)

    def _analysis(self, model: str) -> ModelAnalysis:
        folder = write_checkpoint(model, self.folder / "models" / model)
        return api.analyze(str(folder), catalog=self.catalog)

    def _plan(self, case: Case) -> QuantPlan:
        analysis = self.analysis(case.model)
        assert analysis.inventory is not None
        defaults = {"hardware": "mi300x", "backend": "none", "budget_scope": "weights", "calibration": _CALIBRATION}
        request = PlanRequest.model_validate(
            {
                **defaults,
                **case.request,
                "model": analysis.model.model_path,
                "budget_bytes": round(case.share * analysis.inventory.unquantized_bytes),
            }
        )
        return api.confirm(api.draft(api.solve(request, analysis, catalog=self.catalog)))

    def out(self, case: Case) -> Path:
        """Return the folder that a plan is exported to."""
        return self.folder / "out" / case.name

    def _settings(self, case: Case) -> Path:
        path = self.folder / f"{case.name}.json"
        path.write_text(json.dumps(case.settings), encoding="utf-8")
        return path

    def script(self, case: Case) -> Path:
        """Write the plan's exported script and return its path."""
        path = self.folder / f"{case.name}.py"
        files = (read_config_file(str(self._settings(case)), self.catalog),) if case.settings is not None else ()
        options = ExportOptions(output_dir=str(self.out(case)), algorithm_config_files=files)
        path.write_text(export_plan(self.plan(case), "quark-python", options, catalog=self.catalog), encoding="utf-8")
        return path

    def carry_out(self, cases: Iterable[Case]) -> dict[Case, dict[str, Any]]:
        """Run the scripts of plans in one process and return how each ended."""
        scripts = {case: self.script(case) for case in cases}
        answers = self.run(scripts.values())
        return {case: answers[str(script)] for case, script in scripts.items()}

    def run(self, scripts: Iterable[Path]) -> dict[str, dict[str, Any]]:
        """Run scripts in one process and return how each ended, by its path."""
        command = [sys.executable, str(DRIVER), *map(str, scripts)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        answers: dict[str, dict[str, Any]] = json.loads(done.stdout)
        return answers

    def compare(self, case: Case, folder: Path | None = None) -> Carried:
        """Return what was exported, against the plan."""
        return compare(self.plan(case), self.analysis(case.model), folder or self.out(case), self.catalog)

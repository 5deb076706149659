"""The exported command, read by quark-cli's own parser."""

import argparse
import io
import shlex
from contextlib import redirect_stderr
from typing import Any

from solver.catalog import Catalog
from solver.errors import PlannerError
from solver.export.options import ExportOptions, model_location
from solver.export.targets import export_plan
from solver.plan.compare import differences
from solver.plan.document import QuantPlan
from solver.plan.verification import Check, Difference, checked, left_out
from solver.quark.installed import quiet

_NAME = "quark command"
_TARGET = "quark-cli"
_COMMAND = "torch-llm-ptq"
_OUTPUT = "/quantized"


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of quark-cli with its command for language models.

    Raises
    ------
    ImportError
        If what the module of the parser imports is not there.
    """
    try:
        with quiet():
            from quark.experimental.cli.torch_llm_ptq import TorchLLM_PTQ_CLI
    except SystemExit as error:  # how that module ends where an import fails
        raise ImportError("`datasets`, `transformers` or `torch` cannot be imported") from error
    commands = argparse.ArgumentParser(_TARGET)
    TorchLLM_PTQ_CLI.register_subcommand(commands.add_subparsers().add_parser(_COMMAND))
    return commands


def _meant(plan: QuantPlan) -> dict[str, Any]:
    """Return what quark-cli is to understand, by the names of its arguments."""
    return {
        "model_dir": model_location(plan, ExportOptions()),
        "output_dir": _OUTPUT,
        "quant_scheme": plan.global_scheme,
        "layer_quant_scheme": [list(pair) for pair in plan.layer_quant_config.items()] or None,
        "exclude_layers": list(plan.exclude_layers),
        "kv_cache_dtype": plan.kv_cache_scheme,
        "quant_algo": plan.algorithm.split(",") if plan.algorithm else None,
        "dataset": plan.calibration.dataset,
        "num_calib_data": plan.calibration.num_calib_data,
        "seq_len": plan.calibration.seq_len,
        "skip_evaluation": plan.evaluation_intent == "none",
        "no_trust_remote_code": not plan.model.trust_remote_code,
    }


def command_check(plan: QuantPlan, catalog: Catalog) -> Check:
    """Return whether quark-cli's own parser reads the exported command as the plan means it."""
    try:
        text = export_plan(plan, _TARGET, ExportOptions(output_dir=_OUTPUT), catalog=catalog, draft=True)
        parser = command_parser()
    except PlannerError as error:
        return left_out(_NAME, f"there is none: {error.what}")
    except ImportError as error:
        return left_out(_NAME, f"the parser cannot be imported: {error}")
    _, *words = shlex.split(text.replace(" \\\n", " "))
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            parsed = vars(parser.parse_args(words))
    except SystemExit:
        reason = (said.getvalue().strip().splitlines() or ["refused"])[-1]
        refused = Difference(where=_TARGET, expected="a command that it reads", found=reason)
        return checked(_NAME, "the exported command", (refused,))
    expected = _meant(plan)
    found = {name: parsed.get(name) for name in expected}
    compared = f"{len(expected)} arguments as quark-cli's own parser reads them"
    return checked(_NAME, compared, differences("", expected, found))

"""The `quantization_config` that Quark writes into an export, without quantizing anything."""

import dataclasses
import json
from typing import Any

from bench.loaders.plans import EXTRA, Plan, template
from tests.quark.architectures import small_config
from tests.quark.real import config_of_patterns, differences, linears, model_of_quark, resolve


def quantization_config(plan: Plan, built: Any) -> dict[str, Any]:
    """Return what `export_safetensors` writes for a model quantized by a plan."""
    from quark.torch.export.config.config import JsonExporterConfig
    from quark.torch.quantization.model_transformation import setup_config_per_layer, setup_kv_cache_config

    config = config_of_patterns(
        plan.patterns, template(plan.architecture).model_type, kv_cache_scheme="fp8" if plan.kv_fp8 else None
    )
    modules = dict(built.named_modules(remove_duplicate=False))
    resolved: dict[str, Any] = {}
    setup_config_per_layer(config, modules, resolved)
    setup_kv_cache_config(config, modules, resolved)
    export = JsonExporterConfig(
        weight_format="real_quantized",
        pack_method="reorder",
        kv_cache_group=config.kv_cache_group if config.kv_cache_quant_config else [],
        min_kv_scale=config.min_kv_scale,
    )
    # As it lies on disk: transformers sorts the keys.
    written = json.dumps({**config.to_dict(), "export": dataclasses.asdict(export)}, sort_keys=True)
    found: dict[str, Any] = json.loads(written)
    return found


def quark_differences(plan: Plan, built: Any) -> dict[str, str]:
    """Return the linears that Quark resolves otherwise than they are planned, each with both."""
    config = config_of_patterns(
        plan.patterns, template(plan.architecture).model_type, kv_cache_scheme="fp8" if plan.kv_fp8 else None
    )
    return differences(plan.schemes, resolve(built, config))


def request(plan: Plan) -> dict[str, Any]:
    """Return the question to a loader: the model's configuration as exported, and the names of its linears."""
    built = model_of_quark(plan.architecture)
    config = json.loads(small_config(plan.architecture).to_json_string()) | EXTRA.get(plan.architecture, {})
    return {
        "config": config | {"quantization_config": quantization_config(plan, built)},
        "names": sorted(linears(built)),
    }

"""A Python script on Quark's own API, for what no command can say: models without a template."""

from collections.abc import Mapping
from pprint import pformat
from textwrap import indent
from typing import Any

from solver.catalog import Catalog
from solver.export.configured import configs_of
from solver.export.options import ExportOptions, model_location, output_location
from solver.plan.context import commonest_template
from solver.plan.document import QuantPlan

SUPPORTED = frozenset({"min_kv_scale", "attention_dtype", "algorithm_config_files"})

_SCRIPT = '''"""Quantizes a model with AMD Quark, as planned by quant-plan-solver {version}."""

MODEL_DIR = {model!r}
OUTPUT_DIR = {output!r}
TRUST_REMOTE_CODE = {trust!r}


def build_config():
    """Return Quark's configuration of the plan."""
    from quark.torch import LLMTemplate
{imports}{register}
    return LLMTemplate.get({model_type!r}).get_config(
        scheme={scheme!r},
        algorithm={algorithm!r},
        kv_cache_scheme={kv!r},
        min_kv_scale={min_kv_scale!r},
        attention_scheme={attention!r},
        layer_config={layers},
        exclude_layers={excludes},
{configs}    )


def main():
    """Load, quantize and export the model."""
    import torch
    from quark.torch import ModelQuantizer, export_safetensors
    from quark.torch.utils.llm import get_calib_dataloader, get_model, get_tokenizer, preprocess_for_quantization

    on_gpu = torch.cuda.is_available()
    # Spread over GPUs where there are any: without one Quark 0.13 takes that for a lack of memory.
    model, _ = get_model(
        MODEL_DIR, "auto", "cuda" if on_gpu else "cpu", multi_gpu=on_gpu, trust_remote_code=TRUST_REMOTE_CODE
    )
{unquantized}    preprocess_for_quantization(model)
    tokenizer = get_tokenizer(
        MODEL_DIR, max_seq_len={seq_len}, model_type={model_type!r}, trust_remote_code=TRUST_REMOTE_CODE
    )
    data = get_calib_dataloader(
        dataset_name={dataset!r},
        tokenizer=tokenizer,
        batch_size=1,
        num_calib_data={samples},
        seqlen={seq_len},
        device=model.device,
    )
    quantizer = ModelQuantizer(build_config())
    model = quantizer.freeze(quantizer.quantize_model(model, data))
    with torch.no_grad():
        export_safetensors(
            model=model,
            output_dir=OUTPUT_DIR,
            custom_mode="quark",
            weight_format="real_quantized",
            pack_method="reorder",
        )
    tokenizer.save_pretrained(OUTPUT_DIR)


if __name__ == "__main__":
    main()
'''

_UNQUANTIZED = """    # Quark's loader notes MXFP4 on a 16-bit gpt-oss too, and native layers would be written in it.
    model.config.quantization_config = None
"""

_REGISTER = """
    LLMTemplate.register_template(
        LLMTemplate(
            model_type={model_type!r},
            kv_layers_name={kv!r},
            q_layer_name={q!r},
            gate_up_layers_name={gate_up!r},
            exclude_layers_name={excludes!r},
        )
    )
"""


def _register(plan: QuantPlan) -> str:
    if plan.model.template_builtin:
        return ""
    template = commonest_template(plan.model.model_type)
    return _REGISTER.format(
        model_type=template.model_type,
        kv=list(template.kv_layers),
        q=list(template.q_layers),
        gate_up=list(template.gate_up_layers),
        excludes=list(template.exclude_layers),
    )


def _indented(items: list[str], ends: str) -> str:
    """Return a list or dict literal with one item a line, at the depth of an argument."""
    if not items:
        return ends
    lines = "".join(f"            {item},\n" for item in items)
    return f"{ends[0]}\n{lines}        {ends[1]}"


def _configs(configs: Mapping[str, Mapping[str, Any]], catalog: Catalog) -> tuple[str, str]:
    """Return the imports and the argument that write out settings of algorithms; empty where there are none."""
    if not configs:
        return "", ""
    imports: list[str] = []
    items: list[str] = []
    for name, config in configs.items():
        known = catalog.algorithms.get(name).config
        assert known is not None
        imports.append(f"    from {known.module} import {known.type}\n")
        settings = {key: value for key, value in config.items() if key != "name"}
        literal = indent(pformat(settings, width=96, sort_dicts=False), " " * 16).lstrip()
        items.append(f"            {name!r}: {known.type}.from_dict(\n                {literal}\n            ),\n")
    return "".join(dict.fromkeys(imports)), f"        algo_configs={{\n{''.join(items)}        }},\n"


def export(plan: QuantPlan, options: ExportOptions, catalog: Catalog) -> str:
    """Return the script; `build_config()` is Quark's configuration, `main()` the whole run."""
    imports, configs = _configs(configs_of(plan, options, catalog), catalog)
    return _SCRIPT.format(
        imports=imports,
        configs=configs,
        version=plan.provenance.tool_version,
        model=model_location(plan, options),
        output=output_location(plan, options),
        unquantized="" if plan.model.stored else _UNQUANTIZED,
        trust=plan.model.trust_remote_code,
        register=_register(plan),
        model_type=plan.model.model_type,
        scheme=plan.global_scheme,
        algorithm=plan.algorithm.split(",") if plan.algorithm else None,
        kv=plan.kv_cache_scheme,
        min_kv_scale=options.min_kv_scale or 0.0,
        attention=options.attention_dtype,
        layers=_indented([f"{pattern!r}: {scheme!r}" for pattern, scheme in plan.layer_quant_config.items()], "{}"),
        excludes=_indented([repr(pattern) for pattern in plan.exclude_layers], "[]"),
        dataset=plan.calibration.dataset,
        samples=plan.calibration.num_calib_data,
        seq_len=plan.calibration.seq_len,
    )

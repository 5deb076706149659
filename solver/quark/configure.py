"""From a plan to Quark's own configuration, through the template that its commands take."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from solver.catalog import NATIVE, Catalog
from solver.export.configured import configs_of
from solver.export.options import ExportOptions
from solver.plan.context import commonest_template
from solver.plan.document import QuantPlan
from solver.quark.installed import quark_torch, quiet

Spec = Any
"""One of Quark's specifications of a tensor, several of them, or None where nothing is done."""


@dataclass(frozen=True)
class LayerSpecs:
    """What is done to a layer; None is nothing."""

    weight: Spec = None
    inputs: Spec = None
    outputs: Spec = None


@contextmanager
def template_of(plan: QuantPlan) -> Iterator[Any]:
    """Give Quark's template of a plan's model type; one that a script would register is forgotten afterwards."""
    templates = quark_torch().LLMTemplate
    model_type = plan.model.model_type
    if plan.model.template_builtin:
        yield templates.get(model_type)
        return
    common = commonest_template(model_type)
    before = dict(templates._templates)
    templates.register_template(
        templates(
            model_type=model_type,
            kv_layers_name=list(common.kv_layers),
            q_layer_name=list(common.q_layers),
            gate_up_layers_name=list(common.gate_up_layers),
            exclude_layers_name=list(common.exclude_layers),
        )
    )
    try:
        yield templates.get(model_type)
    finally:
        templates._templates = before


def _written_out(plan: QuantPlan, catalog: Catalog) -> dict[str, Any]:
    """Return the settings of algorithms that the exported script writes out, as Quark's own objects.

    There are none for a name that the profiles do not know: Quark says itself what it makes of it.
    """
    if any(catalog.algorithms.find(name) is None for name in (plan.algorithm or "").split(",") if name):
        return {}
    found = {}
    for name, settings in configs_of(plan, ExportOptions(), catalog).items():
        known = catalog.algorithms.get(name).config
        assert known is not None
        found[name] = getattr(import_module(known.module), known.type).from_dict(
            {key: value for key, value in settings.items() if key != "name"}
        )
    return found


def config_of(plan: QuantPlan, template: Any, catalog: Catalog) -> Any:
    """Return what Quark makes of a plan as the exported script hands it over: with the settings that Quark lacks.

    Raises
    ------
    BadInputError
        If neither Quark nor the profiles have settings for an algorithm of the plan.
    Exception
        Whatever Quark raises where it cannot: ValueError, KeyError or NotImplementedError in amd-quark 0.13.
    """
    with quiet():
        return template.get_config(
            scheme=plan.global_scheme,
            algorithm=plan.algorithm.split(",") if plan.algorithm else None,
            kv_cache_scheme=plan.kv_cache_scheme,
            layer_config=dict(plan.layer_quant_config),
            exclude_layers=list(plan.exclude_layers),
            algo_configs=_written_out(plan, catalog),
        )


def specs_of_scheme(name: str, template: Any) -> LayerSpecs:
    """Return what a scheme does to a layer: what Quark's configuration of that scheme alone says."""
    if name == NATIVE:
        return LayerSpecs()
    with quiet():
        everywhere = template.get_config(scheme=name).global_quant_config
    return LayerSpecs(everywhere.weight, everywhere.input_tensors)


def cache_spec(plan: QuantPlan, template: Any) -> Spec:
    """Return what a KV cache scheme does to the output of the layers that feed the cache."""
    if plan.kv_cache_scheme is None:
        return None
    with quiet():
        config = template.get_config(scheme=plan.global_scheme, kv_cache_scheme=plan.kv_cache_scheme)
    return next((layer.output_tensors for layer in config.kv_cache_quant_config.values()), None)


def told(spec: Spec) -> str:
    """Return a specification in a few words."""
    if spec is None:
        return "nothing"
    if isinstance(spec, list):
        return " of ".join(map(told, spec))
    granularity = spec.qscheme.name if spec.qscheme else "per_group"
    group = f" of {spec.group_size}" if spec.group_size else ""
    scale = "" if spec.is_dynamic is None else ", dynamic" if spec.is_dynamic else ", static"
    return f"{spec.dtype.value} {granularity}{group}{scale}"

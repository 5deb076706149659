"""What Quark resolves for every layer of the real model, against the scheme that a plan gives it."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from solver.catalog import Catalog
from solver.errors import BadInputError
from solver.plan.document import QuantPlan
from solver.plan.recompute import Recomputed
from solver.plan.verification import Check, Difference, checked, left_out
from solver.quark.configure import LayerSpecs, cache_spec, config_of, specs_of_scheme, template_of, told
from solver.quark.installed import quiet, reason_of
from solver.quark.model import NoModelError, prepared_model
from solver.rules.patterns import first_match

_NAME = "quark layers"


def linears(model: Any) -> set[str]:
    """Return the paths of the linears that Quark replaces: it leaves subclasses alone."""
    import torch

    return {path for path, module in model.named_modules() if type(module) is torch.nn.Linear}


def resolved(model: Any, config: Any) -> dict[str, Any]:
    """Return the configuration of each module, in the order in which Quark quantizes a model."""
    from quark.torch.quantization.model_transformation import setup_config_per_layer, setup_kv_cache_config

    modules = dict(model.named_modules(remove_duplicate=False))
    found: dict[str, Any] = {}
    config = copy.deepcopy(config)
    with quiet():
        setup_config_per_layer(config, modules, found)
        setup_kv_cache_config(config, modules, found)
    return found


def _planned(chosen: Recomputed) -> dict[str, tuple[str, bool]]:
    """Return the scheme of every layer by its path as the patterns say, and whether it feeds a quantized cache."""
    planned = {}
    patterns = chosen.context.template.kv_layers if chosen.stated.kv_cache_scheme is not None else ()
    for member, scheme in chosen.expansion.plain.items():
        if member.family.quantizable:
            feeds = first_match(patterns, member.family, member.block) is not None
            for expert in range(member.family.experts) if member.family.experts else (None,):
                planned[member.family.path(member.block, expert)] = (scheme, feeds)
    return planned


def _layers(
    planned: Mapping[str, tuple[str, bool]], found: Mapping[str, Any], specs: Mapping[str, LayerSpecs], cache: Any
) -> Iterator[Difference]:
    nothing = LayerSpecs()
    for path, (scheme, feeds) in planned.items():
        layer, meant = found.get(path), specs[scheme]
        given = nothing if layer is None else LayerSpecs(layer.weight, layer.input_tensors, layer.output_tensors)
        for what, expected, got in (
            ("weight", meant.weight, given.weight),
            ("input", meant.inputs, given.inputs),
            ("output", cache if feeds else None, given.outputs),
        ):
            if expected != got:
                yield Difference(where=f"{path}, {what}", expected=f"{scheme}: {told(expected)}", found=told(got))


def _names(planned: Mapping[str, Any], model: Any, found: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield layers that only the plan or only Quark has, and other modules that Quark would quantize."""
    paths = linears(model)
    for path in sorted(planned.keys() - paths):
        yield Difference(where=path, expected="a linear layer of the model", found="none")
    for path in sorted(paths - planned.keys()):
        yield Difference(where=path, expected="a layer of the plan", found="none")
    for path, layer in found.items():
        if path not in paths and layer.weight is not None:
            yield Difference(where=path, expected="no linear layer: native", found=told(layer.weight))


def layer_check(
    plan: QuantPlan,
    chosen: Recomputed,
    model: str,
    catalog: Catalog,
    *,
    revision: str | None = None,
    trust_remote_code: bool = False,
) -> Check:
    """Return whether Quark does to every layer of the model what the plan says, and nothing to anything else."""
    try:
        with template_of(plan) as template:
            config = config_of(plan, template, catalog)
            specs = {name: specs_of_scheme(name, template) for name in {*chosen.expansion.plain.values()}}
            cache = cache_spec(plan, template)
    except BadInputError as error:
        return left_out(_NAME, error.what.rstrip("."))
    except Exception as error:
        refused = Difference(where="LLMTemplate.get_config", expected="a configuration", found=reason_of(error))
        return checked(_NAME, "Quark's own configuration of the plan", (refused,))
    try:
        built = prepared_model(model, catalog, revision=revision, trust_remote_code=trust_remote_code)
    except NoModelError as error:
        return left_out(_NAME, f"not built: {error.what}")
    try:
        found = resolved(built, config)
    except Exception as error:  # what stops Quark there says nothing of the layers
        return left_out(_NAME, f"Quark stops while it resolves them: {reason_of(error)}")
    planned = _planned(chosen)
    differing = (*_names(planned, built, found), *_layers(planned, found, specs, cache))
    return checked(_NAME, f"{len(planned):,} layers: weights, inputs and outputs as planned", differing)

"""Plans in the hands of Quark's own code, without quantizing anything."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Protocol

from solver.catalog import NATIVE
from solver.plan.document import Alternative, QuantPlan
from solver.quark.resolve import linears, resolved
from tests.quark.architectures import small_config

Spec = tuple[Any, Any] | None
"""What is done to the weight and to the input of a layer; None is nothing."""


class Patterns(Protocol):
    """What selects the scheme of each layer: a plan, one of its alternatives, or the patterns alone."""

    @property
    def global_scheme(self) -> str: ...

    @property
    def exclude_layers(self) -> tuple[str, ...]: ...

    @property
    def layer_quant_config(self) -> dict[str, str]: ...


def config_of(plan: Alternative | QuantPlan, model_type: str) -> Any:
    """Return what Quark's commands make of a plan: the configuration of its template for the model type."""
    algorithms = plan.algorithm.split(",") if plan.algorithm else None
    return config_of_patterns(plan, model_type, kv_cache_scheme=plan.kv_cache_scheme, algorithm=algorithms)


def config_of_patterns(patterns: Patterns, model_type: str, **settings: Any) -> Any:
    """Return the same of patterns alone; `settings` are the other arguments of `get_config`."""
    from quark.torch import LLMTemplate

    return LLMTemplate.get(model_type).get_config(
        scheme=patterns.global_scheme,
        layer_config=dict(patterns.layer_quant_config),
        exclude_layers=list(patterns.exclude_layers),
        **settings,
    )


def config_of_script(script: str) -> Any:
    """Return what `build_config()` of an exported script returns; nothing else of it is run."""
    namespace: dict[str, Any] = {"__name__": "exported"}
    exec(compile(script, "exported.py", "exec"), namespace)
    return namespace["build_config"]()


@dataclass(frozen=True)
class Resolved:
    """What Quark puts on the modules of a model, by their paths."""

    linears: dict[str, Spec]
    outputs: frozenset[str]
    """Modules whose output is quantized."""
    others: frozenset[str]
    """Modules that are no linears and whose weight is quantized."""


@cache
def model_of_quark(name: str) -> Any:
    """Return a small model without weights, after the preparation that Quark's commands give every model."""
    import torch
    import transformers
    from quark.torch.utils.llm import preprocess_for_quantization

    config = small_config(name)
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        model = getattr(transformers, config.architectures[0])._from_config(config)
        # What `reload` leaves out is the copying of weights, and there are none.
        preprocess_for_quantization(model, reload=True)
    return model


def resolve(model: Any, config: Any) -> Resolved:
    """Return what Quark gives each module under a configuration, in the order in which it quantizes a model."""
    found, paths = resolved(model, config), linears(model)
    return Resolved(
        linears={path: _spec(found[path]) if path in found else None for path in paths},
        outputs=frozenset(path for path, layer in found.items() if layer.output_tensors is not None),
        others=frozenset(path for path, layer in found.items() if path not in paths and layer.weight is not None),
    )


def _spec(layer: Any) -> Spec:
    return None if layer.weight is None and layer.input_tensors is None else (layer.weight, layer.input_tensors)


def spec_of_scheme(name: str) -> Spec:
    """Return what a scheme does to a layer, by Quark's own collection of schemes."""
    from quark.torch import LLMTemplate

    return None if name == NATIVE else _spec(LLMTemplate._SCHEME_COLLECTION.get_scheme(name).config)


def schemes_of_spec(spec: Spec) -> str:
    """Return the names of the schemes that do this to a layer."""
    from quark.torch import LLMTemplate

    names = [NATIVE, *LLMTemplate.get_supported_schemes()]
    return " or ".join(name for name in names if spec_of_scheme(name) == spec) or repr(spec)


def planned(plan: Patterns, paths: Iterable[str]) -> dict[str, str]:
    """Return the scheme of each path by the plain reading of a plan: excludes, first pattern, global scheme."""

    def scheme_of(path: str) -> str:
        if any(fnmatchcase(path, pattern) for pattern in plan.exclude_layers):
            return NATIVE
        found = (scheme for pattern, scheme in plan.layer_quant_config.items() if fnmatchcase(path, pattern))
        return next(found, plan.global_scheme)

    return {path: scheme_of(path) for path in paths}


def differences(expected: Mapping[str, str], resolved: Resolved) -> dict[str, str]:
    """Return the linears to which Quark does something else than their scheme, each with both."""
    specs = {name: spec_of_scheme(name) for name in set(expected.values())}
    return {
        path: f"planned {scheme}, resolved {schemes_of_spec(resolved.linears[path])}"
        for path, scheme in sorted(expected.items())
        if resolved.linears[path] != specs[scheme]
    }

"""What Quark's own code makes of a configuration, module by module, without quantizing anything."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from solver.catalog import NATIVE


@dataclass(frozen=True)
class Resolved:
    """Paths by what Quark puts on them."""

    weights: dict[str, Any]
    """Weight and input specification of every linear, None for one that stays as it is."""
    outputs: frozenset[str]
    """Modules whose outputs are quantized."""
    others: frozenset[str]
    """Modules that are no linears and get a weight specification all the same."""


def linears(model: Any) -> set[str]:
    """Return the paths of the linears that Quark would replace: subclasses of Linear are not among them."""
    import torch

    return {path for path, module in model.named_modules() if type(module) is torch.nn.Linear}


def resolve(model: Any, config: Any) -> Resolved:
    """Return what Quark gives each module."""
    from quark.torch.quantization.model_transformation import setup_config_per_layer, setup_kv_cache_config

    modules = dict(model.named_modules(remove_duplicate=False))
    own = copy.deepcopy(config)
    found: dict[str, Any] = {}
    setup_config_per_layer(own, modules, found)
    setup_kv_cache_config(own, modules, found)
    paths = linears(model)
    specs = {path: found[path] if path in found else None for path in paths}
    return Resolved(
        weights={path: None if spec is None else weight_and_input(spec) for path, spec in specs.items()},
        outputs=frozenset(path for path, spec in found.items() if spec.output_tensors is not None),
        others=frozenset(path for path, spec in found.items() if path not in paths and spec.weight is not None),
    )


def weight_and_input(spec: Any) -> tuple[Any, Any] | None:
    """Return what a layer's configuration does to the weight and the input, None for nothing at all."""
    return None if spec.weight is None and spec.input_tensors is None else (spec.weight, spec.input_tensors)


def scheme_spec(name: str) -> tuple[Any, Any] | None:
    """Return the same of a scheme in Quark's own collection."""
    from quark.torch import LLMTemplate

    return None if name == NATIVE else weight_and_input(LLMTemplate._SCHEME_COLLECTION.get_scheme(name).config)


def planned(
    paths: Iterable[str], global_scheme: str, exclude_layers: Iterable[str], layer_quant_config: Mapping[str, str]
) -> dict[str, str]:
    """Return the scheme of each path by the plain reading of a plan: excludes, first pattern, global scheme."""
    excludes = tuple(exclude_layers)

    def scheme_of(path: str) -> str:
        if any(fnmatchcase(path, pattern) for pattern in excludes):
            return NATIVE
        return next(
            (scheme for pattern, scheme in layer_quant_config.items() if fnmatchcase(path, pattern)), global_scheme
        )

    return {path: scheme_of(path) for path in paths}


def differences(expected: Mapping[str, str], resolved: Resolved) -> dict[str, tuple[str, str]]:
    """Return the paths on which Quark and the plan differ, with the planned scheme and what Quark has instead."""
    return {
        path: (scheme, describe(resolved.weights[path]))
        for path, scheme in expected.items()
        if resolved.weights[path] != scheme_spec(scheme)
    }


def describe(spec: tuple[Any, Any] | None) -> str:
    """Return the names of the schemes that have this specification."""
    from quark.torch import LLMTemplate

    names = [NATIVE, *LLMTemplate.get_supported_schemes()]
    return " or ".join(name for name in names if scheme_spec(name) == spec) or repr(spec)

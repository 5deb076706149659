"""The algorithms of the installed Quark: the classes that hold their settings, with all fields, and those for llama."""

from collections.abc import Iterable
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from solver.catalog.algorithm import AlgorithmConfig

_STANDARD = "llama"
"""The model type whose settings stand for those of all models with modules of the same names."""
_KINDS = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    NoneType: "null",
}


def _kinds(hint: Any) -> Iterable[str]:
    """Yield the kinds of JSON value that a type is read from; a class of Quark's own is read from an object."""
    if get_origin(hint) in {Union, UnionType}:
        for part in get_args(hint):
            yield from _kinds(part)
    else:
        yield _KINDS.get(get_origin(hint) or hint, "object")


def _config(settings: Any, standard: Any) -> AlgorithmConfig:
    """Return how an algorithm is configured, by settings of any model type and by those for llama."""
    kind = type(settings)
    hints = get_type_hints(kind)
    named = [item for item in fields(kind) if item.init and item.name != "name"]
    values = None if standard is None else {item.name: getattr(standard, item.name) for item in named}
    return AlgorithmConfig.model_validate(
        {
            "type": kind.__name__,
            "module": kind.__module__,
            "name": settings.name,
            "fields": {item.name: tuple(_kinds(hints[item.name])) for item in named},
            "required": tuple(i.name for i in named if i.default is MISSING and i.default_factory is MISSING),
            "standard": values,
        }
    )


def read_algorithms() -> dict[str, AlgorithmConfig | None]:
    """Return how each algorithm of the installed Quark is configured; None where it has no settings."""
    from quark.torch.quantization.config.algo_configs import ALGORITHM_CONFIG_MAPS, get_supported_algorithm_types

    found: dict[str, AlgorithmConfig | None] = {}
    for name in get_supported_algorithm_types():
        by_type = ALGORITHM_CONFIG_MAPS.get(name, {})
        known = next(iter(by_type.values()), None)
        found[name] = None if known is None else _config(known, by_type.get(_STANDARD))
    return found

"""Applies translations: the configuration of a type that transformers lacks, as one that it builds."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from solver.catalog import Catalog
from solver.catalog.roles import Roles
from solver.catalog.translation import Translation
from solver.errors import BadInputError
from solver.intake.inventory import LayerFamily, ParameterGroup
from solver.intake.layers import generic_name
from solver.intake.record import to_ranges
from solver.intake.source import ModelSource

_QUANTIZATION_KEYS = ("quantization_config", "quantization")


def find_translation(source: ModelSource, catalog: Catalog) -> Translation | None:
    """Return how a configuration is to be read instead, or None if transformers builds its type itself.

    Raises
    ------
    BadInputError
        If there is a translation for the type, but not for this configuration of it.

    """
    model_type = source.config.get("model_type")
    found = catalog.translations.find(model_type) if isinstance(model_type, str) else None
    if found is None or found.model_type != model_type:
        return None
    if not found.fits(source.config):
        if found.reads_as == model_type:
            return None
        conditions = ", ".join(f"{name} is {value!r}" for name, value in found.when.items())
        raise BadInputError(
            f"transformers has no class for model type {model_type!r}, and the translation to {found.reads_as} holds "
            f"only where {conditions}.",
            where=source.name,
            mend="`--trust-remote-code` runs the model's own code, if it lies beside the configuration.",
        )
    return found


def _holder(config: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    *parents, leaf = path.split(".")
    for name in parents:
        inner = config.get(name)
        config[name] = dict(inner) if isinstance(inner, Mapping) else {}
        config = config[name]
    return config, leaf


def _start(translation: Translation, config: Mapping[str, Any]) -> dict[str, Any]:
    if translation.nested is None:
        return dict(config)
    inner = config.get(translation.nested)
    if not isinstance(inner, Mapping):
        raise KeyError(f"{translation.nested} is missing")
    return {**_storage(config), **inner}


def _storage(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what says how the checkpoint is stored: it stays beside the language model."""
    return {key: config[key] for key in ("torch_dtype", "dtype", *_QUANTIZATION_KEYS) if key in config}


def _whole(config: Mapping[str, Any], name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is {'missing' if value is None else f'{value!r}, which is no whole number'}")
    return value


def _quotient(name: str, value: int, divisor: int) -> int:
    quotient, rest = divmod(value, divisor) if divisor > 0 else (0, 1)
    if rest:
        raise ValueError(f"{name} {value} is not divisible by {divisor}")
    return quotient


def _derived(rule: str, config: Mapping[str, Any]) -> int:
    product, _, divisor = rule.partition("/")
    factor, _, name = product.rpartition("*")
    value = int(factor or 1) * _whole(config, name)
    return _quotient(name, value, _whole(config, divisor)) if divisor else value


def _inside(name: str | None, config: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration with the language model's fields inside the one of that name, if there is one."""
    if name is None:
        return config
    stored = _storage(config)
    beside = {"model_type", "architectures", *stored}
    return {**stored, name: {key: value for key, value in config.items() if key not in beside}}


def _translate(translation: Translation, config: Mapping[str, Any]) -> dict[str, Any]:
    result = _start(translation, config)
    for old, new in translation.rename.items():
        if old in result:
            result[new] = result.pop(old)
    for name, rule in translation.derive.items():
        if result.get(name) is None:
            result[name] = _derived(rule, result)
    for name, divisor in translation.divide.items():
        result[name] = _quotient(name, _whole(result, name), divisor)
    for path in translation.as_float:
        holder, leaf = _holder(result, path)
        if holder.get(leaf) is not None:
            holder[leaf] = float(holder[leaf])
    for path in ("auto_map", *translation.drop):
        holder, leaf = _holder(result, path)
        holder.pop(leaf, None)
    result.update(translation.set)
    result = _inside(translation.inside, result)
    for path, value in translation.default.items():
        holder, leaf = _holder(result, path)
        holder.setdefault(leaf, value)
    result["model_type"] = translation.reads_as
    result["architectures"] = [translation.architecture] if translation.architecture else None
    return result


def translated(source: ModelSource, translation: Translation) -> ModelSource:
    """Return the source with the configuration that transformers builds instead.

    Raises
    ------
    BadInputError
        If a field that the translation needs is missing or has no usable value.

    """
    try:
        return replace(source, config=_translate(translation, source.config))
    except (ArithmeticError, KeyError, TypeError, ValueError) as error:
        raise BadInputError(
            f"cannot be read as {translation.reads_as}: {str(error).strip(chr(39))}.",
            where=source.name,
            mend=f"Is it the whole config.json of a {translation.model_type} model?",
        ) from error


def real_path(path: str, translation: Translation | None) -> str:
    """Return the path in the real model of a module that is no linear layer, or a glob for all of its part."""
    for part in translation.parts if translation is not None else ():
        if not part.own_names and path.startswith(f"{part.path}."):
            return f"{part.path}.*"
    return path if translation is None else translation.modules.get(path, path)


def real_names(layers: tuple[LayerFamily, ...], translation: Translation, roles: Roles) -> tuple[LayerFamily, ...]:
    """Return the families under the paths of the real model; those that fall together there are fused."""
    groups: dict[tuple[Any, ...], list[LayerFamily]] = defaultdict(list)
    beside = {generic_name(tensor.name) for part in translation.parts for tensor in part.tensors}
    inside = tuple(f"{part.path}." for part in translation.parts)
    for family in layers:
        name = translation.modules.get(family.name, family.name)
        if family.name not in beside and not family.name.startswith(inside):
            name = translation.prefix + name
        groups[name, family.in_features, family.blocks, family.experts, family.bias, family.stored].append(family)
    return tuple(
        first.model_copy(
            update={
                "name": name,
                "role": roles.of(name).name,
                "out_features": sum(family.out_features for family in families),
                "tied": all(family.tied for family in families),
            }
        )
        for (name, *_), families in groups.items()
        for first in families[:1]
    )


def uncounted_groups(translation: Translation, text_config: Any) -> tuple[ParameterGroup, ...]:
    """Return the parameters of every block that the type read instead does not have."""
    blocks = text_config.num_hidden_layers
    return tuple(
        ParameterGroup(
            part=tensor.part,
            blocks=to_ranges(range(blocks)),
            elements=blocks * tensor.elements(text_config.hidden_size, text_config.vocab_size),
            tensors=blocks,
        )
        for tensor in translation.uncounted
    )

"""What a quantization configuration states, layer by layer: facts, and the layers that they hold for."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Facts = dict[str, Any]
"""Fields of a statement by their dotted path."""

MLX = "mlx"
_CLASS_TARGETS = frozenset({"Linear"})
MODELOPT = "modelopt"
_TABLE_ALONE = "MIXED_PRECISION"
"""ModelOpt's algorithm of checkpoints whose layers are quantized as a table says, and no others."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Facts of one format, and the patterns of the layers that have it; no patterns are all that it covers.

    Facts None: these layers are not quantized.
    """

    facts: Facts | None
    targets: tuple[str, ...] | None = None


def flatten(value: Any, path: str = "") -> Facts:
    """Return all scalars of nested records by dotted path; a list of numbers becomes `128x128`."""
    if isinstance(value, Mapping):
        parts = [flatten(inner, f"{path}.{key}" if path else str(key)) for key, inner in value.items()]
    elif isinstance(value, list) and value and all(isinstance(inner, int) for inner in value):
        return {path: "x".join(map(str, value))}
    elif isinstance(value, list) and all(isinstance(inner, Mapping) for inner in value):
        parts = [flatten(inner, f"{path}.{index}") for index, inner in enumerate(value)]
    elif isinstance(value, list):
        return {}
    else:
        return {path: value}
    return {key: scalar for part in parts for key, scalar in part.items()}


def _by_facts(table: Mapping[str, Any], base: Facts) -> list[Statement]:
    """Return one statement for each different entry of a table by name: such tables have thousands of names."""
    names: dict[str, list[str]] = {}
    for name, entry in table.items():
        names.setdefault(json.dumps(entry, sort_keys=True), []).append(name)
    return [Statement({**base, **flatten(json.loads(entry))}, tuple(found)) for entry, found in names.items()]


def listed(value: Any) -> tuple[str, ...]:
    """Return the entries of a list of names; a name alone is a list of one, anything else an empty one."""
    return (value,) if isinstance(value, str) else tuple(map(str, value)) if isinstance(value, list) else ()


def _group(group: Mapping[str, Any], base: Facts) -> Statement:
    targets = listed(group.get("targets"))
    facts = {**base, **flatten({key: value for key, value in group.items() if key != "targets"})}
    if not targets or _CLASS_TARGETS & set(targets):
        return Statement(facts)
    return Statement(facts, targets)


def _quark(block: Mapping[str, Any], base: Facts) -> list[Statement]:
    def statement(entry: Any, targets: tuple[str, ...] | None) -> Statement:
        if entry is not None and not isinstance(entry, Mapping):
            return Statement(base, targets)
        weighted = entry is not None and entry.get("weight") is not None
        return Statement({**base, **flatten(entry)} if weighted else None, targets)

    layers = block.get("layer_quant_config")
    return [
        *(statement(entry, (pattern,)) for pattern, entry in (layers.items() if isinstance(layers, Mapping) else ())),
        statement(block.get("global_quant_config"), None),
    ]


def _mlx(block: Mapping[str, Any], base: Facts) -> list[Statement]:
    own = [
        Statement({**base, **flatten(value)} if value else None, (str(name),))
        for name, value in block.items()
        if isinstance(value, Mapping) or value is False
    ]
    return [*own, Statement(base)]


def statements(block: Mapping[str, Any], config: Facts) -> list[Statement]:
    """Return what a block of quantization settings states, the most particular first.

    Parameters
    ----------
    block
        The settings as they are found.
    config
        Scalars of the model's own configuration, by their names after `config.`.

    """
    scalars = {key: value for key, value in block.items() if not isinstance(value, Mapping)}
    base = {**config, **flatten(scalars)}
    if block.get("quant_method") == MLX:
        return _mlx(block, base)
    if block.get("quant_method") == "quark":
        return _quark(block, base)
    layers, groups = block.get("quantized_layers"), block.get("config_groups")
    if isinstance(layers, Mapping) and layers:
        table = _by_facts(layers, {**config, "quant_method": MODELOPT})
        # Another method beside the table (DeepSeek-V4's fp8) holds for the layers that the table does not name.
        alone = base.get("quant_algo") == _TABLE_ALONE and base.get("quant_method", MODELOPT) == MODELOPT
        return table if alone else [*table, Statement(base)]
    if isinstance(groups, Mapping) and groups:
        return [_group(group, base) if isinstance(group, Mapping) else Statement(base) for group in groups.values()]
    return [Statement(base)]

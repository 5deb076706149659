"""What lies in a folder that Quark exported, against the plan that it carried out: layer by layer, and to the byte."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from solver.catalog import NATIVE, Catalog
from solver.catalog.algorithm import Algorithm
from solver.catalog.scheme import Scheme, TensorFormat
from solver.cost.checkpoint import float32_scale_bytes
from solver.intake.analysis import ModelAnalysis
from solver.intake.inventory import Inventory
from solver.plan.context import template_of
from solver.plan.document import QuantPlan
from tests.quark.exports import predicted_bytes, predicted_layers, size_of, tensors_in
from tests.quark.real import planned

_FORMATS = {"fp4": "fp4_e2m1"}
_KEPT_AS = {"mxfp4_experts": "mxfp4_weight_only"}
"""Schemes by the stored formats that they write: what stays native in one of these is exported like that."""
_NARROW = frozenset({"fp4", "int4"})


@dataclass(frozen=True)
class Carried:
    """A finished export beside its plan; the differences are sentences."""

    patterns: int
    layers: int
    predicted_bytes: int
    exported_bytes: int
    float32_bytes: int
    """Of the predicted ones, those that no bill in service has: scales that an algorithm leaves in float32."""
    tensors: tuple[str, ...]
    config: tuple[str, ...]

    @property
    def difference(self) -> int:
        """Bytes that the files have beyond the prediction."""
        return self.exported_bytes - self.predicted_bytes


def _exported_as(plan: QuantPlan, inventory: Inventory) -> dict[str, str]:
    """Return the scheme that each linear is written in."""
    stored = {path: family.stored for family in inventory.layers if family.quantizable for path in family.paths()}
    return {
        path: _KEPT_AS.get(stored[path] or "", NATIVE) if scheme == NATIVE else scheme
        for path, scheme in planned(plan, stored).items()
    }


def _format(spec: Any) -> tuple[Any, ...] | None:
    """Return an operand as the exported config describes it; of two stages the one that holds the values."""
    if spec is None:
        return None
    stages = spec if isinstance(spec, list) else [spec]
    found = next((stage for stage in stages if stage["dtype"] in _NARROW), stages[0])
    granularity = found["qscheme"] or "per_group"
    if granularity == "per_channel" and found["ch_axis"] == 1:
        granularity = "per_token"
    return _FORMATS.get(found["dtype"], found["dtype"]), granularity, found["group_size"], stages[0]["is_dynamic"]


def _meant(operand: TensorFormat | None, *, of_inputs: bool) -> tuple[Any, ...] | None:
    if operand is None:
        return None
    dynamic = operand.dynamic if of_inputs else False
    return operand.format, operand.granularity, operand.group_size, dynamic


def _stated(config: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    """Return what the exported config says of a layer, by Quark's own precedence; None is native."""
    if any(fnmatchcase(path, pattern) for pattern in config["exclude"]):
        return None
    entries = config["layer_quant_config"]
    found = entries.get(path) or next((entries[item] for item in entries if fnmatchcase(path, item)), None)
    return found or config["global_quant_config"]


def config_differences(
    config: Mapping[str, Any], schemes: Mapping[str, str], kv_patterns: tuple[str, ...], catalog: Catalog
) -> Iterator[str]:
    """Yield the layers of which the exported config says something else than the plan."""
    for path, name in schemes.items():
        stated = _stated(config, path) or {}
        scheme: Scheme | None = None if name == NATIVE else catalog.schemes.get(name)
        meant = (
            _meant(None if scheme is None else scheme.weight, of_inputs=False),
            _meant(None if scheme is None else scheme.activation, of_inputs=True),
        )
        found = (_format(stated.get("weight")), _format(stated.get("input_tensors")))
        if meant != found:
            yield f"{path}: planned {name}, the exported config says {found}"
    wanted = sorted(kv_patterns)
    if sorted(config["kv_cache_quant_config"]) != wanted or sorted(config["export"]["kv_cache_group"]) != wanted:
        yield f"the KV cache: planned for {wanted}, the exported config says {sorted(config['kv_cache_quant_config'])}"


def _float32_scales(
    inventory: Inventory, schemes: Mapping[str, str], algorithms: list[Algorithm], catalog: Catalog
) -> dict[str, int]:
    """Return the scales that the algorithms leave in float32, with the bytes that these have beyond bfloat16."""
    found = {}
    for family in inventory.layers:
        for path in family.paths() if family.quantizable else ():
            scheme = None if schemes[path] == NATIVE else catalog.schemes.get(schemes[path])
            more = float32_scale_bytes(scheme, family.in_features, family.out_features, algorithms, 2)
            if more:
                found[f"{path}.weight_scale"] = more
    return found


def compare(plan: QuantPlan, analysis: ModelAnalysis, folder: Path, catalog: Catalog) -> Carried:
    """Return what an exported folder holds, against the plan."""
    inventory, template = analysis.inventory, template_of(analysis, catalog)
    assert inventory is not None
    schemes = _exported_as(plan, inventory)
    kv_patterns = template.kv_layers if plan.kv_cache_scheme is not None else ()
    tensors = tensors_in(folder)
    of_layers = {name: tensor for name, tensor in tensors.items() if name.rpartition(".")[0] in schemes}
    algorithms = [catalog.algorithms.get(name) for name in (plan.algorithm or "").split(",") if name]
    expected = predicted_layers(inventory, schemes, kv_patterns, catalog)
    scales = _float32_scales(inventory, schemes, algorithms, catalog)
    expected |= {
        name: expected[name]._replace(dtype="F32", size_bytes=2 * expected[name].size_bytes) for name in scales
    }
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))["quantization_config"]
    return Carried(
        patterns=len(plan.layer_quant_config) + len(set(plan.exclude_layers) - set(template.exclude_layers)),
        layers=len(schemes),
        predicted_bytes=predicted_bytes(inventory, planned(plan, schemes), kv_patterns, catalog) + sum(scales.values()),
        exported_bytes=size_of(tensors),
        float32_bytes=sum(scales.values()),
        tensors=tuple(
            f"{name}: planned {expected.get(name)}, exported {of_layers.get(name)}"
            for name in sorted(expected.keys() | of_layers.keys())
            if expected.get(name) != of_layers.get(name)
        ),
        config=tuple(config_differences(config, schemes, kv_patterns, catalog)),
    )

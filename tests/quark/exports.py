"""Real exports of small models, and what the planner says of their tensors and bytes."""

import copy
import json
import struct
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from solver.catalog import NATIVE, Catalog
from solver.catalog.scheme import Scheme
from solver.catalog.template import Template
from solver.cost.parameters import other_bytes
from solver.cost.weights import kv_scale_bytes, layer_bytes
from solver.intake.inventory import Inventory, LayerFamily
from solver.rules.patterns import matches_path
from solver.rules.service import Service


class Tensor(NamedTuple):
    """A tensor of a safetensors file."""

    dtype: str
    shape: tuple[int, ...]
    size_bytes: int


def export(model: Any, quant_config: Any, folder: Path, tokens: tuple[int, int] = (4, 16)) -> dict[str, Tensor]:
    """Quantize a copy of a model with Quark, export it, and return the tensors of the files.

    `tokens` are the sequences that Quark calibrates with, and their length.
    """
    import torch
    from quark.torch import ModelQuantizer, export_safetensors

    torch.manual_seed(0)
    sequences = torch.randint(3, model.config.get_text_config().vocab_size, tokens)
    quantizer = ModelQuantizer(quant_config)
    # Compiling Quark's kernels for each shape takes longer than running them.
    with warnings.catch_warnings(), torch.compiler.set_stance("force_eager"), torch.no_grad():
        warnings.simplefilter("ignore")
        batches = torch.utils.data.DataLoader(sequences, batch_size=1)
        frozen = quantizer.freeze(quantizer.quantize_model(copy.deepcopy(model), batches))
        export_safetensors(
            model=frozen,
            output_dir=str(folder),
            custom_mode="quark",
            weight_format="real_quantized",
            pack_method="reorder",
        )
    return tensors_in(folder)


def tensors_in(folder: Path) -> dict[str, Tensor]:
    """Return the tensors of all safetensors files of a folder, from their headers."""
    found: dict[str, Tensor] = {}
    for path in folder.glob("*.safetensors"):
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(length))
        for name, tensor in header.items():
            if name != "__metadata__":
                first, last = tensor["data_offsets"]
                found[name] = Tensor(tensor["dtype"], tuple(tensor["shape"]), last - first)
    return found


def size_of(tensors: Mapping[str, Tensor]) -> int:
    """Return the bytes of all tensors."""
    return sum(tensor.size_bytes for tensor in tensors.values())


def native_layers(inventory: Inventory, scheme: Scheme, template: Template) -> list[str]:
    """Return the patterns that keep layers native: the template's, and the paths that the scheme cannot pack."""
    unfit = [
        path
        for family in inventory.layers
        if family.quantizable and not scheme.packs(family.in_features, family.out_features)
        for path in family.paths()
    ]
    return [*template.exclude_layers, *unfit]


def uniform(inventory: Inventory, scheme: Scheme, template: Template) -> dict[str, str]:
    """Return the scheme of each linear where one scheme holds for all that is not kept native."""
    excludes = native_layers(inventory, scheme, template)
    return {
        path: NATIVE if any(matches_path(pattern, path) for pattern in excludes) else scheme.name
        for family in inventory.layers
        if family.quantizable
        for path in family.paths()
    }


def predicted_layer(family: LayerFamily, path: str, scheme: Scheme | None) -> dict[str, Tensor]:
    """Return the tensors of one linear of a bfloat16 model."""
    inputs, outputs = family.in_features, family.out_features
    bias = {f"{path}.bias": Tensor("BF16", (outputs,), 2 * outputs)} if family.bias else {}
    if scheme is None:
        weight = {f"{path}.weight": Tensor("BF16", (outputs, inputs), 2 * inputs * outputs)}
        return bias if family.tied else {**weight, **bias}
    stored = {
        f"{path}.{tensor.name}": Tensor(
            "BF16" if tensor.dtype == "model" else tensor.dtype,
            tuple(axis.size(inputs, outputs) for axis in tensor.shape),
            tensor.size_bytes(inputs, outputs, 2),
        )
        for tensor in scheme.storage
    }
    return {**stored, **bias}


def predicted_layers(
    inventory: Inventory, schemes: Mapping[str, str], kv_patterns: tuple[str, ...], catalog: Catalog
) -> dict[str, Tensor]:
    """Return the tensors of all linears; `kv_patterns` are empty without an fp8 KV cache."""
    found: dict[str, Tensor] = {}
    for family in inventory.layers:
        for path in family.paths() if family.quantizable else ():
            name = schemes[path]
            found |= predicted_layer(family, path, None if name == NATIVE else catalog.schemes.get(name))
            if any(matches_path(pattern, path) for pattern in kv_patterns):
                for tensor in catalog.kv_schemes.get("fp8").storage:
                    found[f"{path}.{tensor.name}"] = Tensor("BF16", (), tensor.size_bytes(0, 0, 2))
    return found


def predicted_bytes(
    inventory: Inventory, schemes: Mapping[str, str], kv_patterns: tuple[str, ...], catalog: Catalog
) -> int:
    """Return the bytes of the whole checkpoint by the planner's own functions."""
    service = Service(catalog.hardware.get("mi300x"), catalog.backends.get("none"), 4096, 1, 1)
    total = other_bytes(service, catalog.roles, inventory)
    for family in inventory.layers:
        role = catalog.roles.named(family.role)
        for path in family.paths():
            name = schemes.get(path, NATIVE)
            scheme = None if name == NATIVE else catalog.schemes.get(name)
            total += layer_bytes(family, scheme, role, service, inventory)
    kv = catalog.kv_schemes.get("fp8")
    return total + (kv_scale_bytes(kv, kv_patterns, inventory) if kv_patterns else 0)

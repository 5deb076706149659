"""From the modules of a meta model to layer families, named as Quark's patterns will see them."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from solver.catalog.roles import Roles
from solver.intake.inventory import LayerFamily, ParameterGroup, to_ranges

_INDEX = re.compile(r"(?<=\.)\d+(?=\.|$)")
_EXPERT = re.compile(r"(?<=experts\.)\d+(?=\.|$)")


@dataclass(frozen=True, slots=True)
class FoundLayer:
    """One matrix as found: its path with `{expert}` set already, its shape, and the tensors it is made of."""

    path: str
    in_features: int
    out_features: int
    parameters: tuple[str, ...]
    experts: int = 0
    bias: bool = False
    quantizable: bool = True
    tied: bool = False


def family_name(path: str) -> tuple[str, int | None]:
    """Return a path with `{block}` for its first index, and that index: `model.layers.3.mlp` -> 3."""
    match = _INDEX.search(path)
    if match is None:
        return path, None
    return f"{path[: match.start()]}{{block}}{path[match.end() :]}", int(match.group())


def expert_family(path: str) -> tuple[str, int | None]:
    """Return a path with `{expert}` for the index of an expert, and that index, or the path and None."""
    match = _EXPERT.search(path)
    if match is None:
        return path, None
    return f"{path[: match.start()]}{{expert}}{path[match.end() :]}", int(match.group())


def generic_name(path: str) -> str:
    """Return a path with placeholders for its expert and its block, as families are named."""
    return family_name(expert_family(path)[0])[0]


def _fused_experts(path: str, module: Any) -> Iterator[FoundLayer]:
    """Yield what Quark makes of fused 3-D expert parameters.

    Quark replaces every experts module that transformers decorates (`is_transposed` is set by the decorator):
    each expert becomes linears `gate_proj`, `up_proj` and `down_proj`; interleaved gate and up (gpt_oss) stay one
    `gate_up_proj`. Undecorated ones (llama4) stay as they are: native, unseen by Quark.
    """
    replaced = hasattr(module, "is_transposed")
    # Undecorated experts are stored (experts, in, out), as llama4 has them.
    transposed = getattr(module, "is_transposed", True)
    interleaved = not getattr(module, "is_concatenated", True)
    has_bias = bool(getattr(module, "has_bias", False))
    for name, parameter in module.named_parameters(recurse=False):
        if parameter.dim() != 3 or not name.endswith("_proj"):
            continue
        experts, rows, columns = parameter.shape
        out_features, in_features = (columns, rows) if transposed else (rows, columns)
        split = name == "gate_up_proj" and replaced and not interleaved
        for number, leaf in enumerate(("gate_proj", "up_proj") if split else (name,)):
            yield FoundLayer(
                path=f"{path}.{{expert}}.{leaf}" if replaced else f"{path}.{leaf}",
                in_features=in_features,
                out_features=out_features // 2 if split else out_features,
                parameters=(f"{path}.{name}",) if number == 0 else (),
                experts=experts,
                bias=has_bias,
                quantizable=replaced,
            )


def find_layers(model: Any) -> list[FoundLayer]:
    """Return all matrices of a meta model that are or become linear layers, in module order."""
    import torch

    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, torch.nn.Embedding)}
    found: list[FoundLayer] = []
    for path, module in model.named_modules():
        if isinstance(module, torch.nn.Linear):
            found.append(
                FoundLayer(
                    path=path,
                    in_features=module.in_features,
                    out_features=module.out_features,
                    parameters=(f"{path}.weight",),
                    bias=module.bias is not None,
                    # Quark replaces the class itself: routers and heads that derive from it stay as they are.
                    quantizable=type(module) is torch.nn.Linear,
                    tied=id(module.weight) in embeddings,
                )
            )
        elif path.rsplit(".", 1)[-1] == "experts":
            found.extend(_fused_experts(path, module))
    return found


def find_convolutions(model: Any) -> tuple[str, ...]:
    """Return the paths of 2-D convolutions: Quark gives them the global scheme unless they are excluded."""
    import torch

    kinds = (torch.nn.Conv2d, torch.nn.ConvTranspose2d)
    return tuple(path for path, module in model.named_modules() if isinstance(module, kinds))


def saved_buffer_bytes(model: Any) -> int:
    """Return the bytes of all persistent buffers, each in its own type."""
    return sum(
        buffer.numel() * buffer.element_size()
        for module in model.modules()
        for name, buffer in module.named_buffers(recurse=False)
        if name not in module._non_persistent_buffers_set
    )


def to_families(found: list[FoundLayer], roles: Roles) -> tuple[LayerFamily, ...]:
    """Return layers grouped by name, shape and kind, in order of first appearance."""
    blocks: dict[LayerFamily, list[int]] = defaultdict(list)
    for layer in found:
        name, block = family_name(layer.path)
        family = LayerFamily(
            name=name,
            role=roles.of(name).name,
            in_features=layer.in_features,
            out_features=layer.out_features,
            experts=layer.experts,
            bias=layer.bias,
            quantizable=layer.quantizable,
            tied=layer.tied,
        )
        blocks[family].extend([] if block is None else [block])
    return tuple(family.model_copy(update={"blocks": to_ranges(indices)}) for family, indices in blocks.items())


def part_of(name: str, roles: Roles) -> str:
    """Return the part of the model that a parameter outside the layers belongs to."""
    kind = roles.of(name.rsplit(".", 1)[0]).kind
    leaf = name.rsplit(".", 1)[-1]
    if kind == "vision":
        return "vision"
    if kind in {"embedding", "head"}:
        return "embedding"
    if "norm" in name.lower():
        return "norm"
    if kind == "router":
        return "router"
    if leaf.endswith("bias"):
        return "bias"
    return "other"


def other_parameters(model: Any, found: list[FoundLayer], roles: Roles) -> tuple[ParameterGroup, ...]:
    """Return the parameters that no layer holds, by part; shared ones count once.

    The model is built in the checkpoint's type: what is wider is what transformers keeps in float32 (some routers).
    """
    import torch

    in_layers = {name for layer in found for name in layer.parameters}
    elements: dict[str, int] = defaultdict(int)
    tensors: dict[str, int] = defaultdict(int)
    wide: dict[str, int] = defaultdict(int)
    for name, parameter in model.named_parameters():
        if name not in in_layers:
            part = part_of(name, roles)
            elements[part] += parameter.numel()
            tensors[part] += 1
            wide[part] += parameter.numel() if parameter.dtype is torch.float32 else 0
    return tuple(
        ParameterGroup.model_validate(
            {"part": part, "elements": elements[part], "tensors": tensors[part], "wide_elements": wide[part]}
        )
        for part in sorted(elements)
    )

"""From the modules of a meta model to layer families, named as Quark's patterns will see them."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from solver.catalog.roles import RoleKind, Roles
from solver.intake.inventory import LayerFamily
from solver.intake.record import to_ranges

StoredAs = Callable[[str, RoleKind], str | None]
"""Gives the stored format of a layer by its path, experts numbered, and the kind of its role."""

Modules = Sequence[tuple[str, Any]]
"""The modules of a meta model with their paths, in order, each once."""

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


def _stacked_experts(path: str, module: Any) -> Iterator[FoundLayer]:
    """Yield what Quark makes of experts whose 2-D parameters lie below each other (dbrx).

    `w1`, `v1` and `w2` are (experts * ffn, hidden) each; `w2` is stored transposed.
    """
    width, hidden = module.ffn_hidden_size, module.hidden_size
    for leaf, inputs, outputs in (("w1", hidden, width), ("v1", hidden, width), ("w2", width, hidden)):
        yield FoundLayer(
            path=f"{path}.{{expert}}.{leaf}",
            in_features=inputs,
            out_features=outputs,
            parameters=(f"{path}.{leaf}",),
            experts=module.moe_num_experts,
        )


def find_layers(modules: Modules) -> list[FoundLayer]:
    """Return all matrices of a meta model that are or become linear layers, in module order."""
    import torch

    embeddings = {id(module.weight) for _, module in modules if isinstance(module, torch.nn.Embedding)}
    found: list[FoundLayer] = []
    for path, module in modules:
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
        elif "v1" in module._parameters and hasattr(module, "moe_num_experts"):
            found.extend(_stacked_experts(path, module))
    return found


def find_convolutions(modules: Modules) -> tuple[str, ...]:
    """Return the paths of 2-D convolutions: Quark gives them the global scheme unless they are excluded."""
    import torch

    kinds = (torch.nn.Conv2d, torch.nn.ConvTranspose2d)
    return tuple(path for path, module in modules if isinstance(module, kinds))


def not_quantized(path: str, kind: RoleKind) -> str | None:
    """Return the stored format of a layer of a checkpoint that is not quantized: none."""
    return None


def to_families(found: list[FoundLayer], roles: Roles, stored_as: StoredAs = not_quantized) -> tuple[LayerFamily, ...]:
    """Return layers grouped by name, shape, kind and stored format, in order of first appearance."""
    blocks: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for layer in found:
        name, block = family_name(layer.path)
        stored = stored_as(layer.path.replace("{expert}", "0"), roles.of(name).kind)
        shape = (layer.in_features, layer.out_features, layer.experts)
        indices = blocks[name, *shape, layer.bias, layer.quantizable, layer.tied, stored]
        if block is not None:
            indices.append(block)
    return tuple(
        LayerFamily(
            name=name,
            role=roles.of(name).name,
            in_features=in_features,
            out_features=out_features,
            blocks=to_ranges(indices),
            experts=experts,
            bias=bias,
            quantizable=quantizable,
            tied=tied,
            stored=stored,
        )
        for (name, in_features, out_features, experts, bias, quantizable, tied, stored), indices in blocks.items()
    )

"""The parameters of a meta model that no linear layer holds, in groups."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from solver.catalog.roles import Roles
from solver.intake.inventory import ParameterGroup
from solver.intake.layers import FoundLayer, StoredAs, family_name, not_quantized
from solver.intake.record import to_ranges

_QUANTIZED_PARTS = frozenset({"embedding", "router"})
"""Parts outside the layers that some formats quantize too."""


def part_of(name: str, roles: Roles) -> str:
    """Return the part of the model that a parameter outside the layers belongs to."""
    role = roles.of(name.rsplit(".", 1)[0])
    kind = role.kind
    leaf = name.rsplit(".", 1)[-1]
    if kind == "vision":
        return "vision"
    if kind in {"embedding", "head"}:
        # Tables of positions are on every device, those of words are cut.
        return "other" if role.parallel == "replicated" else "embedding"
    if "norm" in name.lower():
        return "norm"
    if kind == "router":
        return "router"
    if leaf.endswith("bias"):
        return "bias"
    return "other"


def other_parameters(
    named: Iterable[tuple[str, Any]], found: list[FoundLayer], roles: Roles, stored_as: StoredAs = not_quantized
) -> tuple[ParameterGroup, ...]:
    """Return the parameters that no layer holds, by part, stored format and blocks; shared ones count once.

    The model is built in the checkpoint's type: what is wider is what transformers keeps in float32 (some routers).
    """
    import torch

    in_layers = {name for layer in found for name in layer.parameters}
    members: dict[tuple[str, str | None, int | None], list[tuple[Any, bool]]] = defaultdict(list)
    for name, parameter in named:
        if name not in in_layers:
            family, block = family_name(name)
            part, module = part_of(family, roles), name.rsplit(".", 1)[0]
            matrix = parameter.dim() == 2 and part in _QUANTIZED_PARTS
            stored = stored_as(module, roles.of(family.rsplit(".", 1)[0]).kind) if matrix else None
            cut = part != "vision" and roles.cuts(family)
            members[part, stored, None if part == "vision" else block].append((parameter, cut))
    alike: dict[tuple[str, str, int, int, int, int, bool], list[int | None]] = defaultdict(list)
    for (part, stored, block), parameters in members.items():
        sizes = [(parameter.numel(), parameter.dtype is torch.float32, cut) for parameter, cut in parameters]
        elements = sum(size for size, _, _ in sizes)
        wide_elements = sum(size for size, wide, _ in sizes if wide)
        cut_elements = sum(size for size, _, cut in sizes if cut)
        key = part, stored or "", elements, len(parameters), wide_elements, cut_elements, block is None
        alike[key].append(block)
    return tuple(
        ParameterGroup.model_validate(
            {
                "part": part,
                "blocks": to_ranges(block for block in blocks if block is not None),
                "elements": elements * len(blocks),
                "tensors": tensors * len(blocks),
                "wide_elements": wide_elements * len(blocks),
                "cut_elements": cut_elements * len(blocks),
                "stored": stored or None,
            }
        )
        for (part, stored, elements, tensors, wide_elements, cut_elements, _), blocks in sorted(alike.items())
    )

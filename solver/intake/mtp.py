"""The multi-token-prediction layers of a checkpoint, sized from the blocks that they copy."""

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from solver.catalog.mtp import MtpRule
from solver.catalog.roles import RoleKind, Roles
from solver.intake.inventory import LayerFamily, MultiTokenPrediction, to_ranges
from solver.intake.layers import family_name
from solver.intake.stored_sizes import StoredSize

_BLOCK = re.compile(r"(?:^|\.)layers\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class _Block:
    """What one block has in the built model: parameters, and buffers that are saved."""

    elements: int
    buffers: StoredSize


@dataclass(frozen=True, slots=True)
class MtpFound:
    """The layers as the inventory records them, and their linear layers as families of one block each."""

    record: MultiTokenPrediction
    families: tuple[LayerFamily, ...]
    plain_elements: int
    """Parameters outside the linear layers, in the model's own type."""
    buffers: StoredSize


def _count(rule: MtpRule, text_config: Any) -> int:
    if isinstance(rule.layers, int):
        return rule.layers
    stated = getattr(text_config, rule.layers, None)
    return rule.default_layers if stated is None else int(stated)


def _blocks(model: Any, roles: Roles, text_blocks: int) -> dict[int, _Block]:
    """Return the blocks of the language model."""
    trained = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    elements: dict[int, int] = defaultdict(int)
    buffers: dict[int, StoredSize] = defaultdict(StoredSize)
    for name, tensor in model.state_dict(keep_vars=True).items():
        match = _BLOCK.search(name)
        if match is None or int(match[1]) >= text_blocks or roles.of(family_name(name)[0]).kind == "vision":
            continue
        block, count = int(match[1]), tensor.numel()
        if name in trained:
            elements[block] += count
        else:
            buffers[block] += StoredSize(count, count * tensor.element_size())
    return {block: _Block(count, buffers[block]) for block, count in elements.items()}


def _copied(rule: MtpRule, blocks: dict[int, _Block], text_config: Any) -> tuple[int, ...]:
    types = getattr(text_config, "layer_types", None) or []

    def largest(wanted: tuple[str, ...]) -> int:
        fitting = [block for block in blocks if not wanted or (block < len(types) and types[block] in wanted)]
        return max(fitting, key=lambda block: (blocks[block].elements, block))

    return tuple(largest(wanted) for wanted in rule.like)


def _path(family: LayerFamily, start: str) -> str:
    """Return where a layer like those of a family lies in the checkpoint, inside the module at `start`."""
    inside = family.name.split("{block}.", 1)[1]
    return f"{start}.{inside}".replace("{expert}", "0")


def find_mtp(
    rule: MtpRule | None,
    model: Any,
    text_config: Any,
    layers: tuple[LayerFamily, ...],
    roles: Roles,
    stored_as: Callable[[str, RoleKind], str | None],
) -> MtpFound | None:
    """Return the multi-token-prediction layers of the checkpoint, or None if it has none.

    `stored_as` gives the format in which a quantized checkpoint holds a path. `size_bytes` of the record is left
    open: whoever knows the layouts of the formats fills it in.
    """
    count = _count(rule, text_config) if rule is not None else 0
    if rule is None or count == 0:
        return None
    blocks = _blocks(model, roles, text_config.num_hidden_layers)
    copied = _copied(rule, blocks, text_config)
    start = rule.path.replace("{next}", str(text_config.num_hidden_layers))
    families = tuple(
        family.model_copy(
            update={
                "blocks": to_ranges([block]),
                "stored": stored_as(
                    f"{start}.{family.name.split('{block}.', 1)[1].replace('{expert}', '0')}",
                    roles.of(family.name).kind,
                ),
            }
        )
        for block in copied
        for family in layers
        if block in family.block_indices
    )
    own = {
        sharded: sum(
            tensor.elements(text_config.hidden_size, text_config.vocab_size)
            for tensor in rule.tensors
            if tensor.sharded is sharded
        )
        for sharded in (False, True)
    }
    parameters = sum(blocks[block].elements for block in copied)
    replicated = parameters - sum(family.weight_elements * family.count for family in families) + own[False]
    buffers = sum((blocks[block].buffers for block in copied), StoredSize())
    record = MultiTokenPrediction(
        layers=count,
        copied_blocks=copied,
        elements=count * (parameters + own[False] + own[True]),
        size_bytes=None,
        replicated_elements=count * replicated,
        sharded_elements=count * own[True],
    )
    return MtpFound(
        record=record,
        families=families * count,
        plain_elements=count * (replicated + own[True]),
        buffers=StoredSize(count * buffers.elements, count * buffers.size_bytes),
    )

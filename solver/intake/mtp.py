"""The multi-token-prediction layers of a checkpoint, sized from the blocks that they copy."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from solver.catalog.mtp import MtpRule, MtpTensor
from solver.catalog.roles import RoleKind, Roles
from solver.intake.inventory import LayerFamily, MultiTokenPrediction
from solver.intake.layers import family_name
from solver.intake.record import to_ranges
from solver.intake.stored_sizes import Storage, StoredSize

StoredAs = Callable[[str, RoleKind], str | None]


@dataclass(frozen=True, slots=True)
class _Block:
    """What one block has in the built model: parameters, and buffers that are saved."""

    elements: int
    buffers: StoredSize


@dataclass(frozen=True, slots=True)
class MtpFound:
    """All such layers of a checkpoint, together.

    Parameters
    ----------
    layers, copied_blocks
        How many there are, and the blocks whose layers each of them has too.
    families
        The linear layers of one of them, each family in the block that it copies.
    replicated_elements, sharded_elements
        Parameters outside these, by whether every device has them.
    buffers
        Saved buffers.

    """

    layers: int
    copied_blocks: tuple[int, ...]
    families: tuple[LayerFamily, ...]
    replicated_elements: int
    sharded_elements: int
    buffers: StoredSize

    @property
    def plain_elements(self) -> int:
        """Parameters outside the linear layers."""
        return self.replicated_elements + self.sharded_elements

    @property
    def elements(self) -> int:
        """All parameters."""
        return self.plain_elements + sum(family.weight_elements * family.count for family in self.all_families)

    @property
    def all_families(self) -> tuple[LayerFamily, ...]:
        """The linear layers of all of them."""
        return self.families * self.layers

    def size(self, storage: Storage) -> StoredSize:
        """Return their size as stored: only linear layers are quantized."""
        return storage.plain(self.plain_elements) + self.buffers + storage.of(self.all_families)

    def record(self, size_bytes: int | None) -> MultiTokenPrediction:
        """Return what the inventory keeps."""
        return MultiTokenPrediction(
            layers=self.layers,
            copied_blocks=self.copied_blocks,
            families=self.families,
            elements=self.elements,
            size_bytes=size_bytes,
            replicated_elements=self.replicated_elements,
            sharded_elements=self.sharded_elements,
            buffer_bytes=self.buffers.size_bytes,
        )


def _count(rule: MtpRule, text_config: Any) -> int:
    if isinstance(rule.layers, int):
        return rule.layers
    stated = getattr(text_config, rule.layers, None)
    return rule.default_layers if stated is None else int(stated)


def _lacks(rule: MtpRule, name: str) -> bool:
    """Whether a name lies in a module that the copy of a block does without."""
    return not set(rule.without).isdisjoint(name.split("."))


def _blocks(rule: MtpRule, model: Any, roles: Roles, text_blocks: int) -> dict[int, _Block]:
    """Return the blocks of the language model, as far as they are copied."""
    trained = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    elements: dict[int, int] = defaultdict(int)
    buffers: dict[int, StoredSize] = defaultdict(StoredSize)
    for name, tensor in model.state_dict(keep_vars=True).items():
        family, block = family_name(name)
        if block is None or block >= text_blocks or _lacks(rule, name) or roles.of(family).kind == "vision":
            continue
        count = tensor.numel()
        if name in trained:
            elements[block] += count
        else:
            buffers[block] += StoredSize(count, count * tensor.element_size())
    return {block: _Block(count, buffers[block]) for block, count in elements.items()}


def _copied(rule: MtpRule, blocks: dict[int, _Block], text_config: Any) -> tuple[int, ...]:
    lists = [getattr(text_config, name, None) or [] for name in ("layer_types", "mlp_layer_types")]

    def largest(wanted: tuple[str, ...]) -> int:
        types = {block: {kinds[block] for kinds in lists if block < len(kinds)} for block in blocks}
        fitting = [block for block in blocks if types[block].issuperset(wanted)]
        return max(fitting, key=lambda block: (blocks[block].elements, block))

    return tuple(largest(wanted) for wanted in rule.like)


def _copies(
    rule: MtpRule, layers: tuple[LayerFamily, ...], block: int, start: str, roles: Roles, stored_as: StoredAs
) -> list[LayerFamily]:
    """Return the layers of a block, each stored as what lies inside the module at `start` of the checkpoint is."""
    copies = []
    for family in layers:
        kind = roles.of(family.name).kind
        if block in family.block_indices and kind != "vision" and not _lacks(rule, family.name):
            path = f"{start}.{family.name.split('{block}.', 1)[1]}".replace("{expert}", "0")
            stored = stored_as(path, kind)
            copies.append(family.model_copy(update={"blocks": to_ranges([block]), "stored": stored}))
    return copies


def _linear(tensor: MtpTensor, start: str, sizes: tuple[int, int], roles: Roles, stored_as: StoredAs) -> LayerFamily:
    """Return a linear layer that no block has."""
    path = f"{start}.{tensor.name}"
    role = roles.of(path)
    outputs, inputs = tensor.sizes(*sizes)
    return LayerFamily(
        name=path, role=role.name, in_features=inputs, out_features=outputs, stored=stored_as(path, role.kind)
    )


def _own_elements(rule: MtpRule, model: Any) -> int:
    """Return the elements of the modules outside the blocks of which the layer has one of its own."""
    return sum(parameter.numel() for path in rule.own for parameter in model.get_submodule(path).parameters())


def find_mtp(
    rule: MtpRule | None,
    model: Any,
    text_config: Any,
    layers: tuple[LayerFamily, ...],
    roles: Roles,
    stored_as: StoredAs,
) -> MtpFound | None:
    """Return the multi-token-prediction layers of the checkpoint, or None if it has none.

    `stored_as` gives the format in which a quantized checkpoint holds a path.
    """
    count = _count(rule, text_config) if rule is not None else 0
    if rule is None or count == 0:
        return None
    blocks = _blocks(rule, model, roles, text_config.num_hidden_layers)
    copied = _copied(rule, blocks, text_config)
    start = rule.path.replace("{next}", str(text_config.num_hidden_layers))
    families = tuple(family for block in copied for family in _copies(rule, layers, block, start, roles, stored_as))
    in_layers = sum(family.weight_elements * family.count for family in families)
    sizes = (text_config.hidden_size, text_config.vocab_size)
    linear = tuple(_linear(tensor, start, sizes, roles, stored_as) for tensor in rule.tensors if tensor.linear)
    own = sum(tensor.elements(*sizes) for tensor in rule.tensors if not tensor.sharded and not tensor.linear)
    own += _own_elements(rule, model)
    sharded = sum(tensor.elements(*sizes) for tensor in rule.tensors if tensor.sharded)
    buffers = sum((blocks[block].buffers for block in copied), StoredSize())
    return MtpFound(
        layers=count,
        copied_blocks=copied,
        families=families + linear,
        replicated_elements=count * (sum(blocks[block].elements for block in copied) - in_layers + own),
        sharded_elements=count * sharded,
        buffers=StoredSize(count * buffers.elements, count * buffers.size_bytes),
    )

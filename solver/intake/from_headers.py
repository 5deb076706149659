"""An inventory from headers alone: for architectures that transformers has no class for."""

from collections import defaultdict
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from solver.catalog import Catalog
from solver.catalog.roles import Roles
from solver.errors import BadInputError
from solver.intake.caches import cache_groups
from solver.intake.inventory import DTYPE_BYTES, CacheGroup, Inventory, LayerFamily, MixtureOfExperts, ParameterGroup
from solver.intake.layers import FoundLayer, expert_family, generic_name, part_of, to_families
from solver.intake.shares import part_shares
from solver.intake.sort_tensors import SortedTensors, count_of, raw_config
from solver.intake.tally import to_differences
from solver.intake.tensors import Checkpoint, TensorInfo


def _layers(found: SortedTensors, hidden: int, biases: set[str]) -> list[FoundLayer]:
    """Return one layer for each matrix; the experts of a block, which are stored one by one, make one."""
    experts: dict[str, set[int]] = defaultdict(set)
    for tensor in found.matrices:
        path, expert = expert_family(tensor.name)
        if expert is not None:
            experts[path].add(expert)
    layers: dict[str, FoundLayer] = {}
    for tensor in found.matrices:
        name = expert_family(tensor.name)[0]
        out_features, in_features = tensor.shape or (0, 0)
        path = name.removesuffix(".weight")
        layers[path] = FoundLayer(
            path=path,
            in_features=in_features,
            out_features=out_features,
            parameters=(),
            experts=len(experts[name]),
            bias=f"{tensor.name.removesuffix('.weight')}.bias" in biases,
        )
    for tensor in found.fused:
        count, rows, columns = tensor.shape or (0, 0, 0)
        # (experts, in, out) where the hidden size stands on the side of the inputs of gate and up, or outputs of down.
        down = found.roles.of(generic_name(tensor.name.removesuffix(".weight"))).name == "expert_down"
        transposed = columns == hidden != rows if down else rows == hidden != columns
        path = tensor.name.removesuffix(".weight")
        layers[path] = FoundLayer(
            path=path,
            in_features=rows if transposed else columns,
            out_features=columns if transposed else rows,
            parameters=(),
            experts=count,
            quantizable=False,
        )
    return list(layers.values())


def _with_head(
    layers: tuple[LayerFamily, ...], head: TensorInfo | None, shape: tuple[int, int], roles: Roles
) -> tuple[LayerFamily, ...]:
    """Return the layers with the head in its role, whatever it is called; one that is not stored is tied."""
    if head is None:
        vocabulary, hidden = shape
        return (*layers, *to_families([FoundLayer("lm_head", hidden, vocabulary, (), tied=True)], roles))
    name = head.name.removesuffix(".weight")
    return tuple(family.model_copy(update={"role": "lm_head"}) if family.name == name else family for family in layers)


def _groups(tensors: Sequence[TensorInfo], roles: Roles) -> tuple[ParameterGroup, ...]:
    elements: dict[str, int] = defaultdict(int)
    counts: dict[str, int] = defaultdict(int)
    for tensor in tensors:
        part = part_of(tensor.name, roles)
        elements[part] += tensor.elements or 0
        counts[part] += 1
    return tuple(
        ParameterGroup.model_validate({"part": part, "elements": elements[part], "tensors": counts[part]})
        for part in sorted(elements)
    )


def _caches(
    config: SimpleNamespace, blocks: int, hidden: int, catalog: Catalog
) -> tuple[tuple[CacheGroup, ...], list[str]]:
    if count_of(config, "num_attention_heads") is None and not getattr(config, "kv_lora_rank", None):
        return (), ["geometry of the KV cache (taken as none): the configuration names no attention heads"]
    try:
        known = SimpleNamespace(**{**vars(config), "num_hidden_layers": blocks, "hidden_size": hidden})
        return cache_groups(known, catalog.config_fields, catalog.cache_fields)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        return (), [f"geometry of the KV cache (taken as none): {reason}"]


def _moe(
    layers: Sequence[LayerFamily], config: SimpleNamespace, catalog: Catalog
) -> tuple[MixtureOfExperts | None, list[str]]:
    experts = max((family.experts for family in layers), default=0)
    if not experts:
        return None, []
    routed = catalog.config_fields.first("experts_per_token", config)
    known = isinstance(routed, int) and 0 < routed <= experts
    shared = any(family.role.startswith("shared_") for family in layers)
    moe = MixtureOfExperts(experts=experts, experts_per_token=routed if known else experts, shared_experts=int(shared))
    return moe, [] if known else ["number of experts that a token is routed to (taken as all)"]


def inventory_from_headers(
    config: dict[str, Any], checkpoint: Checkpoint, dtype: str, catalog: Catalog, *, where: str
) -> tuple[Inventory, list[str]]:
    """Return the inventory of a checkpoint by its tensors, and what they leave open.

    Two-dimensional weights are taken for linear layers, named as they are stored, with (out, in) as PyTorch stores
    them; embeddings, norms and the rest for parameters that stay as they are.

    Raises
    ------
    BadInputError
        If there is no embedding, or no matrix in numbered blocks: it is no language model.

    """
    raw = raw_config(config, catalog)
    found = SortedTensors(checkpoint, raw, catalog)
    if found.embedding is None:
        raise BadInputError("has no embedding by any name that is known.", where=where, mend=_MEND)
    vocabulary, hidden = found.embedding.shape or (0, 0)
    hidden = count_of(raw, "hidden_size") or hidden
    biases = {tensor.name for tensor in found.others if tensor.name.endswith(".bias")}
    layers = to_families(_layers(found, hidden, biases), catalog.roles)
    indices = {block for family in layers if _is_text(family, catalog.roles) for block in family.block_indices}
    if not indices:
        raise BadInputError("has no matrix in numbered blocks.", where=where, mend=_MEND)
    tied = found.head is None
    layers = _with_head(layers, found.head, (vocabulary, hidden), catalog.roles)
    caches, missing = _caches(raw, len(indices), hidden, catalog)
    elements = checkpoint.elements - sum(tally.elements or 0 for tally in found.tallies.values())
    _note_types(found, DTYPE_BYTES[dtype])
    context = catalog.config_fields.first("context", raw)
    moe, unrouted = _moe(layers, raw, catalog)
    inventory = Inventory.model_validate(
        {
            "dtype": dtype,
            "elements_total": elements,
            "checkpoint_bytes": checkpoint.size_bytes,
            "hidden_size": hidden,
            "vocab_size": vocabulary,
            "blocks": len(indices),
            "max_context": context if isinstance(context, int) and context > 0 else None,
            "tied_embeddings": tied,
            "layers": layers,
            "others": _groups(found.others, catalog.roles),
            "caches": caches,
            "moe": moe,
            "stored_elements": checkpoint.elements,
            "parts": part_shares(
                layers, _groups(found.others, catalog.roles), None, hidden_size=hidden, dtype_bytes=DTYPE_BYTES[dtype]
            ),
            "differences": to_differences(found.tallies, catalog.stored_tensors),
        }
    )
    return inventory, [*missing, *unrouted]


_MEND = "Name the folder of a language model, or add its config.json for a type that transformers knows."


def _is_text(family: LayerFamily, roles: Roles) -> bool:
    return roles.named(family.role).kind != "vision"


def _note_types(found: SortedTensors, dtype_bytes: int) -> None:
    """Tally the bytes of parameters that are stored in another type than the weights."""
    for tensor in (*found.matrices, *found.fused, *found.others):
        difference = (tensor.size_bytes or 0) - (tensor.elements or 0) * dtype_bytes
        if difference:
            found.tallies["another type"].add([tensor.name], 0, difference)

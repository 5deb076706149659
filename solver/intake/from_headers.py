"""An inventory from headers alone: for architectures that transformers has no class for."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from solver.catalog import Catalog
from solver.catalog.roles import Roles
from solver.errors import BadInputError
from solver.intake.cache_group import CacheGroup
from solver.intake.caches import cache_groups
from solver.intake.inventory import Inventory, LayerFamily, MixtureOfExperts, ParameterGroup
from solver.intake.layers import FoundLayer, expert_family, generic_name, to_families
from solver.intake.parameters import part_of
from solver.intake.record import DTYPE_BYTES
from solver.intake.shares import part_shares
from solver.intake.sort_tensors import SortedTensors, count_of, raw_config
from solver.intake.stored_sizes import Storage
from solver.intake.tally import to_differences
from solver.intake.tensors import Checkpoint, TensorInfo

_MEND = "Name the folder of a language model, or add its config.json for a type that transformers knows."


def _matrices(found: SortedTensors) -> Iterator[FoundLayer]:
    """Yield one layer for each matrix; the experts of a block, which are stored one by one, make one."""
    biases = {tensor.name.removesuffix(".bias") for tensor in found.others if tensor.name.endswith(".bias")}
    experts: dict[str, list[TensorInfo]] = defaultdict(list)
    for tensor in found.matrices:
        experts[expert_family(tensor.name)[0]].append(tensor)
    for name, tensors in experts.items():
        out_features, in_features = tensors[-1].shape or (0, 0)
        yield FoundLayer(
            path=name.removesuffix(".weight"),
            in_features=in_features,
            out_features=out_features,
            parameters=(),
            experts=len({expert for tensor in tensors if (expert := expert_family(tensor.name)[1]) is not None}),
            bias=tensors[-1].name.removesuffix(".weight") in biases,
        )


def _stacks(found: SortedTensors, hidden: int) -> Iterator[FoundLayer]:
    """Yield one layer for each tensor of all experts of a block."""
    for tensor in found.fused:
        count, rows, columns = tensor.shape or (0, 0, 0)
        path = tensor.name.removesuffix(".weight")
        # (experts, in, out) where the hidden size stands on the side of the inputs of gate and up, or outputs of down.
        down = found.roles.of(generic_name(path)).name == "expert_down"
        transposed = columns == hidden != rows if down else rows == hidden != columns
        yield FoundLayer(
            path=path,
            in_features=rows if transposed else columns,
            out_features=columns if transposed else rows,
            parameters=(),
            experts=count,
            quantizable=False,
        )


def _of_text(layers: Sequence[LayerFamily], catalog: Catalog) -> list[LayerFamily]:
    return [item for item in layers if item.block_indices and catalog.roles.named(item.role).kind != "vision"]


def _text_blocks(layers: Sequence[LayerFamily], catalog: Catalog, where: str) -> int:
    """Return the number of blocks of the language model.

    Raises
    ------
    BadInputError
        If there are none, or those of an encoder.

    """
    text = _of_text(layers, catalog)
    if not text:
        raise BadInputError("has no matrix in numbered blocks.", where=where, mend=_MEND)
    refuse_encoder(text, catalog, where)
    return len({block for family in text for block in family.block_indices})


def refuse_encoder(layers: Sequence[LayerFamily], catalog: Catalog, where: str) -> None:
    """Refuse layers of an encoder, or of a decoder that attends to one: its cache has an encoder's length.

    Raises
    ------
    BadInputError
        If there are any; the first one is named.

    """
    text = _of_text(layers, catalog)
    encoder = catalog.stored_tensors.encoder_among([family.name for family in text]) if text else None
    if encoder is not None:
        raise BadInputError(
            f"holds an encoder ({encoder}), and only decoders are planned.",
            where=where,
            mend="Name a model that only decodes text.",
        )


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
    cut: dict[str, int] = defaultdict(int)
    for tensor in tensors:
        part = part_of(tensor.name, roles)
        elements[part] += tensor.elements or 0
        counts[part] += 1
        cut[part] += (tensor.elements or 0) if part != "vision" and roles.cuts(tensor.name) else 0
    return tuple(
        ParameterGroup.model_validate(
            {"part": part, "elements": elements[part], "tensors": counts[part], "cut_elements": cut[part]}
        )
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


def _note_types(found: SortedTensors, dtype_bytes: int) -> None:
    """Tally the bytes of parameters that are stored in another type than the weights."""
    for tensor in (*found.matrices, *found.fused, *found.others):
        difference = (tensor.size_bytes or 0) - (tensor.elements or 0) * dtype_bytes
        if difference:
            found.tallies["another type"].add([tensor.name], 0, difference)


def inventory_from_headers(
    config: dict[str, Any], checkpoint: Checkpoint, dtype: str, catalog: Catalog, *, where: str
) -> tuple[Inventory, list[str]]:
    """Return the inventory of a checkpoint by its tensors, and what they leave open.

    Two-dimensional weights are taken for linear layers, named as they are stored, with (out, in) as PyTorch stores
    them; embeddings, norms and the rest for parameters that stay as they are.

    Raises
    ------
    BadInputError
        If there is no embedding, or no matrix in numbered blocks, or an encoder: it is no language model.

    """
    raw = raw_config(config, catalog)
    found = SortedTensors(checkpoint, raw, catalog)
    if found.embedding is None:
        raise BadInputError("has no embedding by any name that is known.", where=where, mend=_MEND)
    vocabulary, width = found.embedding.shape or (0, 0)
    hidden = count_of(raw, "hidden_size") or width
    layers = to_families([*_matrices(found), *_stacks(found, hidden)], catalog.roles)
    blocks = _text_blocks(layers, catalog, where)
    layers = _with_head(layers, found.head, (vocabulary, hidden), catalog.roles)
    others = _groups(found.others, catalog.roles)
    caches, missing = _caches(raw, blocks, hidden, catalog)
    moe, unrouted = _moe(layers, raw, catalog)
    context = catalog.config_fields.first("context", raw)
    left_out = sum(tally.elements or 0 for tally in found.tallies.values())
    dtype_bytes = DTYPE_BYTES[dtype]
    _note_types(found, dtype_bytes)
    inventory = Inventory(
        dtype=dtype,
        elements_total=checkpoint.elements - left_out,
        checkpoint_bytes=checkpoint.size_bytes,
        by_headers=True,
        hidden_size=hidden,
        vocab_size=vocabulary,
        blocks=blocks,
        max_context=context if isinstance(context, int) and context > 0 else None,
        tied_embeddings=found.head is None,
        layers=layers,
        others=others,
        caches=caches,
        moe=moe,
        stored_elements=checkpoint.elements,
        parts=part_shares(layers, others, Storage(None, hidden, dtype_bytes)),
        differences=to_differences(found.tallies, catalog.stored_tensors),
    )
    return inventory, [*missing, *unrouted]

"""What each part of a model takes in the checkpoint, and what makes the stored elements differ from the built ones."""

from collections import defaultdict
from collections.abc import Iterable

from solver.catalog.tensors import StoredTensors
from solver.intake.inventory import Difference, LayerFamily, ParameterGroup, PartShare
from solver.intake.mtp import MtpFound
from solver.intake.stored_sizes import Storage, StoredSize

# As `profiles/stored_tensors.yaml` names them, which says what they mean.
MTP = "multi-token-prediction layers"
BUFFERS = "buffers"
PACKED = "packed storage"
SCALES = "quantization scales"


def part_shares(
    layers: Iterable[LayerFamily], others: Iterable[ParameterGroup], storage: Storage
) -> tuple[PartShare, ...]:
    """Return elements and stored bytes by role of layers and by group of other parameters; tied weights count once."""
    elements: dict[str, int] = defaultdict(int)
    sizes: dict[str, StoredSize] = defaultdict(StoredSize)
    for family in layers:
        elements[family.role] += 0 if family.tied else family.weight_elements * family.count
        sizes[family.role] += storage.layer(family)
    for group in others:
        elements[group.part] += group.elements
        sizes[group.part] += storage.group(group)
    return tuple(
        PartShare(part=part, elements=count, size_bytes=sizes[part].size_bytes if storage.known else None)
        for part, count in elements.items()
    )


def _packing(layers: Iterable[LayerFamily], others: Iterable[ParameterGroup], storage: Storage) -> tuple[int, int]:
    """Return what packing takes from the elements and what scales add; the first tensor of a format is the weight."""
    hidden = storage.hidden_size
    shapes = [(item.stored, item.in_features, item.out_features, item.count) for item in layers if not item.tied]
    shapes += [(item.stored, hidden, item.elements // hidden, 1) for item in others]
    packed = scales = 0
    for stored, inputs, outputs, count in shapes:
        layout = storage.layout(stored)
        if layout is not None:
            weight = layout.tensors[0].elements(inputs, outputs)
            packed += count * (weight - inputs * outputs)
            scales += count * (layout.counted_elements(inputs, outputs) - weight)
    return packed, scales


def config_differences(
    layers: Iterable[LayerFamily],
    others: Iterable[ParameterGroup],
    storage: Storage,
    buffers: StoredSize,
    mtp: MtpFound | None,
    facts: StoredTensors,
) -> tuple[Difference, ...]:
    """Return the named causes that lead from the elements of the built model to those that are stored.

    `layers` includes those of multi-token prediction. Empty where the format is unknown: then nothing is claimed.
    """
    if not storage.known:
        return ()
    packed, scales = _packing(layers, others, storage)
    causes = {
        PACKED: packed,
        SCALES: scales,
        MTP: mtp.elements if mtp is not None else 0,
        BUFFERS: buffers.elements + (mtp.buffers.elements if mtp is not None else 0),
    }
    return tuple(
        Difference(cause=cause, elements=elements, meaning=facts.meaning(cause))
        for cause, elements in causes.items()
        if elements
    )

"""What each part of a model takes in the checkpoint, and what makes the stored elements differ from the built ones."""

from collections import defaultdict
from collections.abc import Iterable

from solver.intake.inventory import Difference, LayerFamily, ParameterGroup, PartShare
from solver.intake.stored_layout import Quantized
from solver.intake.stored_sizes import StoredSize, group_size, layer_size

MTP = "multi-token-prediction layers"
BUFFERS = "buffers"
PACKED = "packed storage"
SCALES = "quantization scales"


def part_shares(
    layers: Iterable[LayerFamily],
    others: Iterable[ParameterGroup],
    quantized: Quantized | None,
    *,
    hidden_size: int,
    dtype_bytes: int,
) -> tuple[PartShare, ...]:
    """Return elements and stored bytes by role of layers and by group of other parameters; tied weights count once."""
    known = quantized is None or not quantized.unknown
    elements: dict[str, int] = defaultdict(int)
    sizes: dict[str, StoredSize] = defaultdict(StoredSize)
    for family in layers:
        elements[family.role] += 0 if family.tied else family.weight_elements * family.count
        sizes[family.role] += layer_size(family, quantized, dtype_bytes)
    for group in others:
        elements[group.part] += group.elements
        sizes[group.part] += group_size(group, quantized, hidden_size, dtype_bytes)
    return tuple(
        PartShare(part=part, elements=count, size_bytes=sizes[part].size_bytes if known else None)
        for part, count in elements.items()
    )


def _packing(
    layers: Iterable[LayerFamily], others: Iterable[ParameterGroup], quantized: Quantized, hidden_size: int
) -> tuple[int, int]:
    """Return what packing takes from the elements and what scales add; the first tensor of a format is the weight."""
    shapes = [
        (family.stored, family.in_features, family.out_features, family.count)
        for family in layers
        if family.stored is not None and not family.tied
    ]
    shapes += [
        (group.stored, hidden_size, group.elements // hidden_size, 1) for group in others if group.stored is not None
    ]
    packed = scales = 0
    for stored, inputs, outputs, count in shapes:
        layout = quantized.layout(stored)
        weight = layout.tensors[0].elements(inputs, outputs)
        packed += count * (weight - inputs * outputs)
        scales += count * (layout.counted_elements(inputs, outputs) - weight)
    return packed, scales


def config_differences(
    layers: Iterable[LayerFamily],
    others: Iterable[ParameterGroup],
    quantized: Quantized | None,
    *,
    hidden_size: int,
    buffer_elements: int,
    mtp_elements: int,
) -> tuple[Difference, ...]:
    """Return the named causes that lead from the elements of the built model to those that are stored.

    `layers` includes those of multi-token prediction. Empty where the format is unknown: then nothing is claimed.
    """
    if quantized is not None and quantized.unknown:
        return ()
    packed, scales = _packing(layers, others, quantized, hidden_size) if quantized is not None else (0, 0)
    causes = {
        PACKED: packed,
        SCALES: scales,
        MTP: mtp_elements,
        BUFFERS: buffer_elements,
    }
    return tuple(Difference(cause=cause, elements=elements) for cause, elements in causes.items() if elements)

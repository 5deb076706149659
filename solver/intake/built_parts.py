"""Builds the parts beside a translated model on torch's meta device: encoders, projectors, separators."""

from dataclasses import replace
from typing import Any

from solver.catalog.built_part import BuiltPart, PartTensor
from solver.errors import BadInputError
from solver.intake.frameworks import frameworks
from solver.intake.meta import MetaModel
from solver.intake.reading import Reading


def _module(tensor: PartTensor, text: Any) -> tuple[str, Any]:
    """Return the path and the module of a tensor: a linear layer, or what holds nothing but the tensor."""
    import torch

    sizes = tensor.sizes(text.hidden_size, text.vocab_size)
    if tensor.linear:
        return tensor.name, torch.nn.Linear(sizes[1], sizes[0], bias=tensor.bias)
    path, _, leaf = tensor.name.rpartition(".")
    holder = torch.nn.Module()
    if tensor.buffer:
        holder.register_buffer(leaf, torch.empty(sizes))
    else:
        holder.register_parameter(leaf, torch.nn.Parameter(torch.empty(sizes)))
    return path, holder


def _built(part: BuiltPart, content: dict[str, Any], transformers: Any) -> Any:
    """Return the module of a part of these fields."""
    config = transformers.AutoConfig.for_model(part.model_type, **content)
    if part.architecture is None:
        return transformers.AutoModel.from_config(config, attn_implementation="eager")
    return getattr(transformers, part.architecture)._from_config(config, attn_implementation="eager")


def with_parts(meta: MetaModel, reading: Reading, dtype: str) -> MetaModel:
    """Return the model with the parts that its translation has built beside it, in the checkpoint's type.

    Raises
    ------
    BadInputError
        If a part cannot be built from the fields of the file.

    """
    if not reading.parts:
        return meta
    import torch

    built: list[tuple[str, Any]] = []
    try:
        with frameworks() as transformers, torch.device("meta"):
            for part, content in reading.parts:
                built.append((part.path, _built(part, content, transformers)))
                built.extend(_module(tensor, meta.text_config) for tensor in part.tensors)
    except Exception as error:
        raise BadInputError(
            f"its vision part cannot be built: {' '.join(str(error).split())[:300]}.",
            where=reading.source.name,
            mend=f"Is it the whole config.json of a {reading.model_type} model?",
        ) from error
    return replace(meta, parts=tuple((path, module.to(getattr(torch, dtype))) for path, module in built))

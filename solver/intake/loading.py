"""How transformers reads checkpoints: where a stored tensor is loaded into, and what a GGUF file describes."""

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from solver.errors import BadInputError
from solver.intake.frameworks import frameworks
from solver.intake.gguf_file import GgufFile
from solver.intake.gguf_stub import write_stub
from solver.intake.meta import MetaModel


def loaded_as(meta: MetaModel, names: Iterable[str]) -> dict[str, str]:
    """Return the parameter that transformers loads each stored tensor into, by its own conversion mapping.

    Several tensors may go into one parameter (experts), and one into several: then the first is named. A name
    that transformers does not know stays as it is.
    """
    try:
        from transformers.conversion_mapping import get_model_conversion_mapping
        from transformers.core_model_loading import WeightConverter, rename_source_key
    except ImportError:  # private modules: without them names are compared as they are
        return {name: name for name in names}
    transforms: Any = get_model_conversion_mapping(meta.model)
    converters = [item for item in transforms if isinstance(item, WeightConverter)]
    renamings = [item for item in transforms if not isinstance(item, WeightConverter)]
    prefix, state = meta.model.base_model_prefix, meta.model.state_dict()
    targets = {}
    for name in names:
        target = rename_source_key(name, renamings, converters, prefix, state)[0]
        if target not in state and name in state:
            target = name
        targets[name] = target
    return targets


def gguf_names(meta: MetaModel, architecture: str) -> dict[str, str]:
    """Return the parameter that each tensor of a GGUF file of this model is loaded into."""
    from transformers.modeling_gguf_pytorch_utils import (
        TENSOR_PROCESSORS,
        TensorProcessor,
        get_gguf_hf_weights_map,
    )

    processor = TENSOR_PROCESSORS.get(architecture, TensorProcessor)(config=meta.config.to_dict())  # type: ignore[no-untyped-call]
    prefix = meta.model.base_model_prefix
    names: dict[str, str] = {}
    # transformers goes through all modules, each with a table of its own; two levels are all that names differ by.
    for model, path in ((meta.model, ""), (getattr(meta.model, prefix, None), f"{prefix}.")):
        if model is not None:
            flat = SimpleNamespace(config=meta.config, state_dict=model.state_dict, named_children=tuple)
            names = get_gguf_hf_weights_map(flat, processor, qual_name=path) | names
    # Parameters of experts have no `.weight`; the tensors that they are made of do.
    return {f"{name}.weight": target for name, target in names.items()} | names


def gguf_config(file: GgufFile, left_out: Mapping[str, str]) -> dict[str, Any]:
    """Return the configuration that transformers makes of a GGUF file's metadata.

    `left_out` names what transformers ignores: fields of the configuration by keys without the architecture.

    transformers reads a copy of the header without vocabulary and weights: it would take half a minute over a large
    one.

    Raises
    ------
    BadInputError
        If transformers does not know the architecture, or the metadata lack what it needs.
    MissingError
        If torch or transformers is not installed.

    """
    with frameworks(), tempfile.TemporaryDirectory() as folder:
        from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

        stub = Path(folder) / "header.gguf"
        try:
            write_stub(file, stub)
            content = load_gguf_checkpoint(str(stub), return_tensors=False)["config"]  # type: ignore[no-untyped-call]
        except Exception as error:
            reason = " ".join(str(error).split())[:200].rstrip(".")
            raise BadInputError(
                f"transformers cannot read a GGUF file of architecture {file.architecture!r}: {reason}.",
                where=str(file.path),
                mend="Plan from the original checkpoint: name its folder, its config.json or its hub id.",
            ) from error
    content.pop("_model_name_or_path", None)
    stated: dict[str, Any] = {field: file.facts.get(f"{file.architecture}.{key}") for key, field in left_out.items()}
    return {field: value for field, value in stated.items() if value is not None} | dict(content)

"""Completes an inventory by what the checkpoint really holds: its bytes, and why they are others than those built."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from solver.catalog import Catalog
from solver.intake.analysis import Risk
from solver.intake.differences import BuiltModel, find_differences
from solver.intake.gguf_file import GgufFile
from solver.intake.headers import read_headers
from solver.intake.inventory import Inventory
from solver.intake.loading import gguf_config, gguf_names, loaded_as
from solver.intake.meta import MetaModel
from solver.intake.shares import MTP
from solver.intake.source import ModelSource
from solver.intake.tensors import Checkpoint

_CONTRADICTIONS = frozenset({"another shape", "not in the checkpoint", "unexplained"})


def checkpoint_of(source: ModelSource) -> Checkpoint | None:
    """Return what lies beside a configuration, or None if there are no headers to read.

    Raises
    ------
    BadInputError
        If the checkpoint is damaged or incomplete.

    """
    if source.gguf is not None:
        return source.gguf.checkpoint
    if source.folder is None:
        return None
    return read_headers(source.folder, all_or_names=source.kind == "hub")


def with_gguf_config(source: ModelSource, catalog: Catalog) -> ModelSource:
    """Return the source with the configuration that transformers makes of a GGUF file; any other as it is."""
    if source.gguf is None:
        return source
    return replace(source, config=gguf_config(source.gguf, catalog.config_fields.gguf))


def _gguf_risk(file: GgufFile) -> Risk:
    shares = ", ".join(f"{name} {share:.0%}" for name, share in file.types.items() if share >= 0.005)
    origin = file.facts.get("general.base_model.0.repo_url") or file.facts.get("general.source.url")
    return Risk(
        severity="high",
        message=f"a GGUF file ({file.file_type or 'mixed types'}: {shares}): AMD Quark does not quantize those; the "
        "plan holds for the original checkpoint",
        recovery_hint="name the folder or hub id of the original" + (f", {origin}" if origin else ""),
    )


def checkpoint_risks(source: ModelSource, inventory: Inventory) -> tuple[Risk, ...]:
    """Return what the checkpoint means for Quark: its format, and that it is not what its configuration describes."""
    risks = [] if source.gguf is None else [_gguf_risk(source.gguf)]
    unlike = [item for item in inventory.differences if item.cause in _CONTRADICTIONS]
    if unlike:
        found = "; ".join(f"{item.cause}: {item.names[0]}" for item in unlike)
        risks.append(
            Risk(
                severity="high",
                message=f"the checkpoint is not what its configuration describes ({found})",
                recovery_hint="look for a configuration of the same revision, or load the model once to see",
            )
        )
    return tuple(risks)


def weight_type(stated: str | None, assumed: str, checkpoint: Checkpoint | None) -> tuple[str, tuple[str, ...]]:
    """Return the type of the weights and what has to be said about it: headers win over the configuration."""
    stored = checkpoint.weight_type if checkpoint is not None else None
    said = f"says {stated}" if stated else "names none"
    if stored is not None and stored != stated:
        return stored, (f"weights of type {stored}, as stored: the configuration {said}",)
    if stated is None:
        return assumed, (f"checkpoint type {assumed}: the configuration names none",)
    return stated, ()


def _shared(model: Any) -> dict[str, str]:
    """Return the further names of parameters that several modules share, each with the first one."""
    first = {id(parameter): name for name, parameter in model.named_parameters()}
    names = {name: first[id(parameter)] for name, parameter in model.named_parameters(remove_duplicate=False)}
    return {name: own for name, own in names.items() if name != own}


def _built(meta: MetaModel, inventory: Inventory, names: Iterable[str], architecture: str | None) -> BuiltModel:
    return BuiltModel(
        parameters={name: parameter.numel() for name, parameter in meta.parameters},
        shared=_shared(meta.model),
        buffers=frozenset(name for name, _ in meta.model.named_buffers()),
        loaded_as=loaded_as(meta, names) if architecture is None else gguf_names(meta, architecture),
        blocks=inventory.blocks,
        dtype_bytes=inventory.dtype_bytes,
    )


def with_checkpoint(
    inventory: Inventory, checkpoint: Checkpoint | None, meta: MetaModel, catalog: Catalog
) -> Inventory:
    """Return the inventory with the checkpoint's own elements and bytes, and the cause of each difference."""
    if checkpoint is None:
        return inventory
    facts = catalog.stored_tensors
    names = [facts.unpacked(tensor.name) or tensor.name for tensor in checkpoint.tensors]
    built = _built(meta, inventory, names, checkpoint.gguf_architecture)
    differences = find_differences(checkpoint.tensors, built, catalog.roles, facts)
    update: dict[str, Any] = {"differences": differences}
    if checkpoint.has_shapes:
        update |= {
            "checkpoint_bytes": checkpoint.size_bytes,
            "stored_elements": checkpoint.elements,
            "by_headers": True,
        }
    if MTP not in {item.cause for item in differences}:
        update |= {"mtp": None} | ({} if checkpoint.has_shapes else _without_mtp(inventory))
    return inventory.model_copy(update=update)


def _without_mtp(inventory: Inventory) -> dict[str, Any]:
    """Return what an inventory says of its checkpoint, less the layers that an index does not name."""
    mtp = inventory.mtp
    if mtp is None or mtp.size_bytes is None or inventory.checkpoint_bytes is None:
        return {}
    return {"checkpoint_bytes": inventory.checkpoint_bytes - mtp.size_bytes, "stored_elements": None}

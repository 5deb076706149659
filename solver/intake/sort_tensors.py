"""Tells by names and shapes what the tensors of a checkpoint are, without a model to compare them with."""

from collections import defaultdict
from functools import cache
from types import SimpleNamespace
from typing import Any

from solver.catalog import Catalog
from solver.intake.layers import family_name, generic_name
from solver.intake.published import TIED_HEAD
from solver.intake.shares import MTP
from solver.intake.tally import Tally
from solver.intake.tensors import FLOATS, Checkpoint, TensorInfo

_MATRIX_TYPES = frozenset({*FLOATS, "F8_E4M3", "F8_E5M2"})


def raw_config(config: dict[str, Any], catalog: Catalog) -> SimpleNamespace:
    """Return the language model's part of a configuration as attributes, its fields under their common names."""
    nested = (config.get(key) for key in ("text_config", "language_config", "llm_config"))
    part = next((value for value in nested if isinstance(value, dict)), config)
    fields = {key: value for key, value in part.items() if isinstance(key, str)}
    for common, others in catalog.config_fields.aliases.items():
        found = next((fields[other] for other in others if fields.get(other) is not None), None)
        if fields.get(common) is None and found is not None:
            fields[common] = found
    return SimpleNamespace(**fields)


def count_of(config: SimpleNamespace, name: str) -> int | None:
    """Return a field that is a positive whole number, or None."""
    value = getattr(config, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


class SortedTensors:
    """The tensors of a checkpoint by what they are: matrices of layers, other parameters, or no part of the model."""

    def __init__(self, checkpoint: Checkpoint, config: SimpleNamespace, catalog: Catalog) -> None:
        self.roles = catalog.roles
        # Experts by the thousand have the same names but for their numbers.
        self._kind_of = cache(lambda path: self.roles.of(path).kind)
        self._cause_of = cache(catalog.stored_tensors.cause_of)
        self.experts = catalog.config_fields.first("experts", config)
        self.tallies: dict[str, Tally] = defaultdict(Tally)
        self.matrices: list[TensorInfo] = []
        self.fused: list[TensorInfo] = []
        self.others: list[TensorInfo] = []
        known = [tensor for tensor in checkpoint.tensors if not self._leave_out(tensor, config)]
        embeddings = [tensor for tensor in known if self._kind(tensor) == "embedding" and len(tensor.shape or ()) == 2]
        self.embedding = max(embeddings, key=lambda tensor: (tensor.elements or 0, tensor.name), default=None)
        heads = [tensor for tensor in known if self._kind(tensor) == "head" and tensor.name.endswith(".weight")]
        # A head by a name of its own is told by its shape.
        heads = heads or [tensor for tensor in known if self._like_embedding(tensor) and tensor is not self.embedding]
        self.head = heads[0] if len(heads) == 1 else None
        for tensor in known:
            self._sort(tensor)

    def _kind(self, tensor: TensorInfo) -> str:
        return self._kind_of(generic_name(tensor.name.rpartition(".")[0]))

    def _like_embedding(self, tensor: TensorInfo) -> bool:
        """Return whether a tensor outside the blocks has the embedding's shape."""
        shape = self.embedding.shape if self.embedding is not None else None
        return family_name(tensor.name)[1] is None and tensor.shape == shape

    def _leave_out(self, tensor: TensorInfo, config: SimpleNamespace) -> bool:
        block, blocks = family_name(tensor.name)[1], count_of(config, "num_hidden_layers")
        beyond = block is not None and blocks is not None and block >= blocks and self._kind(tensor) != "vision"
        cause = MTP if beyond else self._cause_of(generic_name(tensor.name))
        tied = getattr(config, "tie_word_embeddings", None) is True and self._kind(tensor) == "head"
        if tied and tensor.name.endswith(".weight"):
            cause = TIED_HEAD
        if cause is not None:
            self.tallies[cause].add([tensor.name], tensor.elements, tensor.size_bytes)
        return cause is not None

    def _sort(self, tensor: TensorInfo) -> None:
        if tensor.dtype in _MATRIX_TYPES and self._is_matrix(tensor):
            self.matrices.append(tensor)
        elif tensor.dtype in _MATRIX_TYPES and self._is_stack(tensor):
            self.fused.append(tensor)
        else:
            self.others.append(tensor)

    def _is_matrix(self, tensor: TensorInfo) -> bool:
        """Return whether a tensor is taken for the weight of a linear layer; tables of embeddings are none."""
        path = tensor.name.removesuffix(".weight").lower()
        if path == tensor.name.lower() or len(tensor.shape or ()) != 2 or self._kind(tensor) == "embedding":
            return False
        if "norm" in path or "embed" in path.rpartition(".")[2]:
            return False
        return not self._like_embedding(tensor) or self._kind(tensor) == "head" or tensor is self.head

    def _is_stack(self, tensor: TensorInfo) -> bool:
        """Return whether a tensor holds one matrix for each expert of a block."""
        if len(tensor.shape or ()) != 3 or family_name(tensor.name)[1] is None:
            return False
        experts, rows, columns = tensor.shape or (0, 0, 0)
        return "experts" in tensor.name or (experts == self.experts and min(rows, columns) > 1)

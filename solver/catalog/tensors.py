"""What checkpoints hold beside the parameters of a model, recognized by the tensors' names."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from pydantic import Field

from solver.catalog.base import Profile


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


class Cause(Profile):
    """Why a checkpoint differs from the model that is built of it, and the names that tell."""

    name: str
    meaning: str
    patterns: tuple[str, ...] = ()
    model_types: frozenset[str] = Field(
        default=frozenset(), description="types whose checkpoints may hold it, whatever their configurations say"
    )


class Encoders(Profile):
    """Families of layers, by their names, that only encoders have or models with an encoder."""

    blocks: tuple[str, ...]
    cross_attention: tuple[str, ...]


class StoredTensors(Profile):
    """All causes, in the order in which their patterns are tried."""

    source: str
    packed: dict[str, str]
    encoders: Encoders
    causes: tuple[Cause, ...]

    def cause_of(self, name: str) -> str | None:
        """Return the cause that a tensor's name tells, or None."""
        for cause in self.causes:
            if _matches(name, cause.patterns):
                return cause.name
        return None

    def meaning(self, name: str) -> str:
        """Return what the cause called `name` means; a user's own list may leave it out."""
        return next((cause.meaning for cause in self.causes if cause.name == name), "")

    def may_hold(self, cause: str, model_type: str) -> bool:
        """Return whether checkpoints of a model type may hold what the cause called `cause` names."""
        return any(item.name == cause and model_type in item.model_types for item in self.causes)

    def encoder_among(self, families: Sequence[str]) -> str | None:
        """Return the family that tells that a model is no decoder alone, or None.

        `families` are those in numbered blocks. Blocks of an encoder tell it only where there are no others: some
        decoders have a small encoder beside them.
        """
        crossing = next((name for name in families if _matches(name, self.encoders.cross_attention)), None)
        if crossing is None and all(_matches(name, self.encoders.blocks) for name in families):
            return families[0]
        return crossing

    def unpacked(self, name: str) -> str | None:
        """Return what a plain checkpoint calls the tensor that `name` packs, or None if the name tells of none."""
        for suffix, plain in self.packed.items():
            if name.endswith(suffix):
                return name.removesuffix(suffix) + plain
        return None

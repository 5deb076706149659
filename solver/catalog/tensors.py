"""What checkpoints hold beside the parameters of a model, recognized by the tensors' names."""

from fnmatch import fnmatchcase

from solver.catalog.base import Profile


class Cause(Profile):
    """Why a checkpoint differs from the model that is built of it, and the names that tell."""

    name: str
    meaning: str
    patterns: tuple[str, ...] = ()


class StoredTensors(Profile):
    """All causes, in the order in which their patterns are tried."""

    source: str
    packed: dict[str, str]
    causes: tuple[Cause, ...]

    def cause_of(self, name: str) -> str | None:
        """Return the cause that a tensor's name tells, or None."""
        for cause in self.causes:
            if any(fnmatchcase(name, pattern) for pattern in cause.patterns):
                return cause.name
        return None

    def meaning(self, name: str) -> str:
        """Return what the cause called `name` means; a user's own list may leave it out."""
        return next((cause.meaning for cause in self.causes if cause.name == name), "")

    def unpacked(self, name: str) -> str | None:
        """Return what a plain checkpoint calls the tensor that `name` packs, or None if the name tells of none."""
        for suffix, plain in self.packed.items():
            if name.endswith(suffix):
                return name.removesuffix(suffix) + plain
        return None

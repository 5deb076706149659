"""Names under which Hugging Face configurations keep the facts that a plan needs."""

from functools import reduce
from typing import Any

from solver.catalog.base import Profile

Names = tuple[str, ...]


def first_field(names: Names, config: Any) -> Any:
    """Return the value of the first of `names` (dots lead inside) that `config` has and that is not None, or None."""
    values = (reduce(lambda part, field: getattr(part, field, None), name.split("."), config) for name in names)
    return next((value for value in values if value is not None), None)


class LayerTypes(Profile):
    """Entries of `layer_types` by the kind of cache that such a block needs; `both` is a state and full attention."""

    full: tuple[str, ...]
    sliding: tuple[str, ...]
    chunked: tuple[str, ...]
    state: tuple[str, ...]
    both: tuple[str, ...]
    none: tuple[str, ...]

    def cache_of(self, layer_type: str) -> str | None:
        """Return the kind of cache, or None for a type that is not known."""
        return next((kind for kind, names in self if layer_type in names), None)


class ConfigFields(Profile):
    """Field names by fact, dotted where they lie in a nested part; the first one present in a configuration wins."""

    source: str
    experts: tuple[str, ...]
    experts_per_token: tuple[str, ...]
    shared_experts: tuple[str, ...]
    context: tuple[str, ...]
    window: tuple[str, ...]
    mtp: tuple[str, ...]
    layer_types: LayerTypes
    aliases: dict[str, tuple[str, ...]]
    gguf: dict[str, str]

    def first(self, fact: str, config: Any) -> Any:
        """Return the value of the first field of `fact` that `config` has and that is not None."""
        return first_field(getattr(self, fact), config)

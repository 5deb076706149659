"""Compares a published number of elements with an inventory, and names what makes the difference."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from solver.intake.inventory import Difference, Inventory

TIED_HEAD = "tied head stored twice"
ROTARY = "rotary buffers of old checkpoints"
MASKS = "causal masks of old checkpoints"

_TRIFLE = 10**-6
"""What may stay unexplained beside matching causes, as a part of the published count."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a published count has beyond the built model, cause by cause, and what no cause explains."""

    causes: tuple[Difference, ...]
    unexplained: int


def _guesses(inventory: Inventory) -> list[Difference]:
    """Return what old checkpoints may hold besides, whatever their configurations say."""
    found = []
    if inventory.tied_embeddings:
        found.append(Difference(cause=TIED_HEAD, elements=inventory.vocab_size * inventory.hidden_size))
    key_elements = max((group.key_elements for group in inventory.caches if group.dtype is None), default=0)
    # Some derive the width of a rotary part from the hidden size, whatever the latent attention they have.
    widths = {key_elements, inventory.hidden_size // (inventory.attention_heads or 1)}
    for frequencies in sorted({width // part for width in widths for part in (2, 4)} - {0}):
        found.append(Difference(cause=ROTARY, elements=frequencies * inventory.blocks))
        found.append(Difference(cause=ROTARY, elements=frequencies))
    if inventory.max_context is not None:
        found.append(Difference(cause=MASKS, elements=inventory.blocks * inventory.max_context**2))
    return found


def _total(causes: Iterable[Difference]) -> int:
    return sum(cause.elements or 0 for cause in causes)


def _subsets(causes: Sequence[Difference]) -> list[tuple[Difference, ...]]:
    return [chosen for number in range(len(causes) + 1) for chosen in combinations(causes, number)]


def explain(published: int, inventory: Inventory) -> Explanation:
    """Return the fewest causes that lead from `elements_total` to a published count.

    Hub counts leave scales out as often as not: any of the causes that the inventory is sure of may be in a count.
    Guesses are among them only where they lead to it exactly. Where none do, the causes nearest to it are named if
    they miss it by a trifle, else all that the inventory is sure of; the rest stays unexplained.
    """
    difference = published - inventory.elements_total
    sure = [cause for cause in inventory.differences if cause.elements is not None]
    exact = (chosen for chosen in _subsets([*sure, *_guesses(inventory)]) if _total(chosen) == difference)
    nearest = next(exact, None)
    if nearest is None:
        nearest = min(_subsets(sure), key=lambda chosen: abs(difference - _total(chosen)))
    if abs(difference - _total(nearest)) > published * _TRIFLE:
        nearest = tuple(sure)
    return Explanation(nearest, difference - _total(nearest))
